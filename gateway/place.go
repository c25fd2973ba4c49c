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

// A place lets a request be among those at work, of which limits.concurrent says how many there are at one time. A request holds its
// place only while the server works for it: not while it waits for its body to come, and not once it has begun to send the answer.
type place struct {
	share *admission.Share
	held  atomic.Bool
}

// placeWait is how long a request waits to get its place back when its body has come.
const placeWait = 5 * time.Second

// enter acquires the place for a request that has just come, or fails at once.
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

// enterAgain acquires the place for a request that has left it before. It waits up to placeWait.
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

// takePlace acquires a place for a request, from the share of its client; done releases it. The context of the returned request
// carries the client.
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

// errNoPlace returns the answer to a request that gets no place: it names the limit.
func (s *Server) errNoPlace(err error) *apierror.Error {
	limits := s.places.Limits()
	message := fmt.Sprintf("too many requests are at work (limits.concurrent: %d), try again", limits.Places)
	if errors.Is(err, admission.ErrShare) {
		message = fmt.Sprintf("too many requests from this address are at work (limits.concurrentPerAddress: %d), try again", limits.Share)
	}
	return &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", Message: message, NoDetails: true}
}
