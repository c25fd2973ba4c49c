// Package admission shares scarce resources (requests at work, connections, processors that hash passwords or read for
// long) fairly among clients, so that one client cannot take all of a resource.
//
// A Semaphore has a number of places. A client holds places through its Share, which limits how many it may hold.
// Waiting clients take turns: a client with one request waits for at most one place of each other client, however many
// requests the others sent before.
package admission
