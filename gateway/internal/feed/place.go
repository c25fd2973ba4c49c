package feed

import (
	"fmt"
	"net/http"
	"strings"

	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/internal/admission"
	"lectern/internal/budget"
)

// A Place is what a client holds while it waits for changes.
type Place struct {
	waiting    *admission.Share
	conditions *admission.Share // nil: it has none
	count      int              // of the conditions

	memory budget.Reservation // of limits.memory, for what the client has asked with
	part   budget.Reservation // of the part of limits.memory that all subscribers may have
}

// subscriberBytes is what a subscriber takes beside what it was asked with: its connection, its position and itself.
const subscriberBytes = 4 << 10

// Admit counts a client that will wait for changes, and the conditions with which each change will be compared for it,
// and reserves what is kept of its request, in bytes. It returns an error if there are too many, or if there is no
// memory. The caller must Leave the place when the client no longer waits, unless Serve got it.
func (s *Subscribers) Admit(w http.ResponseWriter, r *http.Request, conditions, kept int) (*Place, error) {
	client := admission.ClientOf(r.Context())
	place := &Place{waiting: s.Waiting.Share(client), count: conditions, memory: s.memory.Reservation(),
		part: s.part.Reservation()}
	if err := place.waiting.TryAcquire(); err != nil {
		place.waiting.Close()
		limits := s.Waiting.Limits()
		return nil, errNoPlace(
			w, fmt.Sprintf("too many clients wait for changes (limits.listeners: %d, "+
				"limits.listenersPerAddress: %d), try again",
				limits.Places, limits.Share))
	}
	if err := place.reserve(r, kept); err != nil {
		place.Leave()
		return nil, err
	}
	if conditions == 0 {
		return place, nil
	}
	conditionsOf := s.Conditions.Share(client)
	if err := conditionsOf.TryAcquireN(conditions); err != nil {
		conditionsOf.Close()
		place.Leave()
		limits := s.Conditions.Limits()
		return nil, errNoPlace(
			w, fmt.Sprintf("too many conditions in the filters of subscriptions (limits.subscriptionConditions: %d, "+
				"limits.subscriptionConditionsPerAddress: %d): use fewer, or try again", limits.Places, limits.Share))
	}
	place.conditions = conditionsOf
	return place, nil
}

func errNoPlace(w http.ResponseWriter, message string) error {
	w.Header()["Retry-After"] = server.RetrySoon
	return server.Unavailable(apierror.Places, message)
}

// client returns the client that waits.
func (p *Place) client() admission.Client { return p.waiting.Client() }

// reserve reserves the memory of what is kept of a request.
func (p *Place) reserve(r *http.Request, kept int) error {
	if r.ProtoMajor > 1 { // net/http keeps the request
		kept += requestBytes(r)
	}
	if err := p.part.Grow(int64(subscriberBytes + kept)); err != nil {
		return err
	}
	return p.memory.Grow(p.part.Bytes())
}

// Leave gives back the place.
func (p *Place) Leave() {
	p.memory.Release()
	p.part.Release()
	p.waiting.Release()
	p.waiting.Close()
	if p.conditions != nil {
		p.conditions.ReleaseN(p.count)
		p.conditions.Close()
	}
}

// requestBytes returns what a request takes that net/http keeps until it is answered.
func requestBytes(r *http.Request) int {
	return len(r.RequestURI) + len(r.URL.Path) + len(r.URL.RawPath) + budget.OfHeaders(r.Header)
}

// CloneHeaders returns those of the headers of a request that have these names. They share no memory with the request,
// so that they can be kept without it.
func CloneHeaders(h http.Header, names ...string) http.Header {
	kept := http.Header{}
	for _, name := range names {
		for _, value := range h[name] {
			kept[name] = append(kept[name], strings.Clone(value))
		}
	}
	return kept
}
