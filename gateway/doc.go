// Package gateway is what a program sees of the server: it opens a project, serves it, and takes the code that extends it.
//
// A Project is an open project, and Serve serves one until a context ends. Extensions add routes, policies, middlewares, hooks and GraphQL fields. What
// is built from one state of the files of a project is a generation; its routes answer requests by an HTTP server (gateway/internal/server). To add a
// route, add it to the list of routes in the file of its resource, such as users_accounts.go, and the handler below.
package gateway
