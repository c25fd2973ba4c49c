package config

import (
	"cmp"
	"math"
	"time"

	"lectern/internal/budget"
	"lectern/internal/yamlfile"
	"lectern/shadowcrud/rest"
)

// Limits limits the time, memory and number of requests. A zero field stands for its default, which WithDefaults fills
// in.
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

	// Concurrent is how many requests are handled at a time, and ConcurrentPerAddress how many of them may come from
	// one address; its default is a quarter. Further requests are answered 503. A request that waits for its client is
	// not counted.
	Concurrent, ConcurrentPerAddress int
	// Connections is how many connections may be open at a time, and ConnectionsPerAddress how many of them may come
	// from one address; its default is a quarter. Further connections are closed. WithDefaults lowers Connections to
	// what the process's limit on file descriptors allows.
	Connections, ConnectionsPerAddress int
	// Listeners is how many clients may wait for changes at a time, and ListenersPerAddress how many of them may come
	// from one address; the defaults are half of Connections, and a quarter of that. Further ones are answered 503.
	// Each has a connection.
	Listeners, ListenersPerAddress int
	// SubscriptionConditions is how many conditions the filters of all GraphQL subscriptions may have together, since
	// each change is compared with all of them, and SubscriptionConditionsPerAddress how many of them may come from one
	// address; its default is a quarter.
	SubscriptionConditions, SubscriptionConditionsPerAddress int
	// Streams is how many lists in JSON Lines are sent at a time, and StreamsPerAddress how many of them may go to one
	// address; its default is a quarter. Further ones are answered 503.
	Streams, StreamsPerAddress int
}

// DefaultLimits holds the limits of a project that sets none. Limits whose default depends on other limits or on the
// machine are zero.
var DefaultLimits = Limits{
	ReadHeader:             10 * time.Second,
	Read:                   60 * time.Second,
	Write:                  120 * time.Second,
	Idle:                   120 * time.Second,
	Handle:                 30 * time.Second,
	Shutdown:               20 * time.Second,
	Stream:                 10 * time.Minute,
	HeaderBytes:            64 << 10,
	JSONBytes:              1 << 20,
	FormBytes:              56 << 10,
	BodyRate:               1 << 10,
	Concurrent:             1024,
	Connections:            8192,
	Streams:                16,
	SubscriptionConditions: 100_000,
	Links:                  10_000,
	Components:             5_000,
	Operations:             1_000,
	AnswerBytes:            rest.DefaultAnswerBytes,
	AnswerRate:             32 << 10,
	CopyRate:               48 << 20,
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
	l.StreamsPerAddress = cmp.Or(l.StreamsPerAddress, min(l.Streams, max(l.Streams/4, leastStreams)))
	l.ConcurrentPerAddress = cmp.Or(l.ConcurrentPerAddress, shareOf(l.Concurrent))
	l.ConnectionsPerAddress = cmp.Or(l.ConnectionsPerAddress, shareOf(l.Connections))
	l.Listeners = cmp.Or(l.Listeners, max(1, l.Connections/2))
	l.ListenersPerAddress = cmp.Or(l.ListenersPerAddress, shareOf(l.Listeners))
	l.SubscriptionConditions = cmp.Or(l.SubscriptionConditions, d.SubscriptionConditions)
	l.SubscriptionConditionsPerAddress = cmp.Or(l.SubscriptionConditionsPerAddress, shareOf(l.SubscriptionConditions))
	if l.Memory == 0 {
		l.Memory = max(budget.Default(budget.MachineMemory()), minAnswers*l.AnswerBytes)
	}
	return l
}

// leastStreams is the default of streams of one address where a quarter would be fewer.
const leastStreams = 4

// shareOf returns the default share of one address: a quarter, but at least 64, since a client may itself be a server.
func shareOf(all int) int { return min(all, max(all/4, 64)) }

// reservedDescriptors is how many file descriptors the server keeps for its store, log and sockets. A process that may
// have few keeps half of them.
const reservedDescriptors = 64

// maxConnections returns how many connections the process can have. Each may need a second descriptor, for a file that
// it sends.
func maxConnections() int {
	all := descriptors()
	if all == 0 {
		return math.MaxInt
	}
	return max(1, (all-min(reservedDescriptors, all/2))/2)
}

// limitsFile is limits in config/server.yaml as written. Decoding it sets the settings that its pointers lead to.
type limitsFile struct {
	// a JSON body
	JSON *ByteSize
	// a form or text body
	Form *ByteSize
	// line and headers of a request
	Headers *ByteSize
	// least bytes a second at which a client must send a body after its first byte, measured over 20 seconds; slower
	// clients are answered 408
	BodyRate *ByteSize `yaml:"bodyRate"`
	// requests at work at one time; more are answered 503. A request that waits for its client, to send the body or to
	// take the answer, is not at work
	Concurrent *int
	// requests at work for one client address; more are answered 503. The /64 network of an IPv6 address is one
	// Default: a quarter of them, at least 64
	ConcurrentPerAddress *int `yaml:"concurrentPerAddress"`
	// connections at one time; more are closed. Never more than half of the descriptors that the process may have
	Connections *int
	// connections of one address; more are closed. It does not apply to `trustedProxies`
	// Default: a quarter of them, at least 64
	ConnectionsPerAddress *int `yaml:"connectionsPerAddress"`
	// clients that wait for [changes](changes.md#waiting) at one time; more are answered 503. Each has one of the
	// connections
	// Default: half of `limits.connections`
	Listeners *int
	// clients of one address that wait for changes; more are answered 503
	// Default: a quarter of them, at least 64
	ListenersPerAddress *int `yaml:"listenersPerAddress"`
	// conditions in the filters of all [subscriptions](graphql.md#subscriptions) together, counted as
	// `graphql.config.limits.conditions` does, since each change is compared with all of them; more are answered 503
	SubscriptionConditions *int `yaml:"subscriptionConditions"`
	// conditions in the filters of the subscriptions of one address; more are answered 503
	// Default: a quarter of them, at least 64
	SubscriptionConditionsPerAddress *int `yaml:"subscriptionConditionsPerAddress"`
	// [streams](streams.md) at one time; more are answered 503
	Streams *int
	// streams of one client address at one time; more are answered 503
	// Default: a quarter of them, at least 4
	StreamsPerAddress *int `yaml:"streamsPerAddress"`
	// memory of all requests together: answers until they are sent, images while they are decoded, what bodies are
	// parsed to; see [memory](network.md#memory)
	// Default: a quarter of the memory that the process may have
	Memory *ByteSize
	// one answer; a longer one is refused with 400
	Answer *ByteSize
	// least bytes a second at which a client must take an answer of more than 128 KiB, a backup or an export;
	// connections of slower clients are closed
	AnswerRate *ByteSize `yaml:"answerRate"`
	// most bytes a second that the server sends for the first copies of [replicas](replicas.md#the-first-copy), all
	// copies together
	CopyRate *ByteSize `yaml:"copyRate"`
	// documents that relations and media name in the body of one create or update; more are answered 413. Write longer
	// lists in steps, by `connect`
	Links *int
	// components in the body of one create or update, at any depth; more are answered 413
	Components *int
	// operations of one [batch](batch.md); more are answered 413
	Operations *int
}

// timeoutsFile is timeouts in config/server.yaml as written.
type timeoutsFile struct {
	// for a client to send the head of a request
	Header *time.Duration
	// for a client to send all of a request; for uploads only `limits.bodyRate` counts
	Read *time.Duration
	// for a client to take an answer to which `limits.answerRate` does not apply
	Write *time.Duration
	// how long a connection may wait for its next request
	Idle *time.Duration
	// the work on one request
	Request *time.Duration
	// how long the server goes on answering requests after it was told to stop, while `/_ready` answers 503: see
	// [probes](running.md#probes)
	Drain *time.Duration
	// how long requests may go on after that
	Shutdown *time.Duration
	// one [stream](streams.md); the data file cannot use pages again that a stream still needs
	Stream *time.Duration
}

// check reports limits and timeouts that are out of range. n is the Node of config/server.yaml, for the lines of
// problems.
func (l *Limits) check(n *yamlfile.Node) (problems yamlfile.Problems) {
	if l.Memory != 0 && l.Memory < minAnswers*l.AnswerBytes {
		problems.Add(n.At("limits", "memory"),
			"memory must be at least twice limits.answer (%s), since all requests share it; "+
				"leave it out for a quarter of the machine's",
			ByteSize(l.AnswerBytes))
	}
	for key, size := range map[string]int64{"json": l.JSONBytes, "form": l.FormBytes, "headers": l.HeaderBytes,
		"answer": l.AnswerBytes, "answerRate": l.AnswerRate, "copyRate": l.CopyRate} {
		if size < 1<<10 || size > 1<<30 {
			problems.Add(n.At("limits", key), "%s must be from 1kb to 1gb", key)
		}
	}
	for _, c := range []struct {
		key   string
		count int
		what  string
	}{
		{"links", l.Links, "of them one write may have"},
		{"components", l.Components, "of them one write may have"},
		{"operations", l.Operations, "of them one batch may have"},
		{"concurrent", l.Concurrent, "requests are answered at a time"},
		{"connections", l.Connections, "connections there may be at a time"},
		{"streams", l.Streams, "streams are sent at a time"},
		{"subscriptionConditions", l.SubscriptionConditions, "of them the filters of all subscriptions may have"},
		{"bodyRate", int(l.BodyRate), "bytes of a body must come each second"},
	} {
		if c.count < 1 {
			problems.Add(n.At("limits", c.key), "%s must be 1 or more: it is how many %s", c.key, c.what)
		}
	}
	for _, c := range []struct {
		key, of    string
		share, all int
	}{
		{"concurrentPerAddress", "concurrent", l.ConcurrentPerAddress, l.Concurrent},
		{"connectionsPerAddress", "connections", l.ConnectionsPerAddress, l.Connections},
		{"streamsPerAddress", "streams", l.StreamsPerAddress, l.Streams},
		{"listenersPerAddress", "listeners", l.ListenersPerAddress, cmp.Or(l.Listeners, max(1, l.Connections/2))},
		{"subscriptionConditionsPerAddress", "subscriptionConditions", l.SubscriptionConditionsPerAddress,
			l.SubscriptionConditions},
	} {
		if c.share < 0 || c.share > c.all {
			problems.Add(n.At("limits", c.key),
				"%s must be from 1 to limits.%s (%d), of which it is the share of one address", c.key, c.of, c.all)
		}
	}
	if l.Listeners < 0 {
		problems.Add(n.At("limits", "listeners"),
			"listeners must be 1 or more: it is how many clients may wait for changes at a time")
	}
	for key, d := range map[string]time.Duration{"header": l.ReadHeader, "read": l.Read, "write": l.Write,
		"idle":    l.Idle,
		"request": l.Handle, "shutdown": l.Shutdown, "stream": l.Stream} {
		if d <= 0 {
			problems.Add(n.At("timeouts", key), "%s must be longer than 0, such as 30s", key)
		}
	}
	if l.Drain < 0 {
		problems.Add(n.At("timeouts", "drain"), "drain must not be negative; 0s drains nothing")
	}
	return problems
}
