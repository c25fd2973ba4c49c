package gateway

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"lectern/internal/budget"
	"lectern/internal/etag"
	"lectern/shadowcrud/rest"
)

// leastCompressed is the length from which answers are compressed. Shorter ones fit into one packet.
const leastCompressed = 1024

var (
	varyByEncoding       = []string{"Origin, Accept-Encoding"}
	varyByCallerEncoding = []string{"Origin, Authorization, Accept-Encoding"}
)

// plainConditions changes the conditions of a request to those on answers that are not compressed, since both change together. It returns
// the header If-None-Match as it was sent if that names a compressed answer.
func plainConditions(h http.Header) (sent string) {
	for _, name := range [...]string{"If-None-Match", "If-Match"} {
		for i, tags := range h[name] {
			plain := etag.Plain(tags)
			if h[name][i] = plain; plain != tags && name == "If-None-Match" {
				sent += tags
			}
		}
	}
	return sent
}

// compressorBytes is the memory of a compressor. An answer uses one until the client has read it.
const compressorBytes = 1 << 20

// A compressorKey is the context key of the memory for the compressor of an answer, a *budget.Reservation.
type compressorKey struct{}

// compressing returns a handler that calls h and compresses answers for clients that accept that. If there is no memory for a compressor,
// the answer is not compressed.
func compressing(h http.HandlerFunc, memory *budget.Budget) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.ContentTypeFilter(isCompressible), gzhttp.SuffixETag(etag.Suffixes[0]))
	if err != nil {
		return nil, fmt.Errorf("compression of answers: %w", err)
	}
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		compressor, _ := r.Context().Value(compressorKey{}).(*budget.Reservation)
		h(&varyingWriter{ResponseWriter: w, known: plainConditions(r.Header), compressor: compressor}, r)
	})
	compressed := wrap(plain)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["Accept-Encoding"] == nil || prefersEvents(r) { // a stream of events would keep its compressor for hours
			plain(w, r)
			return
		}
		compressor := memory.Reservation()
		defer compressor.Release()
		compressed(w, r.WithContext(context.WithValue(r.Context(), compressorKey{}, &compressor)))
	}), nil
}

// A varyingWriter sets the header Vary of answers that may be compressed. gzhttp would set it in all answers, and before Server.serve
// replaces it.
type varyingWriter struct {
	http.ResponseWriter
	known string // see plainConditions
	begun bool
	// compressor gets the memory for compressing when an answer begins that may be compressed: requests that wait for their bodies or for changes, and files,
	// need none. It is nil if the client does not accept compressed answers.
	compressor *budget.Reservation
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
	if status == http.StatusNotModified {
		w.nameCompressed(h)
		return
	}
	if status == http.StatusNoContent || !mayBeCompressed(h) {
		if w.compressor == nil {
			delete(h, gzhttp.HeaderNoCompression) // which gzhttp removes otherwise
		}
		return
	}
	if w.compressor != nil && w.compressor.Grow(compressorBytes) != nil {
		h[gzhttp.HeaderNoCompression] = []string{"1"}
	}
	switch vary := h["Vary"]; {
	case slices.Equal(vary, varyByOrigin):
		h["Vary"] = varyByEncoding
	case slices.Equal(vary, varyByCaller):
		h["Vary"] = varyByCallerEncoding
	case slices.Equal(vary, rest.VaryTagged):
		h["Vary"] = rest.VaryTaggedEncoding
	default:
		h.Add("Vary", "Accept-Encoding")
	}
}

// nameCompressed gives an answer 304 the ETag of the compressed answer if that is the one that the client has.
func (w *varyingWriter) nameCompressed(h http.Header) {
	if w.known == "" {
		return
	}
	for _, suffix := range etag.Suffixes {
		if tag := strings.TrimSuffix(h.Get("Etag"), `"`) + suffix + `"`; strings.Contains(w.known, tag) {
			h["Etag"] = []string{tag}
			return
		}
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
