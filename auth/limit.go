package auth

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"lectern/documents/apierror"
	"lectern/internal/admission"
)

// A RateLimit bounds how often an address may use each of the routes that guess or send something: Max times at once, and as
// often again in each Interval.
type RateLimit struct {
	Enabled  bool
	Interval time.Duration
	Max      int
}

// ErrRate is the answer to a client that asks too often.
var ErrRate = &apierror.Error{Status: http.StatusTooManyRequests, Name: "RateLimitError", Message: "Too many requests, please try again later."}

// A Limiter counts by address and route, never by what a request says of itself, which its sender can vary as he likes.
type Limiter struct {
	limit RateLimit
	now   func() time.Time

	mutex      sync.Mutex
	young, old map[limitKey]*rate.Limiter // two generations, as in verified: a key that was not used for long is forgotten
}

// A limitKey is what a Limiter counts by.
type limitKey struct {
	from  admission.Client
	route string
}

// maxKeys bounds the memory of a Limiter: it has at most twice as many keys.
const maxKeys = 1 << 15

// NewLimiter returns a Limiter that has counted nothing yet. now may be nil.
func NewLimiter(l RateLimit, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{limit: l, now: now}
}

// Allow counts a use of a route and reports whether it is one too many; if so, retry is how long to wait.
func (l *Limiter) Allow(from netip.Addr, route string) (ok bool, retry time.Duration) {
	if !l.limit.Enabled {
		return true, 0
	}
	now := l.now()
	r := l.of(from, route).ReserveN(now, 1)
	if delay := r.DelayFrom(now); delay > 0 {
		r.CancelAt(now)
		return false, delay
	}
	return true, 0
}

func (l *Limiter) of(from netip.Addr, route string) *rate.Limiter {
	v := limitKey{admission.ClientAt(from), route}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if known := l.young[v]; known != nil {
		return known
	}
	if l.young == nil || len(l.young) >= maxKeys {
		l.young, l.old = make(map[limitKey]*rate.Limiter), l.young
	}
	known := l.old[v]
	if known == nil {
		known = rate.NewLimiter(rate.Every(l.limit.Interval/time.Duration(l.limit.Max)), l.limit.Max)
	}
	l.young[v] = known
	return known
}
