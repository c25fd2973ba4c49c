package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"lectern/documents"
)

// net/http itself answers what it cannot read as a request, in plain text and before any handler is asked. Clients of a
// content API expect its envelope for this too, in particular for a path whose escapes cannot be decoded; so connections
// replace these few bytes on their way out.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// A conn is what the server reads requests from and writes answers to, all in one goroutine but for the read ahead.
type conn struct {
	net.Conn
	read  []byte             // what was read last: a part of the server's read buffer
	joins bool               // the first part of the answer waits for the others
	held  *[writeBuffer]byte // that part, while it waits
	parts [2][]byte          // what is sent at once
}

// What net/http sends for a request that it cannot read, and for one whose head is too large.
const (
	refused      = "HTTP/1.1 400 Bad Request" + refusedHead + "400 Bad Request"
	headTooLarge = "HTTP/1.1 431 Request Header Fields Too Large" + refusedHead + "431 Request Header Fields Too Large"
	refusedHead  = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
)

var (
	errBadRequest  = &documents.Error{Status: http.StatusBadRequest, Name: "BadRequestError", Message: "Bad Request", NoDetails: true}
	errHeadTooLong = &documents.Error{Status: http.StatusRequestHeaderFieldsTooLarge, Name: "RequestHeaderFieldsTooLargeError", Message: "Request Header Fields Too Large", NoDetails: true}
)

// A connKey is what the context of a request has its conn under.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// joinWrites is for a handler that writes all of its answer at once, while it is at work. What is longer than its buffer net/http
// sends in two pieces, which costs both sides more than it takes to make a short answer; the first piece then waits for the
// second.
func joinWrites(r *http.Request) (done func()) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return func() {}
	}
	c.joins = true
	return func() { c.joins = false }
}

// writeBuffer is as much as net/http gathers before it sends anything.
const writeBuffer = 4 << 10

var heldBuffers = sync.Pool{New: func() any { return new([writeBuffer]byte) }}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 1 { // one byte is read ahead by another goroutine, while a handler is at work
		c.read = p[:n]
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	switch {
	case c.held != nil:
		return c.join(p)
	case c.joins && isFirstPart(p):
		c.held = heldBuffers.Get().(*[writeBuffer]byte)
		return copy(c.held[:], p), nil
	case string(p) == headTooLarge:
		return c.refuse(p, errHeadTooLong)
	case string(p) != refused:
		return c.Conn.Write(p)
	case badEscape(c.read):
		return c.refuse(p, errDecode)
	default:
		return c.refuse(p, errBadRequest)
	}
}

// isFirstPart reports whether p is the first piece of an answer that will be followed by the others, as its length says.
func isFirstPart(p []byte) bool {
	if len(p) != writeBuffer {
		return false
	}
	head, body, _ := bytes.Cut(p, []byte("\r\n\r\n"))
	_, length, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	return err == nil && n > len(body)
}

// join sends what was held, and p behind it.
func (c *conn) join(p []byte) (int, error) {
	c.parts = [2][]byte{c.held[:], p}
	parts := net.Buffers(c.parts[:])
	_, err := parts.WriteTo(c.Conn)
	heldBuffers.Put(c.held)
	c.held, c.parts = nil, [2][]byte{}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// refuse sends e in place of p.
func (c *conn) refuse(p []byte, e *documents.Error) (int, error) {
	body := appendError(nil, e)
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		e.Status, http.StatusText(e.Status), typeJSON[0], len(body), body)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ReadFrom lets files go out as the connection itself can send them.
func (c *conn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// CloseWrite lets the server end its side first, so that a client which still sends gets to read the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// badEscape reports whether the path in a request's first line has a % without two hexadecimal digits.
func badEscape(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	fields := bytes.Fields(line)
	if len(fields) < 2 {
		return false
	}
	path, _, _ := bytes.Cut(fields[1], []byte("?"))
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			continue
		}
		if i+2 >= len(path) || !hex(path[i+1]) || !hex(path[i+2]) {
			return true
		}
		i += 2
	}
	return false
}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
