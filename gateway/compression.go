package gateway

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzhttp"

	"lectern/internal/budget"
)

// leastCompressed is the length from which an answer is compressed. A shorter one fits into one packet as it is.
const leastCompressed = 1024

var varyByEncoding = []string{"Origin, Accept-Encoding"}

// compressorBytes is what a compressor takes while an answer goes through it, which is until a slow client has taken it.
const compressorBytes = 1 << 20

// compressing returns a handler that answers as h does, compressed for clients that take it so. Where others have reserved the
// memory that a compressor takes, answers are sent as they are.
func compressing(h http.HandlerFunc, memory *budget.Budget) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed))
	if err != nil {
		return nil, fmt.Errorf("compression of answers: %w", err)
	}
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(&varyingWriter{ResponseWriter: w}, r) })
	compressed := wrap(plain)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["Accept-Encoding"] == nil { // as scripts ask
			plain(w, r)
			return
		}
		compressor := memory.Reservation()
		if compressor.Grow(compressorBytes) != nil {
			plain(w, r)
			return
		}
		defer compressor.Release()
		compressed(w, r)
	}), nil
}

// A varyingWriter tells caches of the answers that come in several encodings: gzhttp says it of all answers, and before
// Server.serve sets the headers that they have.
type varyingWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *varyingWriter) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *varyingWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, as far as the connection does.
func (w *varyingWriter) Flush() {
	w.begin(http.StatusOK)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // one that cannot is none to wait for
}

// Hijack implements http.Hijacker.
func (w *varyingWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *varyingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *varyingWriter) begin(status int) {
	if w.begun || status < http.StatusOK {
		return
	}
	w.begun = true
	h := w.Header()
	if status == http.StatusNoContent || status == http.StatusNotModified || !mayBeCompressed(h) {
		return
	}
	if slices.Equal(h["Vary"], varyByOrigin) {
		h["Vary"] = varyByEncoding
	} else {
		h.Add("Vary", "Accept-Encoding")
	}
}

// mayBeCompressed reports whether a client's word decides how an answer with these headers is sent. An answer that does not
// tell its length may turn out to be long.
func mayBeCompressed(h http.Header) bool {
	if h[gzhttp.HeaderNoCompression] != nil || h["Content-Encoding"] != nil || h["Content-Range"] != nil {
		return false
	}
	if length := h["Content-Length"]; len(length) == 1 {
		if n, err := strconv.Atoi(length[0]); err == nil && n < leastCompressed {
			return false
		}
	}
	kind := h.Get("Content-Type")
	return kind == typeJSON[0] || gzhttp.DefaultContentTypeFilter(kind)
}
