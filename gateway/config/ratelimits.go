package config

import (
	"time"

	"lectern/auth"
	"lectern/internal/yamlfile"
)

// RateLimits are the limits of requests to the content API, for each sender of a kind. They are off by default.
type RateLimits struct {
	Anonymous auth.RateLimit // of the requests of an address without a valid credential
	Token     auth.RateLimit // of the requests with an API token
	User      auth.RateLimit // of the requests of a user
}

var defaultRateLimits = RateLimits{
	Anonymous: auth.RateLimit{Interval: time.Minute},
	Token:     auth.RateLimit{Interval: time.Minute},
	User:      auth.RateLimit{Interval: time.Minute},
}

type rateLimitsFile struct {
	Anonymous addressLimitFile
	Token     tokenLimitFile
	User      userLimitFile
}

type addressLimitFile struct {
	// requests that one address may send without a valid credential during any period as long as the window; more are
	// answered 429: see [rate limits](rate-limits.md). The /64 network of an IPv6 address is one
	// Default: no limit
	Requests *int
	// length of the window, from `1s` to `24h`
	Window *time.Duration
}

type tokenLimitFile struct {
	// requests that may be sent with each API token
	// Default: no limit
	Requests *int
	// length of the window
	Window *time.Duration
}

type userLimitFile struct {
	// requests that each user may send
	// Default: no limit
	Requests *int
	// length of the window
	Window *time.Duration
}

// file returns a rateLimitsFile whose pointers lead to l.
func (l *RateLimits) file() rateLimitsFile {
	return rateLimitsFile{
		Anonymous: addressLimitFile{&l.Anonymous.Max, &l.Anonymous.Interval},
		Token:     tokenLimitFile{&l.Token.Max, &l.Token.Interval},
		User:      userLimitFile{&l.User.Max, &l.User.Interval},
	}
}

// maxRate is how many requests a window may allow.
const maxRate = 1_000_000_000

// check switches on the limits that are set, and reports those that cannot work. n is the Node of config/api.yaml.
func (l *RateLimits) check(n *yamlfile.Node) (problems yamlfile.Problems) {
	for key, limit := range map[string]*auth.RateLimit{"anonymous": &l.Anonymous, "token": &l.Token, "user": &l.User} {
		at := n.At("rateLimit", key)
		limit.Enabled = !n.Get("rateLimit").Get(key).Get("requests").IsNull()
		if limit.Enabled && (limit.Max < 1 || limit.Max > maxRate) {
			problems.Add(at.At("requests"), "requests must be from 1 to %d; leave them out for no limit", maxRate)
		}
		if limit.Interval < time.Second || limit.Interval > 24*time.Hour {
			problems.Add(at.At("window"), "window must be from 1s to 24h")
		}
	}
	return problems
}
