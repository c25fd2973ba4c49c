package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"lectern/internal/budget"
	"lectern/media"
	"lectern/store"
)

// When the definitions change during a request, the store returns store.ErrRedefined before it has done anything. The
// request is then retried from authentication on, by the handlers of the new definitions. The part of its body that was
// read is kept for that.

// maxRetries is how often a request is retried before it fails.
const maxRetries = 20

// retryKey is the context key of the number of retries of a request, an int.
type retryKey struct{}

// IsRetry reports whether a request is a retry.
func IsRetry(ctx context.Context) bool { return ctx.Value(retryKey{}) != nil }

// retry waits for the new handlers, which then answer the request.
func (h *handlers) retry(w http.ResponseWriter, r *http.Request, kept *replayableBody) {
	s := h.server
	times, _ := r.Context().Value(retryKey{}).(int)
	if times == maxRetries || kept != nil && !kept.rewind() {
		s.fail(w, r, store.ErrRedefined)
		return
	}
	late := time.NewTimer(s.limits.Handle)
	defer late.Stop()
	select {
	case <-h.replaced:
	case <-r.Context().Done():
		WriteError(w, r, errTooLong(s.limits.Handle))
		return
	case <-late.C:
		WriteError(w, r, errTooLong(s.limits.Handle))
		return
	}
	again := r.WithContext(context.WithValue(r.Context(), retryKey{}, times+1))
	if kept != nil {
		kept.parsed.Release() // it is parsed again
		again.Body = kept
	}
	s.serving.Load().serve(w, again)
}

// A replayableBody is a request body that a retry can read again. It keeps what was read: the whole body as one text,
// the form parsed from it, or its first bytes as they came.
type replayableBody struct {
	io.ReadCloser
	client clientBody // is a ReadCloser if the body arrives over a known connection

	whole  bool // text is the whole body, decompressed
	text   []byte
	memory budget.Reservation // of text
	parsed budget.Tally       // of what text was parsed to
	form   *media.Form

	begun []byte // the first bytes of the body, as they were read
	at    int    // how many of them were read again
	lost  bool   // more than maxReplayed bytes were read, so that they cannot be read again
}

// maxReplayed is how many bytes are kept of a body that a handler reads as a stream.
const maxReplayed = 1 << 20

// Read implements io.Reader for the handlers of extensions, which read bodies as streams.
func (k *replayableBody) Read(b []byte) (int, error) {
	if k.at < len(k.begun) {
		n := copy(b, k.begun[k.at:])
		k.at += n
		return n, nil
	}
	n, err := k.ReadCloser.Read(b)
	if k.lost = k.lost || len(k.begun)+n > maxReplayed; !k.lost {
		k.begun = append(k.begun, b[:n]...)
		k.at = len(k.begun)
	}
	return n, err
}

// unread returns the reader for a whole body whose text is kept. body is the body of the request. If nothing was read
// from it and no middleware has wrapped it, the result is the body as it was sent, so that its bytes are not kept
// twice.
func (k *replayableBody) unread(body io.Reader) io.Reader {
	if body != k || len(k.begun) > 0 {
		return body
	}
	return k.ReadCloser
}

// rewind lets the next read begin at the first byte. It returns false if the first bytes were not kept.
func (k *replayableBody) rewind() bool {
	k.at = 0
	return !k.lost
}

// forget drops what was read and gives back its memory. The body cannot be read again.
func (k *replayableBody) forget() {
	k.discard()
	k.text, k.begun, k.lost = nil, nil, true
}

// discard frees the memory and files of the body.
func (k *replayableBody) discard() {
	k.memory.Release()
	k.parsed.Release()
	if k.form != nil {
		k.form.Close()
	}
}

// A streamedBody is a body whose bytes are not kept because it may be large, such as an upload. The form parsed from it
// is kept.
type streamedBody struct {
	io.ReadCloser
	kept *replayableBody // keeps the form; may be nil
}

// streamed returns a body whose bytes are not kept for a retry. If some have been read already, the replayable body
// keeps the rest too.
func streamed(body io.ReadCloser) io.ReadCloser {
	p := &streamedBody{ReadCloser: body, kept: replayableBodyOf(body)}
	if p.kept != nil && len(p.kept.begun) == 0 {
		p.ReadCloser = p.kept.ReadCloser
	}
	return p
}

// replayableBodyOf returns the replayableBody behind a request's body, or nil.
func replayableBodyOf(body io.Reader) *replayableBody {
	switch b := body.(type) {
	case *replayableBody:
		return b
	case *streamedBody:
		return b.kept
	}
	return nil
}

// Unread returns a request whose body can be read as a stream from its first byte on, also if it was read before by a
// try that was given up. ok is false if that cannot be: the body was read as a form, whose files are on disk by now.
func Unread(r *http.Request) (_ *http.Request, ok bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	kept := replayableBodyOf(r.Body)
	switch {
	case kept == nil || !kept.whole && kept.form == nil:
		r.Body = streamed(r.Body)
		return r, true
	case !kept.whole:
		return nil, false
	}
	return WithBody(r, kept.text), true
}

// WithBody returns a copy of a request with another body, which is not compressed.
func WithBody(r *http.Request, text []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Content-Encoding")
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
	return r
}
