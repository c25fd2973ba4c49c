package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"lectern/budget"
	"lectern/documents"
	"lectern/media"
	"lectern/store"
)

// A request that meets a change of definitions has done nothing yet when the store tells it so (store.ErrRedefined): it is
// answered by what serves then, from the beginning, who asks and what he may do included. What was read of its body is kept
// for that.

// mostAgain bounds how often a request is answered again.
const mostAgain = 20

// againKey is under which the context of a request knows how often it was answered again: an int.
type againKey struct{}

// isAgain reports whether a request is not answered for the first time.
func isAgain(ctx context.Context) bool { return ctx.Value(againKey{}) != nil }

// answerAgain has a request answered by what replaces the handlers that it met.
func (c *call) answerAgain(w http.ResponseWriter, r *http.Request, kept *keptBody) {
	s := c.handlers.server
	times, _ := r.Context().Value(againKey{}).(int)
	if times == mostAgain || kept != nil && !kept.rewind() {
		s.fail(w, r, store.ErrRedefined)
		return
	}
	late := time.NewTimer(s.limits.Handle)
	defer late.Stop()
	select {
	case <-c.handlers.replaced:
	case <-r.Context().Done():
		writeError(w, errTooLong(s.limits.Handle))
		return
	case <-late.C:
		writeError(w, errTooLong(s.limits.Handle))
		return
	}
	again := r.WithContext(context.WithValue(r.Context(), againKey{}, times+1))
	if kept != nil {
		again.Body = kept
	}
	s.serving.Load().serve(w, again)
}

// calledAnew keeps a handler of a program from being called again when it has begun to answer.
func calledAnew(handle func(http.ResponseWriter, *http.Request, *documents.Access) error) func(http.ResponseWriter, *http.Request, *documents.Access) error {
	return func(w http.ResponseWriter, r *http.Request, access *documents.Access) error {
		seen := &loggedWriter{ResponseWriter: w}
		err := handle(seen, r, access)
		if seen.status != 0 && errors.Is(err, store.ErrRedefined) {
			return fmt.Errorf("after the answer was begun: %s", err)
		}
		return err
	}
}

// A keptBody keeps what was read of a body: all of it as one text, or the form that it holds, or its beginning as it came.
type keptBody struct {
	io.ReadCloser

	whole  bool // text is all of it, inflated
	text   []byte
	memory budget.Reservation // of text
	form   *media.Form

	begun []byte // what was read, if it was not too much
	at    int    // how much of that was read again
	lost  bool   // it was too much
}

// mostBegun is how much is kept of a body that is read as it comes.
const mostBegun = 1 << 20

// Read implements io.Reader: for handlers of a program's own, which read bodies themselves.
func (k *keptBody) Read(b []byte) (int, error) {
	if k.at < len(k.begun) {
		n := copy(b, k.begun[k.at:])
		k.at += n
		return n, nil
	}
	n, err := k.ReadCloser.Read(b)
	if k.lost = k.lost || len(k.begun)+n > mostBegun; !k.lost {
		k.begun = append(k.begun, b[:n]...)
		k.at = len(k.begun)
	}
	return n, err
}

// unread is what to read all of a body from, of which this keeps the outcome; body is what the request has.
func (k *keptBody) unread(body io.Reader) io.Reader {
	if body != k || len(k.begun) > 0 {
		return body
	}
	return k.ReadCloser
}

// rewind makes what was read be read again. It reports false when it is not there any more.
func (k *keptBody) rewind() bool {
	k.at = 0
	return !k.lost
}

// discard lets go of what a request leaves.
func (k *keptBody) discard() {
	k.memory.Release()
	if k.form != nil {
		k.form.Close()
	}
}

// A passingBody is a body that is too much to keep. The form that is read of it is kept.
type passingBody struct {
	io.ReadCloser
	kept *keptBody // may be nil
}

// passing returns what reads a body without keeping it, unless something was read of it already.
func passing(body io.ReadCloser) *passingBody {
	p := &passingBody{ReadCloser: body, kept: keptBodyOf(body)}
	if p.kept != nil && len(p.kept.begun) == 0 {
		p.ReadCloser = p.kept.ReadCloser
	}
	return p
}

// keptBodyOf is what keeps a body; nil where nothing does.
func keptBodyOf(body io.Reader) *keptBody {
	switch b := body.(type) {
	case *keptBody:
		return b
	case *passingBody:
		return b.kept
	}
	return nil
}
