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

// A listener's connections send answers otherwise than net/http hands them over, in three ways. What it cannot read as a request
// net/http answers itself, in plain text and before any handler is asked: clients of a content API expect its envelope for
// this too, in particular for a path whose escapes cannot be decoded. Headers that all answers have are put in here. And an
// answer that is longer than its buffer net/http sends in two pieces, which here can become one.
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
	read         []byte    // what was read last: a part of the server's read buffer
	addsConstant bool      // the answer to come has no constant headers yet
	joins        bool      // the first part of the answer waits for the others
	held         *[]byte   // that part, while it waits
	parts        [2][]byte // what is sent at once
	unsent       net.Buffers
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

// connOf is the connection that a request came by; nil where it came by another server's.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// joinWrites is for a handler that writes all of its answer at once, while it is at work. What is longer than its buffer net/http
// sends in two pieces, which costs both sides more than it takes to make a short answer; the first piece then waits for the
// second.
func joinWrites(r *http.Request) *conn {
	c := connOf(r)
	if c != nil {
		c.joins = true
	}
	return c
}

// joined is called when the handler has done its work. c may be nil.
func (c *conn) joined() {
	if c != nil {
		c.joins = false
	}
}

// writeBuffer is as much as net/http gathers before it sends anything.
const writeBuffer = 4 << 10

// heads are buffers for the first parts of answers.
var heads = sync.Pool{New: func() any {
	b := make([]byte, 0, writeBuffer+len(constantLines))
	return &b
}}

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
	case c.addsConstant && isHead(p), c.joins && isFirstPart(p):
		return c.begin(p)
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

// isHead reports whether p begins an answer, and not one that says that another will come.
func isHead(p []byte) bool {
	const least = len("HTTP/1.1 200 \r\n")
	return len(p) >= least && string(p[:len("HTTP/1.")]) == "HTTP/1." && p[len("HTTP/1.1 ")] != '1'
}

// begin sends or holds the first part of an answer, with the constant headers if it lacks them.
func (c *conn) begin(p []byte) (int, error) {
	head := heads.Get().(*[]byte)
	*head = (*head)[:0]
	rest := p
	if c.addsConstant {
		status := bytes.IndexByte(p, '\n') + 1
		*head, rest = append(append(*head, p[:status]...), constantLines...), p[status:]
		c.addsConstant = false
	}
	*head = append(*head, rest...)
	if c.joins && isFirstPart(p) {
		c.held = head
		return len(p), nil
	}
	_, err := c.Conn.Write(*head)
	heads.Put(head)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// join sends what was held, and p behind it.
func (c *conn) join(p []byte) (int, error) {
	c.parts = [...][]byte{*c.held, p}
	c.unsent = c.parts[:]
	_, err := c.unsent.WriteTo(c.Conn)
	heads.Put(c.held)
	c.held, c.unsent, c.parts = nil, nil, [2][]byte{}
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
