package gateway

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

// A place is that of a request among those at work. A request that waits for its client holds none: not while it reads its body
// from the connection, and not any more once it has begun to send its answer there.
type place struct {
	share *admission.Share
	held  atomic.Bool
}

// placeWait is how long a request whose body has come waits for a place.
const placeWait = 5 * time.Second

// enter takes a place for a request that has just come.
func (p *place) enter() error {
	err := p.share.TryAcquire()
	p.held.Store(err == nil)
	return err
}

// leave gives the place back, if it is held.
func (p *place) leave() {
	if p.held.Swap(false) {
		p.share.Release()
	}
}

// enterAgain takes a place for a request that left its own.
func (p *place) enterAgain(ctx context.Context) error {
	err := p.share.TryAcquire()
	if err != nil {
		ctx, cancel := context.WithTimeout(ctx, placeWait)
		defer cancel()
		err = p.share.Acquire(ctx)
	}
	p.held.Store(err == nil)
	return err
}

// takePlace takes a place for a request, of the share of its client. done gives it back. The context of the request that is returned
// knows the client.
func (s *Server) takePlace(r *http.Request) (with *http.Request, done func(), err error) {
	c := connOf(r)
	if c != nil && !c.proxied {
		return r, c.leavePlace, c.enterPlace(&c.ownPlace)
	}
	var client admission.Client
	if addr := clientAddr(r, s.proxies); !isTrusted(addr, s.proxies) {
		client = admission.ClientAt(addr)
	}
	r = r.WithContext(admission.WithClient(r.Context(), client))
	p := &place{share: s.places.Share(client)}
	if c == nil {
		return r, func() { p.leave(); p.share.Close() }, p.enter()
	}
	return r, func() { c.leavePlace(); p.share.Close() }, c.enterPlace(p)
}

// errNoPlace says which limit keeps a request from being answered.
func (s *Server) errNoPlace(err error) *apierror.Error {
	limits := s.places.Limits()
	message := fmt.Sprintf("too many requests are at work (limits.concurrent: %d), try again", limits.Places)
	if errors.Is(err, admission.ErrShare) {
		message = fmt.Sprintf("too many requests from this address are at work (limits.concurrentPerAddress: %d), try again", limits.Share)
	}
	return &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", Message: message, NoDetails: true}
}
