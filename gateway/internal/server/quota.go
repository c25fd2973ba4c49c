package server

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"lectern/auth"
	"lectern/gateway/config"
)

// Quotas limit how many requests to the content API each sender may send, and tell it in headers how many are left
// (draft-ietf-httpapi-ratelimit-headers). A nil *quotas has no limits.
type Quotas struct {
	limits  config.RateLimits
	proxies []netip.Prefix

	anonymous, token, user *quota // nil: no limit
}

// A quota is the limit for one kind of senders.
type quota struct {
	limiter *auth.Limiter
	name    string   // of the policy
	policy  []string // the header RateLimit-Policy
}

const (
	policyHeader = "Ratelimit-Policy"
	quotaHeader  = "Ratelimit"
)

// NewQuotas returns the quotas of a project; nil if it has no limits.
func NewQuotas(l config.RateLimits, proxies []netip.Prefix, now func() time.Time) *Quotas {
	q := &Quotas{limits: l, proxies: proxies,
		anonymous: newQuota("anonymous", l.Anonymous, now), token: newQuota("token", l.Token, now),
		user: newQuota("user", l.User, now)}
	if q.anonymous == nil && q.token == nil && q.user == nil {
		return nil
	}
	return q
}

func newQuota(name string, l auth.RateLimit, now func() time.Time) *quota {
	if !l.Enabled {
		return nil
	}
	policy := strconv.Quote(name) + ";q=" + strconv.Itoa(l.Max) + ";w=" + strconv.FormatInt(seconds(l.Interval), 10)
	return &quota{limiter: auth.NewLimiter(l, now), name: name, policy: []string{policy}}
}

// Limits returns the limits that the quotas were made of.
func (q *Quotas) Limits() config.RateLimits { return q.limits }

// Take counts a request, sets the headers that say what is left to its sender, and returns auth.ErrRate if there were
// too many. who is zero for a request whose credential is not valid: it counts as one of its address. A retry is not
// counted, nor a request that the server makes to itself.
func (q *Quotas) Take(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if q == nil || IsRetry(r.Context()) || isInside(r.Context()) {
		return nil
	}
	switch {
	case who.Token != "":
		return q.token.take(w, netip.Addr{}, who.Token)
	case who.User.ID != 0:
		return q.user.take(w, netip.Addr{}, strconv.FormatUint(who.User.ID, 10))
	}
	return q.anonymous.take(w, clientAddr(r, q.proxies), "")
}

func (q *quota) take(w http.ResponseWriter, from netip.Addr, name string) error {
	if q == nil {
		return nil
	}
	left, h := q.limiter.Take(from, name), w.Header()
	h[policyHeader] = q.policy
	h[quotaHeader] = []string{strconv.Quote(q.name) + ";r=" + strconv.Itoa(left.Remaining) +
		";t=" + strconv.FormatInt(seconds(left.Reset), 10)}
	if !left.Allowed {
		h["Retry-After"] = []string{strconv.FormatInt(max(1, seconds(left.Retry)), 10)}
		return auth.ErrRate
	}
	return nil
}

// seconds returns a duration in seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
