package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"

	"lectern/documents"
)

// net/http itself answers what it cannot read as a request, in plain text and before any handler is asked. Clients of a
// content API expect its envelope for this too, in particular for a path whose escapes cannot be decoded; so connections
// replace these few bytes on their way out.
type envelopeListener struct{ net.Listener }

func (l envelopeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &envelopeConn{Conn: c}, nil
}

type envelopeConn struct {
	net.Conn
	read []byte // what was read last: a part of the server's read buffer, looked at by the goroutine that filled it
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

func (c *envelopeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 1 { // one byte is read ahead by another goroutine, while a handler is at work
		c.read = p[:n]
	}
	return n, err
}

func (c *envelopeConn) Write(p []byte) (int, error) {
	switch {
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

// refuse sends e in place of p.
func (c *envelopeConn) refuse(p []byte, e *documents.Error) (int, error) {
	body := appendError(nil, e)
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		e.Status, http.StatusText(e.Status), typeJSON[0], len(body), body)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ReadFrom lets files go out as the connection itself can send them.
func (c *envelopeConn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// CloseWrite lets the server end its side first, so that a client which still sends gets to read the answer.
func (c *envelopeConn) CloseWrite() error {
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
