package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// An attempt sends a request to the upstream once.
type attempt struct {
	failed error // nil if it was answered
	body   forwardedBody
	used   []usedConn
}

// A usedConn is a connection that net/http has taken for the request.
type usedConn struct {
	conn   *countedConn
	before int64 // how many writes it had counted by then
}

// trace returns a context for the request, with which net/http notes in a.used what connections it takes.
func (a *attempt) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		c := got.Conn
		for over, ok := c.(*tls.Conn); ok; over, ok = c.(*tls.Conn) { // one within the other for a proxy
			c = over.NetConn()
		}
		counted := c.(*countedConn)
		a.used = append(a.used, usedConn{counted, counted.writes.Load()})
	}})
}

// sent reports whether the upstream may have got a byte of the request. It must be called once the attempt is over:
// net/http has then closed the connection of a request that failed, so that nothing is written any more.
func (a *attempt) sent() bool {
	for _, u := range a.used {
		if u.conn.writes.Load() != u.before {
			return true
		}
	}
	return false
}

// A countedConn counts the writes to a connection, those that fail included. If one fails, it waits until all was read
// that the other end has sent. An upstream may refuse a request before it has read all of it, and close the connection:
// net/http would close it as well, and lose the answer.
type countedConn struct {
	net.Conn
	writes atomic.Int64
	end    sync.Once
	ended  chan struct{} // closed when nothing more can be read
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.end.Do(func() { close(c.ended) })
	}
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1) // before anything is written
	n, err := c.Conn.Write(p)
	if err != nil {
		late := time.NewTimer(MaxStall)
		defer late.Stop()
		select {
		case <-c.ended:
		case <-late.C:
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.end.Do(func() { close(c.ended) })
	return err
}

// A Dialer opens connections, as net.Dialer.DialContext does.
type Dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// counting returns a dialer whose connections are countedConns.
func counting(dial Dialer) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: c, ended: make(chan struct{})}, nil
	}
}

// A forwardedBody is the body of a request while it is sent to the upstream. The transport reads it in a goroutine of
// its own. Once the answer begins, nothing reads it any more.
type forwardedBody struct {
	mu      sync.Mutex
	body    io.ReadCloser
	stall   *time.Timer // runs while the upstream has bytes to take
	begun   bool        // a byte of it may have been read
	stopped bool
	failed  error           // of reading from the client
	over    <-chan struct{} // closed when the whole answer was read
}

var errAnsweredEarly = errors.New("the origin has answered before it got the whole request")

// Read implements io.Reader. Once the answer begins it waits for the end of that: net/http closes the connection when
// Read fails.
func (b *forwardedBody) Read(p []byte) (int, error) {
	n, stopped, err := b.read(p)
	if stopped {
		<-b.over
		return 0, errAnsweredEarly
	}
	return n, err
}

func (b *forwardedBody) read(p []byte) (n int, stopped bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return 0, true, nil
	}
	b.begun = true
	b.stall.Stop()
	n, err = b.body.Read(p)
	switch {
	case err == nil:
		b.stall.Reset(MaxStall)
	case !errors.Is(err, io.EOF):
		b.failed = err
	}
	return n, false, err
}

// Close implements io.Closer. The server closes the body itself.
func (b *forwardedBody) Close() error { return nil }

// stop waits for a Read that is under way, and lets no other begin.
func (b *forwardedBody) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	b.stall.Stop()
}

// A stallReader reads an answer of the upstream. The timer runs while it waits for bytes.
type stallReader struct {
	io.ReadCloser
	stall *time.Timer
}

// Read implements io.Reader.
func (s *stallReader) Read(p []byte) (int, error) {
	s.stall.Reset(MaxStall)
	defer s.stall.Stop()
	return s.ReadCloser.Read(p)
}
