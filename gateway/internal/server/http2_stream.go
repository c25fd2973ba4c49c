package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// A stream is a request of HTTP/2 and its answer. Many streams share a connection, so a stream takes the part that the
// connection has for a request of HTTP/1: it has deadlines of its own, and holds a place of its own.
type stream struct {
	net.Conn // nil: only the deadlines are used
	control  *http.ResponseController
}

// SetReadDeadline implements net.Conn for the body of the request.
func (s stream) SetReadDeadline(t time.Time) error { return s.control.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn for the answer.
func (s stream) SetWriteDeadline(t time.Time) error { return s.control.SetWriteDeadline(t) }

// serveStream answers a request. It gives a request of HTTP/2 a conn of its own.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	var over *conn
	if r.ProtoMajor >= 2 {
		over = connOf(r)
	}
	if over == nil {
		s.handler.ServeHTTP(w, r)
		return
	}
	c := &conn{
		Conn:     stream{control: http.NewResponseController(w)},
		listener: over.listener, client: over.client, proxied: over.proxied, isTLS: true,
	}
	c.ownPlace.conn, c.ownPlace.share = c, s.places.Share(c.client)
	defer c.ownPlace.share.Close()
	s.handler.ServeHTTP(&streamWriter{w, c}, r.WithContext(context.WithValue(r.Context(), connKey{}, c)))
}

// A streamWriter writes the answer of a stream. The request gives up its place when the answer begins, since sending it
// may have to wait for the client.
type streamWriter struct {
	http.ResponseWriter
	conn *conn
}

// Write implements http.ResponseWriter.
func (w *streamWriter) Write(p []byte) (int, error) {
	w.conn.waitForClient()
	return w.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom.
func (w *streamWriter) ReadFrom(r io.Reader) (int64, error) {
	w.conn.waitForClient()
	return io.Copy(w.ResponseWriter, r)
}

// Flush implements http.Flusher, since compression flushes nothing else. It has no effect if the stream cannot flush.
func (w *streamWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush() // an error means that the stream cannot flush
}

// Unwrap lets http.ResponseController reach the stream.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
