package config

import (
	"cmp"
	"math"
	"time"

	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Limits limits the time, memory and number of requests. A zero field stands for its default, which WithDefaults fills in.
type Limits struct {
	ReadHeader time.Duration // a client has this long to send the header of a request
	Read       time.Duration // a client has this long to send a request with its body
	Write      time.Duration // a client has this long to read the answer, from the end of the request's header
	Idle       time.Duration // a connection may wait this long for its next request
	Handle     time.Duration // the context of a request ends after this time
	Drain      time.Duration // requests are answered so long after the server was told to stop, while it is not ready
	Shutdown   time.Duration // requests may continue this long after that
	Stream     time.Duration // a list in JSON Lines may take this long, and keep its snapshot

	HeaderBytes int64 // bytes of the header of a request
	JSONBytes   int64 // bytes of a JSON body, decompressed
	FormBytes   int64 // bytes of a form or text body, decompressed
	BodyRate    int64 // the rate at which a client must at least send a body, in bytes a second
	AnswerBytes int64 // bytes of one answer
	AnswerRate  int64 // the rate at which a client must at least read a long answer, in bytes a second
	CopyRate    int64 // the rate at which first copies are sent to replicas, all of them together, in bytes a second
	Memory      int64 // bytes that all requests together may reserve; default: a quarter of the memory that the process may use

	Links      int // documents in relations in the body of a write
	Components int // components in the body of a write
	Operations int // operations in a batch

	// Concurrent is how many requests are handled at a time, and ConcurrentPerAddress how many of them may come from one address; its
	// default is a quarter. Further requests are answered 503. A request that waits for its client is not counted.
	Concurrent, ConcurrentPerAddress int
	// Connections is how many connections may be open at a time, and ConnectionsPerAddress how many of them may come from one address;
	// its default is a quarter. Further connections are closed. WithDefaults lowers Connections to what the process's limit on file
	// descriptors allows.
	Connections, ConnectionsPerAddress int
	// Listeners is how many clients may wait for changes at a time, and ListenersPerAddress how many of them may come from one address; the
	// defaults are half of Connections, and a quarter of that. Further ones are answered 503. Each has a connection.
	Listeners, ListenersPerAddress int
	// Streams is how many lists in JSON Lines are sent at a time. Further ones are answered 503.
	Streams int
}

// DefaultLimits holds the limits of a project that sets none. Limits whose default depends on other limits or on the machine are zero.
var DefaultLimits = Limits{
	ReadHeader:  10 * time.Second,
	Read:        60 * time.Second,
	Write:       120 * time.Second,
	Idle:        120 * time.Second,
	Handle:      30 * time.Second,
	Shutdown:    20 * time.Second,
	Stream:      10 * time.Minute,
	HeaderBytes: 64 << 10,
	JSONBytes:   1 << 20,
	FormBytes:   56 << 10,
	BodyRate:    1 << 10,
	Concurrent:  1024,
	Connections: 8192,
	Streams:     16,
	Links:       10_000,
	Components:  5_000,
	Operations:  1_000,
	AnswerBytes: rest.DefaultAnswerBytes,
	AnswerRate:  32 << 10,
	CopyRate:    48 << 20,
}

// minAnswers is how many answers of the largest size must fit into the memory of all requests.
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
	l.Stream = cmp.Or(l.Stream, d.Stream)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, d.HeaderBytes)
	l.JSONBytes = cmp.Or(l.JSONBytes, d.JSONBytes)
	l.FormBytes = cmp.Or(l.FormBytes, d.FormBytes)
	l.BodyRate = cmp.Or(l.BodyRate, d.BodyRate)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, d.AnswerBytes)
	l.AnswerRate = cmp.Or(l.AnswerRate, d.AnswerRate)
	l.CopyRate = cmp.Or(l.CopyRate, d.CopyRate)
	l.Links = cmp.Or(l.Links, d.Links)
	l.Components = cmp.Or(l.Components, d.Components)
	l.Operations = cmp.Or(l.Operations, d.Operations)
	l.Concurrent = cmp.Or(l.Concurrent, d.Concurrent)
	l.Connections = min(cmp.Or(l.Connections, d.Connections), maxConnections())
	l.Streams = cmp.Or(l.Streams, d.Streams)
	l.ConcurrentPerAddress = cmp.Or(l.ConcurrentPerAddress, shareOf(l.Concurrent))
	l.ConnectionsPerAddress = cmp.Or(l.ConnectionsPerAddress, shareOf(l.Connections))
	l.Listeners = cmp.Or(l.Listeners, max(1, l.Connections/2))
	l.ListenersPerAddress = cmp.Or(l.ListenersPerAddress, shareOf(l.Listeners))
	if l.Memory == 0 {
		l.Memory = max(budget.Default(budget.MachineMemory()), minAnswers*l.AnswerBytes)
	}
	return l
}

// shareOf returns the default share of one address: a quarter, but at least 64, since a client may itself be a server.
func shareOf(all int) int { return min(all, max(all/4, 64)) }

// reservedDescriptors is how many file descriptors the server keeps for its store, log and sockets. A process that may have few keeps half
// of them.
const reservedDescriptors = 64

// maxConnections returns how many connections the process can have. Each may need a second descriptor, for a file that it sends.
func maxConnections() int {
	all := descriptors()
	if all == 0 {
		return math.MaxInt
	}
	return max(1, (all-min(reservedDescriptors, all/2))/2)
}
