package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"lectern/auth"
	"lectern/documents/changes"
	"lectern/gateway/internal/paced"
	"lectern/gateway/internal/server"
	"lectern/internal/budget"
	"lectern/store"
)

// wait answers a client that waits for changes.
func (f *Feed) wait(w http.ResponseWriter, r *http.Request, who auth.Principal, p *params,
	since changes.Position) error {
	d := &delivery{as: &http.Request{Header: CloneHeaders(r.Header, "Authorization")}, params: p.compact()}
	kept := d.bytes()
	if p.kind == longPoll {
		kept += requestBytes(r)
	}
	place, err := f.Subscribers.Admit(w, r, 0, kept)
	if err != nil {
		return err
	}
	if p.kind == longPoll {
		defer place.Leave()
		return f.poll(w, r, who, d, since)
	}
	return f.Subscribers.Serve(w, r, NewSubscriber(place, d, since, p.heartbeat))
}

// Serve answers a request with a stream of events, for as long as the client listens. In the end it gives back the
// place of the subscriber.
func (s *Subscribers) Serve(w http.ResponseWriter, r *http.Request, to *Subscriber) error {
	SetEventHeaders(w.Header())
	if r.ProtoMajor == 1 {
		if conn, err := take(w, r); err == nil {
			to.conn = conn
			s.add(to)
			return nil
		}
	}
	defer to.close()
	server.ForgetBody(r)
	return s.stream(w, r, to)
}

// take takes the connection of a request from net/http, after it has begun an answer that lasts as long as the
// connection.
func take(w http.ResponseWriter, r *http.Request) (net.Conn, error) {
	conn, err := server.TakeConn(w, r)
	if err != nil {
		return nil, err
	}
	head := bytes.NewBufferString("HTTP/1.1 200 OK\r\nConnection: close\r\n")
	_ = w.Header().Write(head) // into memory
	head.WriteString("\r\n")
	head.Write(emptyComment)
	_ = conn.SetWriteDeadline(time.Now().Add(tick)) // it fits any buffer
	_, _ = conn.Write(head.Bytes())                 // whoever serves the subscriber meets the error, too
	return conn, nil
}

// await waits for a commit, without the place of the request. It returns an error when the client must wait no longer,
// and store.ErrRedefined when other definitions are served.
func (f *Feed) await(r *http.Request, committed <-chan struct{}, until time.Time) (late bool, err error) {
	if back := server.LeavePlace(r); back != nil {
		defer func() {
			if err == nil || errors.Is(err, store.ErrRedefined) {
				if failed := back(r.Context()); failed != nil {
					err = failed
				}
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
	case <-f.Replaced:
		return false, store.ErrRedefined
	case <-f.Subscribers.project.Stopping():
		return false, server.ErrStopping
	case <-r.Context().Done():
		return false, r.Context().Err()
	}
}

// poll answers with the changes that there are, or waits until there are some.
func (f *Feed) poll(w http.ResponseWriter, r *http.Request, who auth.Principal, d *delivery,
	since changes.Position) error {
	until := time.Now().Add(d.params.timeout)
	for late := false; ; {
		committed := f.Store.NextCommit()
		answered, err := f.answerIf(w, r, who, d.params, &since, late)
		if answered || err != nil {
			return err
		}
		if late, err = f.await(r, committed, until); err == nil {
			who, err = f.Authenticate(d.as)
		}
		if err != nil {
			return err
		}
	}
}

// A delivery delivers events of the change feed.
type delivery struct {
	as     *http.Request // carries the credential, and nothing else of the request
	params *params
}

// bytes returns how many bytes the delivery keeps.
func (d *delivery) bytes() int { return budget.OfHeaders(d.as.Header) + d.params.bytes() }

// Deliver implements Delivery.
func (d *delivery) Deliver(ctx context.Context, f *Feed, s *Subscriber,
	send func([]byte) error) (more bool, err error) {
	who, err := f.Authenticate(d.as)
	if err != nil {
		return false, err
	}
	codec := f.Positions.codecs.Get().(*changes.Codec)
	defer f.Positions.codecs.Put(codec)
	q, err := f.queryAfter(s.Since, d.params, who, codec)
	if err != nil {
		return false, err
	}
	err = f.REST.Changes(ctx, *q, f.Answers, func(page changes.Page, text []byte) error {
		s.Since, more = page.Next, page.Pending > 0
		if len(text) == 0 {
			return nil
		}
		s.Sent = s.Since
		return send(text)
	})
	return more, err
}

// recheckAfter is how long after a commit a stream authenticates its client once more: tokens and roles are read anew
// shortly after the commit that changes them.
const recheckAfter = time.Second

// stream serves a subscriber over a connection that belongs to net/http, as one of HTTP/2 always does.
func (s *Subscribers) stream(w http.ResponseWriter, r *http.Request, to *Subscriber) error {
	feed := s.project.Feed()
	control := server.Control(r.Context(), w)
	_ = control.SetReadDeadline(time.Time{}) // net/http reads on, to notice that the client is gone
	paced := paced.NewWriter(w, control, feed.Limits.AnswerRate)
	send := func(text []byte) error {
		_, err := paced.Write(text)
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
	for late := true; ; feed = s.project.Feed() {
		committed := feed.Store.NextCommit()
		var err error
		for more := true; more && err == nil; {
			more, err = to.deliver(r.Context(), feed, send)
		}
		if err == nil || errors.Is(err, store.ErrRedefined) {
			_ = control.SetWriteDeadline(time.Time{}) // nothing is written for a while
			until := to.beatAt
			if soon := time.Now().Add(recheckAfter); !late && soon.Before(until) {
				until = soon
			}
			late, err = feed.await(r, committed, until)
		}
		if err != nil && !errors.Is(err, store.ErrRedefined) {
			s.logFailure(err)
			return nil // the answer has begun: it ends, and the client comes again
		}
	}
}
