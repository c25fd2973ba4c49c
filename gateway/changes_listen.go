package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"lectern/auth"
	"lectern/documents/changes"
	"lectern/gateway/internal/paced"
	"lectern/store"
)

// listen answers a client that waits for changes.
func (f *changeFeed) listen(w http.ResponseWriter, r *http.Request, who auth.Principal, p *changesParams, since changes.Position) error {
	d := &feedDelivery{as: &http.Request{Header: cloneHeaders(r.Header, "Authorization")}, params: p.compact()}
	kept := d.bytes()
	if p.feed == longFeed {
		kept += requestBytes(r)
	}
	place, err := f.generation.project.newListener(w, r, 0, kept)
	if err != nil {
		return err
	}
	if p.feed == longFeed {
		defer place.leave()
		return f.poll(w, r, who, d, since)
	}
	return f.generation.project.serveListener(w, r, newChangeListener(place, d, since, p.heartbeat))
}

// serveListener answers a request with a stream of events, for as long as the client listens. In the end it gives back the listener's place.
func (p *Project) serveListener(w http.ResponseWriter, r *http.Request, l *changeListener) error {
	setEventHeaders(w.Header())
	if r.ProtoMajor == 1 {
		if conn, err := takeConn(w, r); err == nil {
			l.conn = conn
			p.hub.add(l)
			return nil
		}
	}
	defer l.close()
	if body := replayableBodyOf(r.Body); body != nil {
		body.forget()
	}
	return p.stream(w, r, l)
}

// takeConn takes the connection of a request from net/http, after it has begun an answer that lasts as long as the connection.
func takeConn(w http.ResponseWriter, r *http.Request) (net.Conn, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if c := connOf(r); c != nil {
		c.delays = false
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

// wait waits for a commit, without the place of the request. It returns an error when the listener must end, and store.ErrRedefined when
// other definitions are served.
func (f *changeFeed) wait(r *http.Request, committed <-chan struct{}, until time.Time) (late bool, err error) {
	c := connOf(r)
	if c != nil && c.waitForClient() {
		defer func() {
			if err == nil || errors.Is(err, store.ErrRedefined) {
				err = cmp.Or(c.workAgain(r.Context()), err)
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
func (f *changeFeed) poll(w http.ResponseWriter, r *http.Request, who auth.Principal, d *feedDelivery, since changes.Position) error {
	until := time.Now().Add(d.params.timeout)
	for late := false; ; {
		committed := f.generation.store.NextCommit()
		answered, err := f.answerIf(w, r, who, d.params, &since, late)
		if answered || err != nil {
			return err
		}
		if late, err = f.wait(r, committed, until); err == nil {
			who, err = f.authenticate(d.as)
		}
		if err != nil {
			return err
		}
	}
}

// A feedDelivery delivers events of the change feed.
type feedDelivery struct {
	as     *http.Request // carries the credential, and nothing else of the request
	params *changesParams
}

// bytes returns how many bytes the delivery keeps.
func (d *feedDelivery) bytes() int { return headersBytes(d.as.Header) + d.params.bytes() }

// deliver implements delivery.
func (d *feedDelivery) deliver(ctx context.Context, f *changeFeed, l *changeListener, send func([]byte) error) (more bool, err error) {
	who, err := f.authenticate(d.as)
	if err != nil {
		return false, err
	}
	codec := f.codecs.Get().(*changes.Codec)
	defer f.codecs.Put(codec)
	q, err := f.queryAfter(l.since, d.params, who, codec)
	if err != nil {
		return false, err
	}
	err = f.rest.Changes(ctx, *q, f.generation.answers, func(page changes.Page, text []byte) error {
		l.since, more = page.Next, page.Pending > 0
		if len(text) == 0 {
			return nil
		}
		l.told = l.since
		return send(text)
	})
	return more, err
}

// recheckAfter is how long after a commit a stream authenticates its client once more: tokens and roles are read anew a moment after the
// commit that changes them.
const recheckAfter = time.Second

// stream serves a listener over a connection that belongs to net/http, as one of HTTP/2 always does.
func (p *Project) stream(w http.ResponseWriter, r *http.Request, l *changeListener) error {
	feed := p.servingFeed()
	control := controlOf(r.Context(), w)
	_ = control.SetReadDeadline(time.Time{}) // net/http reads on, to notice that the client is gone
	to := paced.NewWriter(w, control, feed.limits.AnswerRate)
	send := func(text []byte) error {
		_, err := to.Write(text)
		if err == nil {
			err = control.Flush()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", net.ErrClosed, err)
		}
		return nil
	}
	if err := send(emptyComment); err != nil {
		return nil // the client is gone
	}
	for late := true; ; feed = p.servingFeed() {
		committed := feed.generation.store.NextCommit()
		var err error
		for more := true; more && err == nil; {
			more, err = l.tell(r.Context(), feed, send)
		}
		if err == nil || errors.Is(err, store.ErrRedefined) {
			_ = control.SetWriteDeadline(time.Time{}) // nothing is written for a while
			until := l.beatAt
			if soon := time.Now().Add(recheckAfter); !late && soon.Before(until) {
				until = soon
			}
			late, err = feed.wait(r, committed, until)
		}
		if err != nil && !errors.Is(err, store.ErrRedefined) {
			p.hub.logFailure(err)
			return nil // the answer has begun: it ends, and the client comes again
		}
	}
}

// servingFeed returns the change feed of the generation that serves now.
func (p *Project) servingFeed() *changeFeed { return p.server.Load().serving.Load().rt.feed }
