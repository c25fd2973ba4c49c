package gateway

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/internal/admission"
	"lectern/store"
)

// listen answers a client that waits for changes.
func (f *changeFeed) listen(w http.ResponseWriter, r *http.Request, who auth.Principal, p *changesParams, since changes.Position) error {
	share, err := f.generation.project.newListener(w, r)
	if err != nil {
		return err
	}
	release := func() { share.Release(); share.Close() }
	as := &http.Request{Header: http.Header{"Authorization": r.Header["Authorization"]}}
	l := &changeListener{share: share, as: as, params: p, since: since, told: since, beatAt: time.Now().Add(p.heartbeat)}
	if p.feed == longFeed {
		defer release()
		return f.poll(w, r, who, l)
	}
	h := w.Header()
	h["Content-Type"] = []string{"text/event-stream; charset=utf-8"}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx passes events on at once
	if r.ProtoMajor == 1 {
		if conn, err := takeConn(w); err == nil {
			l.conn = conn
			f.generation.project.hub.add(l)
			return nil
		}
	}
	defer release()
	return f.stream(w, r, l)
}

// newListener counts a client that will wait for changes, or returns an error if too many do. The caller releases and closes the share when
// the client no longer waits.
func (p *Project) newListener(w http.ResponseWriter, r *http.Request) (*admission.Share, error) {
	share := p.listeners.Share(admission.ClientOf(r.Context()))
	if err := share.TryAcquire(); err != nil {
		share.Close()
		w.Header()["Retry-After"] = retrySoon
		limits := p.listeners.Limits()
		return nil, &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", NoDetails: true, Reason: apierror.Places,
			Message: fmt.Sprintf("too many clients wait for changes (limits.listeners: %d, limits.listenersPerAddress: %d), try again", limits.Places, limits.Share)}
	}
	return share, nil
}

// takeConn takes the connection of a request from net/http, after it has begun an answer that lasts as long as the connection.
func takeConn(w http.ResponseWriter) (net.Conn, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if o := observationOf(w); o != nil {
		o.hijacked, o.status = false, http.StatusOK
	}
	head := listenerHead{}
	head.text = append(head.text, "HTTP/1.1 200 OK\r\nConnection: close\r\n"...)
	_ = w.Header().Write(&head) // into memory
	head.text = append(head.text, "\r\n:\n\n"...)
	_ = conn.SetWriteDeadline(time.Now().Add(hubTick)) // it fits any buffer
	if _, err := conn.Write(head.text); err != nil {
		return conn, nil // the hub meets the error too
	}
	return conn, nil
}

// A listenerHead collects the head of an answer.
type listenerHead struct{ text []byte }

func (h *listenerHead) Write(p []byte) (int, error) {
	h.text = append(h.text, p...)
	return len(p), nil
}

// wait waits for a commit, without the place of the request. It returns an error when the listener must end.
func (f *changeFeed) wait(r *http.Request, committed <-chan struct{}, until time.Time) (late bool, err error) {
	c := connOf(r)
	if c != nil && c.waitForClient() {
		defer func() {
			if err == nil {
				err = c.workAgain(r.Context())
			}
		}()
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-committed:
		return false, nil
	case <-timer.C:
		return true, nil
	case <-f.generation.replaced:
		return false, store.ErrRedefined
	case <-f.generation.project.stopping():
		return false, errStopping
	case <-r.Context().Done():
		return false, r.Context().Err()
	}
}

// poll answers with the changes that there are, or waits until there are some.
func (f *changeFeed) poll(w http.ResponseWriter, r *http.Request, who auth.Principal, l *changeListener) error {
	until := time.Now().Add(l.params.timeout)
	for late := false; ; {
		committed := f.generation.store.NextCommit()
		answered, err := f.answerIf(w, r, who, l, late)
		if answered || err != nil {
			return err
		}
		if late, err = f.wait(r, committed, until); err == nil {
			who, err = f.authenticate(l.as)
		}
		if err != nil {
			return err
		}
	}
}

// stream sends events over a connection that belongs to net/http, as one of HTTP/2 always does.
func (f *changeFeed) stream(w http.ResponseWriter, r *http.Request, l *changeListener) error {
	control := controlOf(r.Context(), w)
	send := func(text []byte) error {
		if err := f.limits.send(r.Context(), w, text); err != nil {
			return err
		}
		return control.Flush()
	}
	if err := send([]byte(":\n\n")); err != nil {
		return nil // the client is gone
	}
	for {
		committed := f.generation.store.NextCommit()
		who, err := f.authenticate(l.as)
		more := err == nil
		for more && err == nil {
			more, err = f.events(r.Context(), who, l, send)
		}
		if err == nil {
			_ = control.SetWriteDeadline(time.Time{}) // nothing is written for a while
			_, err = f.wait(r, committed, l.beatAt)
		}
		if err != nil {
			return nil // the answer has begun: it ends, and the client comes again
		}
	}
}
