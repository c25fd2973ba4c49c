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

// A RateLimit limits the requests from one address to each route that checks a password or sends a mail: Max requests at once,
// and Max more in each Interval.
type RateLimit struct {
	Enabled  bool
	Interval time.Duration
	Max      int
}

// ErrRate is the answer to a client that sends too many requests.
var ErrRate = &apierror.Error{Status: http.StatusTooManyRequests, Name: "RateLimitError", Message: "Too many requests, please try again later.", Reason: apierror.Rate}

// A Limiter counts requests by address and route. It ignores the contents of a request, which senders can vary to evade it.
type Limiter struct {
	limit RateLimit
	now   func() time.Time

	mutex      sync.Mutex
	young, old map[limitKey]*rate.Limiter // two generations: counters that are not used are dropped with the older one
}

// A limitKey identifies a counter.
type limitKey struct {
	from  admission.Client
	route string
}

// maxKeys limits each generation of a Limiter's counters.
const maxKeys = 1 << 15

// NewLimiter returns a Limiter. now is its clock, time.Now if it is nil.
func NewLimiter(l RateLimit, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{limit: l, now: now}
}

// Allow counts a request and reports whether it is allowed; if not, retry is how long the client must wait.
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
