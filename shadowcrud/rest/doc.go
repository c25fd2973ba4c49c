// Package rest serves the content-types of a Model over the REST content API.
//
// A collection type has these routes:
//
//	GET    /plural               a list
//	POST   /plural               create a document
//	GET    /plural/:documentId   one document
//	PUT    /plural/:documentId   change it
//	DELETE /plural/:documentId   remove it
//	POST   /plural/:documentId/actions/{publish,unpublish,discard-draft,restore,preview}
//	GET    /plural/:documentId/_history
//
// A single type has the same without an id, and without the list and POST, below /singular. The bodies of publish and
// unpublish may name a time at which that is to happen.
//
// An API neither routes nor authorizes requests. Its user lists the routes (API.Routes), finds the route of a request,
// decides whether the caller may use it, and calls Route.Serve. An error that Serve returns has not been answered yet.
//
// An answer is printed within one snapshot of the store, from stored bytes into a pooled buffer, and sent after the
// snapshot has ended: a slow client keeps no snapshot open. Only lists in JSON Lines are sent while they are printed
// (lines.go).
//
// The routes and their handlers are in read.go, lines.go, write.go, history.go and preview.go. API.Batch, in batch.go,
// does what several routes do in one transaction.
package rest
