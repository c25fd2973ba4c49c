package server

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

	"lectern/internal/accept"
	"lectern/internal/budget"
	"lectern/internal/etag"
	"lectern/shadowcrud/rest"
)

// leastCompressed is the length from which answers are compressed. Shorter ones fit into one packet.
const leastCompressed = 1024

var (
	varyByEncoding       = []string{"Origin, Accept-Encoding"}
	VaryByCallerEncoding = []string{"Origin, Authorization, Accept-Encoding"}
)

// plainConditions changes the conditions of a request to those on answers that are not compressed, since both change
// together. It returns the header If-None-Match as it was sent if that names a compressed answer.
//
// In a read, the tags of encodings that its client does not accept stay as they are, and so match nothing. A shared
// cache may send the tags of all copies that it has: a 304 for one of them would have it serve bytes that this client
// cannot read.
func plainConditions(r *http.Request) (sent string) {
	for i, tags := range r.Header["If-Match"] {
		r.Header["If-Match"][i] = etag.Plain(tags, etag.Suffixes)
	}
	known := r.Header["If-None-Match"]
	if len(known) == 0 {
		return ""
	}
	suffixes := etag.Suffixes
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		suffixes = acceptedSuffixes(strings.Join(r.Header["Accept-Encoding"], ","))
	}
	for i, tags := range known {
		if known[i] = etag.Plain(tags, suffixes); known[i] != tags {
			sent += tags
		}
	}
	return sent
}

// acceptedSuffixes returns those of etag.Suffixes whose encoding a header Accept-Encoding names and accepts.
func acceptedSuffixes(header string) (accepted []string) {
	for _, suffix := range etag.Suffixes {
		if q, _ := accept.Quality(header, suffix[1:]); q > 0 {
			accepted = append(accepted, suffix)
		}
	}
	return accepted
}

// compressorBytes is the memory of a compressor. An answer uses one until the client has read it.
const compressorBytes = 1 << 20

// A compressionKey is the context key of a *compression.
type compressionKey struct{}

// A compression is what an answer to a client that accepts compressed ones needs.
type compression struct {
	// memory is for the compressor. It is reserved when an answer begins that may be compressed: requests that wait for
	// their bodies or for changes, and files, need none.
	memory budget.Reservation
	head   *headWriter // of an answer to HEAD; nil for other answers
}

// compressing returns a handler that calls h and compresses answers for clients that accept that. If there is no memory
// for a compressor, the answer is not compressed.
func compressing(h http.HandlerFunc, memory *budget.Budget) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.ContentTypeFilter(isCompressible),
		gzhttp.SuffixETag(etag.Suffixes[0]))
	if err != nil {
		return nil, fmt.Errorf("compression of answers: %w", err)
	}
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(compressionKey{}).(*compression)
		if c != nil && c.head != nil {
			r.Method = http.MethodHead
		}
		h(&varyingWriter{ResponseWriter: w, known: plainConditions(r), compression: c}, r)
	})
	compressed := wrap(plain)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["Accept-Encoding"] == nil || accept.PrefersEvents(r.Header["Accept"]) {
			plain(w, r) // a stream of events would keep its compressor for hours
			return
		}
		withoutFalseZstd(r)
		c := &compression{memory: memory.Reservation()}
		defer c.memory.Release()
		r = r.WithContext(context.WithValue(r.Context(), compressionKey{}, c))
		if r.Method == http.MethodHead { // gzhttp would compress no answer, and the header of GET would be another one
			c.head = &headWriter{ResponseWriter: w}
			w, r.Method = c.head, http.MethodGet
		}
		compressed(w, r)
	}), nil
}

// withoutFalseZstd takes zstd from the encodings that a request accepts if its client may be unable to read it. The
// fetch of @whatwg-node, by which GraphQL Code Generator and other tools load a schema, asks for zstd under every
// Node.js, and ends its process when it gets zstd under one before 22.15. It calls itself "node", as other clients do
// that do not ask for zstd at all.
func withoutFalseZstd(r *http.Request) {
	if r.UserAgent() != "node" {
		return
	}
	for i, accepted := range r.Header["Accept-Encoding"] {
		encodings := slices.DeleteFunc(strings.Split(accepted, ","), func(e string) bool {
			name, _, _ := strings.Cut(e, ";")
			return strings.EqualFold(strings.TrimSpace(name), "zstd")
		})
		r.Header["Accept-Encoding"][i] = strings.Join(encodings, ",")
	}
}

// A headWriter drops the compressed body of an answer to HEAD. The server would drop it too, but may take its length
// for that of the answer to GET: varyingWriter compresses no more than what decides the header. A body without
// compression goes to the server, which may learn its length from it.
type headWriter struct {
	http.ResponseWriter
	mayCompress bool // the answer is compressed if it has a Content-Encoding
}

// compresses reports whether gzhttp compresses the body. It returns false until gzhttp has decided, which takes
// leastCompressed bytes of the body.
func (w *headWriter) compresses() bool { return w.mayCompress && w.Header()["Content-Encoding"] != nil }

func (w *headWriter) Write(p []byte) (int, error) {
	if w.compresses() {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher. It has no effect if the connection cannot flush.
func (w *headWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush() // an error means that the connection cannot flush
}

// Unwrap lets http.ResponseController reach the connection.
func (w *headWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A varyingWriter prepares answers that may be compressed, when they begin: it sets their header Vary, and reserves
// memory for the compressor. gzhttp would set Vary in all answers, and before Server.serve replaces it. It also gives a
// 304 the ETag of the compressed answer, and passes on only so much of an answer to HEAD as decides whether gzhttp
// compresses it.
type varyingWriter struct {
	http.ResponseWriter
	known       string // see plainConditions
	begun       bool
	compression *compression // nil if the client does not accept compressed answers
}

func (w *varyingWriter) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *varyingWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	if w.compression == nil || w.compression.head == nil {
		return w.ResponseWriter.Write(p)
	}
	first := min(len(p), leastCompressed)
	for _, part := range [...][]byte{p[:first], p[first:]} {
		if len(part) > 0 && !w.compression.head.compresses() {
			if _, err := w.ResponseWriter.Write(part); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
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
	maybe := mayBeCompressed(h)
	if w.compression == nil {
		delete(h, gzhttp.HeaderNoCompression) // which gzhttp removes otherwise
	}
	switch {
	case status == http.StatusNotModified:
		w.nameCompressed(h)
		return
	case status == http.StatusNoContent || !maybe:
		return
	}
	if c := w.compression; c != nil {
		if c.head != nil {
			c.head.mayCompress = true
		}
		if c.memory.Grow(compressorBytes) != nil {
			h[gzhttp.HeaderNoCompression] = []string{"1"}
		}
	}
	vary := h["Vary"]
	delete(h, "Vary") // a map of eight headers would grow before it replaces one; see protection
	switch {
	case slices.Equal(vary, varyByOrigin):
		h["Vary"] = varyByEncoding
	case slices.Equal(vary, varyByCaller):
		h["Vary"] = VaryByCallerEncoding
	case slices.Equal(vary, rest.VaryTagged):
		h["Vary"] = rest.VaryTaggedEncoding
	default:
		h["Vary"] = append(slices.Clip(vary), "Accept-Encoding")
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

// mayBeCompressed reports whether an answer with these headers is compressed for clients that accept that. An answer
// without a length may turn out to be long.
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

// isCompressible reports whether answers with this header Content-Type are compressed. Events are not: each must arrive
// at once.
func isCompressible(kind string) bool {
	return kind == JSON[0] || !strings.HasPrefix(kind, accept.Events) && gzhttp.DefaultContentTypeFilter(kind)
}
