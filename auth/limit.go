package auth

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"lectern/documents/apierror"
	"lectern/internal/admission"
)

// A RateLimit limits the requests of each sender: in no time of length Interval are more than Max allowed.
type RateLimit struct {
	Enabled  bool
	Interval time.Duration
	Max      int
}

// ErrRate is the answer to a client that sends too many requests.
var ErrRate = &apierror.Error{Status: http.StatusTooManyRequests, Name: "RateLimitError",
	Message: "Too many requests, please try again later.", Reason: apierror.Rate}

// A Limiter counts requests by address and name: that of a route or of a token. It ignores the contents of a request,
// which senders can vary to evade it. Its memory is bounded: when there are too many counters, it drops those that were
// not used lately.
type Limiter struct {
	limit RateLimit
	now   func() time.Time
	start time.Time // of the times of counters

	mutex      sync.Mutex
	young, old map[limitKey]*slidingWindow // two generations: counters that are not used are dropped with the older one
}

// A limitKey identifies a counter.
type limitKey struct {
	from admission.Client
	name string
}

// maxKeys limits each half of a Limiter's counters.
const maxKeys = 1 << 15

// NewLimiter returns a Limiter. now is its clock, time.Now if it is nil.
func NewLimiter(l RateLimit, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{limit: l, now: now, start: now()}
}

// A Quota is what a Limiter leaves to a sender after it has counted a request.
type Quota struct {
	Allowed   bool
	Remaining int           // requests that would be allowed now
	Reset     time.Duration // until Max requests would be allowed, if none are sent before
	Retry     time.Duration // until a request is allowed; 0 if this one is
}

// Allow counts a request and reports whether it is allowed; if not, retry is how long the client must wait.
func (l *Limiter) Allow(from netip.Addr, route string) (ok bool, retry time.Duration) {
	q := l.Take(from, route)
	return q.Allowed, q.Retry
}

// Take counts a request from an address under a name, such as that of a route or a token. A refused request does not
// count. For a sender that is known by its name alone, the address is the zero Addr.
func (l *Limiter) Take(from netip.Addr, name string) Quota {
	if !l.limit.Enabled {
		return Quota{Allowed: true}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.now().Sub(l.start) // in the mutex, so that the requests of a counter are in the order of their times
	return l.of(limitKey{admission.ClientAt(from), name}).take(now, l.limit.Interval, l.limit.Max)
}

// of returns the counter of a key.
func (l *Limiter) of(v limitKey) *slidingWindow {
	if known := l.young[v]; known != nil {
		return known
	}
	if l.young == nil || len(l.young) >= maxKeys {
		l.young, l.old = make(map[limitKey]*slidingWindow), l.young
	}
	known := l.old[v]
	if known == nil {
		known = new(slidingWindow)
	}
	l.young[v] = known
	return known
}
