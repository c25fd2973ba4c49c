package gateway

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"lectern/internal/budget"
)

// leastCompressed is the length from which answers are compressed. Shorter ones fit into one packet.
const leastCompressed = 1024

var varyByEncoding = []string{"Origin, Accept-Encoding"}

// compressorBytes is the memory of a compressor. An answer uses one until the client has read it.
const compressorBytes = 1 << 20

// compressing returns a handler that calls h and compresses answers for clients that accept that. If there is no memory for a compressor,
// the answer is not compressed.
func compressing(h http.HandlerFunc, memory *budget.Budget) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.ContentTypeFilter(isCompressible))
	if err != nil {
		return nil, fmt.Errorf("compression of answers: %w", err)
	}
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(&varyingWriter{ResponseWriter: w}, r) })
	compressed := wrap(plain)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["Accept-Encoding"] == nil || prefersEvents(r) { // a stream of events would keep its compressor for hours
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

// A varyingWriter sets the header Vary of answers that may be compressed. gzhttp would set it in all answers, and before Server.serve
// replaces it.
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

// Flush implements http.Flusher. It has no effect if the connection cannot flush.
func (w *varyingWriter) Flush() {
	w.begin(http.StatusOK)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // an error means that the connection cannot flush
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

// mayBeCompressed reports whether an answer with these headers is compressed for clients that accept that. An answer without a length may
// turn out to be long.
func mayBeCompressed(h http.Header) bool {
	if h[gzhttp.HeaderNoCompression] != nil || h["Content-Encoding"] != nil || h["Content-Range"] != nil {
		return false
	}
	if length := h["Content-Length"]; len(length) == 1 {
		if n, err := strconv.Atoi(length[0]); err == nil && n < leastCompressed {
			return false
		}
	}
	return isCompressible(h.Get("Content-Type"))
}

// isCompressible reports whether answers with this header Content-Type are compressed. Events are not: each must arrive at once.
func isCompressible(kind string) bool {
	return kind == typeJSON[0] || !strings.HasPrefix(kind, eventStreamType) && gzhttp.DefaultContentTypeFilter(kind)
}
