// Package gateway is what a program sees of the server: it opens a project, serves it, and takes the code that extends
// it.
//
// A Project is an open project, and Serve serves one until a context ends. Extensions add routes, policies,
// middlewares, hooks and GraphQL fields. What is built from one state of the files of a project is a generation; its
// routes answer requests by an HTTP server (gateway/internal/server). routes.go gives the packages of features below
// gateway/internal what they need. To add a route, add it to the list of routes in the file of its resource, such as
// gateway/internal/accounts/users.go, and the handler below.
//
// # Definitions that change
//
// A generation is everything made from one state of the project's files: a Definition, the store under its Model,
// services, users, tokens, routes, the GraphQL schema and its plans. It is replaced as a whole; values of two
// generations never mix. A request that gets store.ErrRedefined begins anew in the generation that serves by then, with
// authentication, permissions and route. The server keeps what it has read of the body: a text, or a form whose files
// lie on disk. The login limit counts the request once.
//
// Leases for whole requests would have been simpler. But then a body that arrives slowly would delay the change, and
// with it everybody who comes later, and every read would pay for a lease. So a request holds nothing, and the few that
// cannot begin anew say so. When the new generation fails after the store already has the new definitions, the server
// goes back to the ones before in the same way. Tokens and roles are read anew; the upload directory, queued mail,
// limits and persisted queries move to the next generation.
//
// # Extensions
//
// A program describes what it adds (Extensions) with plain values and functions before it opens a project. Each
// generation is built with them. Hooks belong to documents.Service. Hooks before a write run once, ahead of the
// transaction, because the store may run a transaction again. Hooks after it run when the commit has returned.
package gateway
