package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"lectern/internal/admission"
)

// A conn is the connection of a client. It sends the bytes that net/http writes, unchanged and in order. It may hold back the first write
// of an answer until the second one, and then sends both in one system call. Only the goroutine that answers a request writes to it.
type conn struct {
	net.Conn
	listener *listener
	at       admission.Client // the client, or the proxy
	share    *admission.Share // of the connections
	closed   sync.Once

	proxied  bool // its requests are of many clients
	ownPlace place
	place    atomic.Pointer[place] // of the request at work
	body     *clientBody           // of that request

	gathers bool        // a write may be kept
	kept    *[]byte     // the write that is kept
	both    [2][]byte   // it and the next, while they are sent
	unsent  net.Buffers // of both
}

// enterPlace acquires a place for the request that came over the connection.
func (c *conn) enterPlace(p *place) error {
	c.place.Store(p)
	return p.enter()
}

// leavePlace releases the place when the request has been answered.
func (c *conn) leavePlace() {
	c.waitForClient()
	c.place.Store(nil)
	c.body = nil
}

// waitForClient releases the place of the request while it waits for its client, and reports whether it held one. workAgain acquires
// it again.
func (c *conn) waitForClient() (held bool) {
	p := c.place.Load()
	if p == nil || !p.held.Load() {
		return false
	}
	p.leave()
	return true
}

func (c *conn) workAgain(ctx context.Context) error {
	p := c.place.Load()
	if p == nil {
		return nil
	}
	if err := p.enterAgain(ctx); err != nil {
		return c.listener.server.errNoPlace(err)
	}
	return nil
}

// mostKept is the size of the write buffer of net/http.
const mostKept = 4 << 10

var keptWrites = sync.Pool{New: func() any {
	b := make([]byte, 0, mostKept)
	return &b
}}

func (c *conn) Write(p []byte) (int, error) {
	if !c.gathers || c.kept != nil || len(p) > mostKept {
		c.waitForClient()
	}
	switch {
	case c.kept != nil:
		return c.writeBoth(p)
	case c.gathers && len(p) <= mostKept:
		c.kept = keptWrites.Get().(*[]byte)
		*c.kept = append((*c.kept)[:0], p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// writeBoth sends the write that was held back, and then p.
func (c *conn) writeBoth(p []byte) (int, error) {
	c.both = [...][]byte{*c.kept, p}
	c.unsent = c.both[:]
	_, err := c.unsent.WriteTo(c.Conn)
	keptWrites.Put(c.kept)
	c.kept, c.unsent, c.both = nil, nil, [2][]byte{}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ReadFrom lets the connection send files without copying them.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if c.kept != nil {
		if _, err := c.writeBoth(nil); err != nil {
			return 0, err
		}
	}
	c.waitForClient()
	return io.Copy(c.Conn, r)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() { c.listener.closed(c) })
	return err
}

// CloseWrite lets net/http close its side of the connection first, so that a client which is still sending can read the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// A connKey is the context key of the conn of a request.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	ctx = context.WithValue(ctx, connKey{}, c)
	if c, ok := c.(*conn); ok && !c.proxied {
		ctx = admission.WithClient(ctx, c.at)
	}
	return ctx
}

// connOf returns the connection of a request; nil for a request that did not come through Serve, as in tests.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// gatherWrites is for handlers that write their whole answer at once and do not flush it. net/http writes an answer that is longer than
// its buffer in two pieces, which costs a system call more on either side. From now on the connection holds the first piece back until
// the second one; sendKept ends that. The result is nil for a request that did not come through Serve.
func gatherWrites(r *http.Request) *conn {
	c := connOf(r)
	if c != nil {
		c.gathers = true
	}
	return c
}

// sendKept sends what is left of the answer that was written to w, and ends what gatherWrites began.
func (c *conn) sendKept(w http.ResponseWriter) {
	if c == nil {
		return
	}
	if c.kept != nil {
		_ = http.NewResponseController(w).Flush() // if the connection is broken, net/http finds out by itself
	}
	c.gathers = false
	if c.kept != nil {
		_, _ = c.writeBoth(nil) // likewise
	}
}
