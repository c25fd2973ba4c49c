package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"lectern/internal/admission"
)

// A conn is the connection of a client. It sends the bytes that net/http writes, unchanged and in order. It may delay
// the first write of an answer until the second one, and then sends both in one system call. Only the goroutine that
// answers a request writes to it.
type conn struct {
	net.Conn
	listener *listener
	client   admission.Client // the client or proxy that opened the connection
	share    *admission.Share // the client's share of the connections
	closed   sync.Once

	proxied  bool                  // a proxy sends requests of many clients over the connection
	ownPlace place                 // used by all requests, unless they are proxied
	place    atomic.Pointer[place] // the place of the current request
	body     *clientBody           // the body of the current request; nil where nothing reads it

	isTLS   bool        // it carries TLS, so what is written to it is not an answer but records of TLS
	delays  bool        // a write may be delayed
	delayed *[]byte     // the write that is delayed; nil where there is none
	both    [2][]byte   // the delayed write and the next one, while they are sent
	unsent  net.Buffers // the part of both that is not sent yet
}

// waitForClient releases the place of the current request while it waits for its client, and reports whether it held
// one. workAgain takes the place back.
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
	if err := p.takeBack(ctx); err != nil {
		return c.listener.server.errNoPlace(err)
	}
	return nil
}

// maxDelayed is the size of the write buffer of net/http. Longer writes are not delayed.
const maxDelayed = 4 << 10

var delayedWrites = sync.Pool{New: func() any {
	b := make([]byte, 0, maxDelayed)
	return &b
}}

// Write implements net.Conn. It sends p or delays it.
func (c *conn) Write(p []byte) (int, error) {
	if !c.delays || c.delayed != nil || len(p) > maxDelayed {
		c.waitForClient()
	}
	switch {
	case c.delayed != nil:
		return c.writeBoth(p)
	case c.delays && len(p) <= maxDelayed:
		c.delayed = delayedWrites.Get().(*[]byte)
		*c.delayed = append((*c.delayed)[:0], p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// writeBoth sends the delayed write, and then p.
func (c *conn) writeBoth(p []byte) (int, error) {
	c.both = [...][]byte{*c.delayed, p}
	c.unsent = c.both[:]
	_, err := c.unsent.WriteTo(c.Conn)
	delayedWrites.Put(c.delayed)
	c.delayed, c.unsent, c.both = nil, nil, [2][]byte{}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ReadFrom lets the connection send files without copying them.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if c.delayed != nil {
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

// CloseWrite lets net/http close its side of the connection first, so that a client which is still sending can read the
// answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// A connKey is the context key of the conn of a request.
type connKey struct{}

func withConn(ctx context.Context, accepted net.Conn) context.Context {
	over, isTLS := accepted.(*tls.Conn)
	if isTLS {
		accepted = over.NetConn()
	}
	c, ok := accepted.(*conn)
	if !ok {
		return ctx
	}
	c.isTLS = isTLS
	ctx = context.WithValue(ctx, connKey{}, c)
	if !c.proxied {
		ctx = admission.WithClient(ctx, c.client)
	}
	return ctx
}

// socketOf returns the connection of the system below a connection that net/http has accepted.
func socketOf(c net.Conn) net.Conn {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	if counted, ok := c.(*conn); ok {
		c = counted.Conn
	}
	return c
}

// connOf returns the connection of a request; nil for a request that did not come through Serve, as in tests.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// delayWrites makes the connection of a request delay the first write of the answer until the second one, until
// sendDelayed is called. It is for handlers that write an answer at once and do not flush it: net/http writes an answer
// that is longer than its buffer in two pieces, which costs one more system call on either side. The result is nil for
// a request that did not come through Serve, or came over TLS.
func delayWrites(r *http.Request) *conn {
	c := connOf(r)
	if c == nil || c.isTLS {
		return nil
	}
	c.delays = true
	return c
}

// sendDelayed sends the rest of the answer that was written to w, and ends the effect of delayWrites.
func (c *conn) sendDelayed(w http.ResponseWriter) {
	if c == nil || !c.delays {
		return
	}
	if c.delayed != nil {
		_ = http.NewResponseController(w).Flush() // net/http notices a broken connection by itself
	}
	c.delays = false
	if c.delayed != nil {
		_, _ = c.writeBoth(nil) // net/http notices a broken connection by itself
	}
}
