package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"lectern/documents/apierror"
	"lectern/internal/admission"
)

// A place lets a request be handled. limits.concurrent says how many requests hold one at the same time. A request
// holds its place only while the server works for it: not while it waits for its body to arrive, and not after it has
// begun to send the answer.
type place struct {
	share *admission.Share
	held  atomic.Bool
	conn  *conn // the connection of the request; nil if it is unknown
}

// placeWait is how long a request whose body has arrived waits to get its place back.
const placeWait = 5 * time.Second

// take acquires the place for a request that has just arrived, or fails at once.
func (p *place) take() error {
	if p.conn != nil {
		p.conn.place.Store(p)
	}
	err := p.share.TryAcquire()
	p.held.Store(err == nil)
	return err
}

// leave releases the place, if it is held.
func (p *place) leave() {
	if p.held.Swap(false) {
		p.share.Release()
	}
}

// takeBack acquires the place for a request that has left it before. It waits up to placeWait.
func (p *place) takeBack(ctx context.Context) error {
	err := p.share.TryAcquire()
	if err != nil {
		ctx, cancel := context.WithTimeout(ctx, placeWait)
		defer cancel()
		err = p.share.Acquire(ctx)
	}
	p.held.Store(err == nil)
	return err
}

// end releases the place of a request that has been answered.
func (p *place) end() {
	p.leave()
	if p.conn != nil {
		p.conn.place.Store(nil)
		p.conn.body = nil
	}
	if p.conn == nil || p != &p.conn.ownPlace {
		p.share.Close()
	}
}

// takePlace acquires a place for a request, from the share of its client. The caller must end the place, even if there
// is an error. The context of the returned request carries the client.
func (s *Server) takePlace(r *http.Request, placeless func(*http.Request) bool) (*http.Request, *place, error) {
	c := connOf(r)
	if c != nil && !c.proxied {
		return r, &c.ownPlace, c.ownPlace.take()
	}
	var client admission.Client
	if addr := clientAddr(r, s.proxies); !isTrusted(addr, s.proxies) {
		client = admission.ClientAt(addr)
	}
	p := &place{share: s.places.Share(client), conn: c}
	r = r.WithContext(admission.WithClient(r.Context(), client))
	if placeless != nil && placeless(r) {
		return r, p, nil
	}
	return r, p, p.take()
}

// errNoPlace returns the answer to a request that gets no place: it names the limit.
func (s *Server) errNoPlace(err error) *apierror.Error {
	limits := s.places.Limits()
	if errors.Is(err, admission.ErrShare) {
		return Unavailable(apierror.Share, fmt.Sprintf("too many requests from this address are at work "+
			"(limits.concurrentPerAddress: %d), try again", limits.Share))
	}
	return Unavailable(apierror.Places, fmt.Sprintf(
		"too many requests are at work (limits.concurrent: %d), try again", limits.Places))
}
