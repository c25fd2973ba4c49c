//go:build linux

package clusters

import "lectern/internal/servertest"

// A network connects the nodes of a world, and has faults between them.
type network interface {
	// place returns where the node with a number is.
	place(int) place
	// faults returns what reachable can make, those that it should make more often more than once.
	faults() []servertest.Fault
	// reachable makes a fault wherever one node does not reach another. It ends those that were made before.
	reachable(fault servertest.Fault, does func(from, to int) bool)
}

// A place is where a node is.
type place struct {
	listen    string // HOST:PORT for other nodes
	address   string // HOST:PORT at which they reach it
	api       string // HOST:PORT
	namespace string // of its process; "": that of the test
}
