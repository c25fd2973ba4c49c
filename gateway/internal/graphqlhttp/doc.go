// Package graphqlhttp answers GraphQL requests over HTTP: it reads operations, alone or in batches, finds persisted
// queries, has them executed, and sends the results as JSON or as a stream of events.
package graphqlhttp
