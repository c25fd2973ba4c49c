package server_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway/internal/server"
)

// discard is a response writer that drops the answer. It creates new headers for each request, as net/http does.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkOverhead measures the cost of routing, authentication and headers, without the work of the route itself.
func BenchmarkOverhead(b *testing.B) {
	s, err := server.New(server.Config{}, server.API{})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/api/nope", nil)
	b.ReportAllocs()
	for b.Loop() {
		s.Handler().ServeHTTP(&discard{make(http.Header)}, r)
	}
}

// An endlessClient is a connection that sends the same request a given number of times and drops the answers.
type endlessClient struct {
	net.Conn
	request []byte
	left    int
	late    chan struct{} // receives when the deadline ends a read
	closed  chan struct{}
}

func (c *endlessClient) Read(p []byte) (int, error) {
	if len(p) == 1 { // net/http reads in the background to notice that the client has left
		<-c.late
		return 0, os.ErrDeadlineExceeded
	}
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(p, c.request), nil
}

func (c *endlessClient) Write(p []byte) (int, error) { return len(p), nil }
func (c *endlessClient) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1024}
}
func (c *endlessClient) LocalAddr() net.Addr              { return c.RemoteAddr() }
func (c *endlessClient) SetDeadline(time.Time) error      { return nil }
func (c *endlessClient) SetWriteDeadline(time.Time) error { return nil }

func (c *endlessClient) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.late <- struct{}{}
	}
	return nil
}

func (c *endlessClient) Close() error {
	if c.closed != nil {
		close(c.closed)
		c.closed = nil
	}
	return nil
}

// A pipeListener accepts the connections that are sent to its channel.
type pipeListener struct{ conns chan net.Conn }

func (l pipeListener) Accept() (net.Conn, error) {
	if c := <-l.conns; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// BenchmarkServe measures the cost of a request with everything that net/http does for it, but without a network.
func BenchmarkServe(b *testing.B) {
	answer := func(length int) func(http.ResponseWriter, *http.Request, auth.Principal) error {
		body, said := bytes.Repeat([]byte("a"), length), []string{strconv.Itoa(length)}
		return func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return err
			}
			w.Header()["Content-Type"], w.Header()["Content-Length"] = []string{"application/json"}, said
			w.WriteHeader(http.StatusOK)
			_, err := w.Write(body)
			return err
		}
	}
	s, err := server.New(server.Config{Compress: true}, server.API{Routes: []server.Route{
		{Method: "GET", Path: "/short", Open: true, Streams: true, Whole: true, Handle: answer(600)},
		{Method: "GET", Path: "/long", Open: true, Streams: true, Whole: true, Handle: answer(16_000)},
		{Method: "POST", Path: "/short", Open: true, Streams: true, Whole: true, Handle: answer(600)},
	}})
	if err != nil {
		b.Fatal(err)
	}
	ln := pipeListener{make(chan net.Conn)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, ln) }()
	for name, request := range map[string]string{
		"GET short":  "GET /short HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET long":   "GET /long HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST short": "POST /short HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			c := &endlessClient{request: []byte(request), left: b.N, late: make(chan struct{}, 1),
				closed: make(chan struct{})}
			closed := c.closed
			ln.conns <- c
			<-closed
		})
	}
	stop()
	ln.conns <- nil
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
