package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"lectern/documents/apierror"
	"lectern/internal/admission"
	"lectern/internal/budget"
)

// A listenerPlace is what a client holds while it waits for changes.
type listenerPlace struct {
	listeners  *admission.Share
	conditions *admission.Share // nil: it has none
	count      int              // of the conditions

	memory budget.Reservation // of limits.memory, for what the client has asked with
	part   budget.Reservation // of the part of limits.memory that all listeners may have
}

// newListenerMemory returns the budget of all listeners together: a quarter of limits.memory. They may wait for days, and must leave the rest to requests.
func newListenerMemory(memory *budget.Budget) *budget.Budget { return budget.New(memory.Limit() / 4) }

const (
	// listenerBytes is what a listener takes beside what it was asked with: its connection, its position and itself.
	listenerBytes = 4 << 10
	// headerBytes is what a header of a request takes beside its name and value.
	headerBytes = 128
)

// newListener counts a client that will wait for changes, and the conditions with which each change will be compared for it, and reserves what is kept of its
// request, in bytes. It returns an error if there are too many, or if there is no memory. The caller leaves the place when the client no longer waits.
func (p *Project) newListener(w http.ResponseWriter, r *http.Request, conditions, kept int) (*listenerPlace, error) {
	client := admission.ClientOf(r.Context())
	place := &listenerPlace{listeners: p.listeners.Share(client), count: conditions, memory: p.memory.Reservation(), part: p.listenerMemory.Reservation()}
	if err := place.listeners.TryAcquire(); err != nil {
		place.listeners.Close()
		limits := p.listeners.Limits()
		return nil, errNoListener(w, fmt.Sprintf("too many clients wait for changes (limits.listeners: %d, limits.listenersPerAddress: %d), try again",
			limits.Places, limits.Share))
	}
	if err := place.reserve(r, kept); err != nil {
		place.leave()
		return nil, err
	}
	if conditions == 0 {
		return place, nil
	}
	conditionsOf := p.conditions.Share(client)
	if err := conditionsOf.TryAcquireN(conditions); err != nil {
		conditionsOf.Close()
		place.leave()
		limits := p.conditions.Limits()
		return nil, errNoListener(w, fmt.Sprintf("too many conditions in the filters of subscriptions (limits.subscriptionConditions: %d, "+
			"limits.subscriptionConditionsPerAddress: %d): use fewer, or try again", limits.Places, limits.Share))
	}
	place.conditions = conditionsOf
	return place, nil
}

func errNoListener(w http.ResponseWriter, message string) error {
	w.Header()["Retry-After"] = retrySoon
	return &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", NoDetails: true, Reason: apierror.Places, Message: message}
}

// client returns the client that waits.
func (l *listenerPlace) client() admission.Client { return l.listeners.Client() }

// reserve reserves the memory of what is kept of a request.
func (l *listenerPlace) reserve(r *http.Request, kept int) error {
	if r.ProtoMajor > 1 { // net/http keeps the request
		kept += requestBytes(r)
	}
	if err := l.part.Grow(int64(listenerBytes + kept)); err != nil {
		return err
	}
	return l.memory.Grow(l.part.Bytes())
}

// leave gives back the place.
func (l *listenerPlace) leave() {
	l.memory.Release()
	l.part.Release()
	l.listeners.Release()
	l.listeners.Close()
	if l.conditions != nil {
		l.conditions.ReleaseN(l.count)
		l.conditions.Close()
	}
}

// requestBytes returns what a request takes that net/http keeps until it is answered.
func requestBytes(r *http.Request) int {
	return len(r.RequestURI) + len(r.URL.Path) + len(r.URL.RawPath) + headersBytes(r.Header)
}

func headersBytes(h http.Header) (bytes int) {
	for name, values := range h {
		bytes += len(name) + headerBytes
		for _, value := range values {
			bytes += len(value) + headerBytes
		}
	}
	return bytes
}

// cloneHeaders returns the headers of a request with these names, or all of them if there are no names. They share no memory with those of the request.
func cloneHeaders(h http.Header, names ...string) http.Header {
	kept := http.Header{}
	for _, name := range names {
		for _, value := range h[name] {
			kept[name] = append(kept[name], strings.Clone(value))
		}
	}
	return kept
}
