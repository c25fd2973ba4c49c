package config

import (
	"cmp"
	"math"
	"time"

	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Limits bound what requests may cost. A zero value of a field means its default, which WithDefaults fills in.
type Limits struct {
	ReadHeader time.Duration // for a client to send the head of a request
	Read       time.Duration // for a client to send the whole request
	Write      time.Duration // for a client to take the answer, from the end of the request's head
	Idle       time.Duration // that a connection may wait for its next request
	Handle     time.Duration // for the work on a request: its context ends then
	Shutdown   time.Duration // that requests may go on after the server was told to stop

	HeaderBytes int64 // bytes of the head of a request
	JSONBytes   int64 // bytes of a JSON body, decompressed
	FormBytes   int64 // bytes of a form or text body, decompressed
	BodyRate    int64 // bytes a second that a client must at least send of a body
	AnswerBytes int64 // bytes of one answer
	AnswerRate  int64 // bytes a second that a client must at least read of a long answer
	Memory      int64 // bytes that all requests may reserve together; by default a quarter of what the process may have

	Links      int // documents that the body of a write may name in relations
	Components int // components in the body of a write

	// Concurrent is how many requests are worked on at a time, ConcurrentPerAddress how many of them may come from one address; by
	// default a quarter. Others are answered 503. A request that waits for its client is not counted.
	Concurrent, ConcurrentPerAddress int
	// Connections is how many connections are open at a time, ConnectionsPerAddress how many of them to one address; by default a
	// quarter. Others are closed. WithDefaults lowers Connections to what the descriptors of the process allow.
	Connections, ConnectionsPerAddress int
}

// DefaultLimits are the limits of a project that sets none. Those that depend on other limits or on the machine are zero.
var DefaultLimits = Limits{
	ReadHeader:  10 * time.Second,
	Read:        60 * time.Second,
	Write:       120 * time.Second,
	Idle:        120 * time.Second,
	Handle:      30 * time.Second,
	Shutdown:    20 * time.Second,
	HeaderBytes: 64 << 10,
	JSONBytes:   1 << 20,
	FormBytes:   56 << 10,
	BodyRate:    1 << 10,
	Concurrent:  1024,
	Connections: 8192,
	Links:       10_000,
	Components:  5_000,
	AnswerBytes: rest.DefaultAnswerBytes,
	AnswerRate:  32 << 10,
}

// minAnswers is how many of the longest answers must fit the memory of all requests.
const minAnswers = 2

// WithDefaults returns l with its defaults filled in.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits
	l.ReadHeader = cmp.Or(l.ReadHeader, d.ReadHeader)
	l.Read = cmp.Or(l.Read, d.Read)
	l.Write = cmp.Or(l.Write, d.Write)
	l.Idle = cmp.Or(l.Idle, d.Idle)
	l.Handle = cmp.Or(l.Handle, d.Handle)
	l.Shutdown = cmp.Or(l.Shutdown, d.Shutdown)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, d.HeaderBytes)
	l.JSONBytes = cmp.Or(l.JSONBytes, d.JSONBytes)
	l.FormBytes = cmp.Or(l.FormBytes, d.FormBytes)
	l.BodyRate = cmp.Or(l.BodyRate, d.BodyRate)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, d.AnswerBytes)
	l.AnswerRate = cmp.Or(l.AnswerRate, d.AnswerRate)
	l.Links = cmp.Or(l.Links, d.Links)
	l.Components = cmp.Or(l.Components, d.Components)
	l.Concurrent = cmp.Or(l.Concurrent, d.Concurrent)
	l.Connections = min(cmp.Or(l.Connections, d.Connections), maxConnections())
	l.ConcurrentPerAddress = cmp.Or(l.ConcurrentPerAddress, shareOf(l.Concurrent))
	l.ConnectionsPerAddress = cmp.Or(l.ConnectionsPerAddress, shareOf(l.Connections))
	if l.Memory == 0 {
		l.Memory = max(budget.Default(budget.MachineMemory()), minAnswers*l.AnswerBytes)
	}
	return l
}

// shareOf returns the default share of one address: a quarter, but at least what a client that is itself a server needs.
func shareOf(all int) int { return min(all, max(all/4, 64)) }

// ownDescriptors is how many descriptors the server needs for its store, log and sockets.
const ownDescriptors = 64

// maxConnections returns how many connections the process can have if each needs a second descriptor, for a file that it sends.
func maxConnections() int {
	all := descriptors()
	if all == 0 {
		return math.MaxInt
	}
	return max(1, (all-ownDescriptors)/2)
}
