package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// attemptTimeout is the deadline of an attempt, unless Dispatcher.AttemptTimeout is set.
	attemptTimeout = 20 * time.Second
	// maxAnswer is how much of an answer is read, and maxExcerpt how much of that a reason shows.
	maxAnswer, maxExcerpt = 64 << 10, 200
)

// An attempt is the outcome of sending a request.
type attempt struct {
	status int   // of the answer; 0: there was none
	err    error // why it failed; nil: it was delivered
	took   time.Duration
	// receiver says that the failure is not about this event: the receiver does not answer, or is overloaded.
	receiver bool
	// after is the least time until the next request, by the header Retry-After.
	after time.Duration
	// unsent says that nothing was sent: the payload could not be made.
	unsent bool
}

// throttles reports whether the receiver asks for fewer requests.
func (a *attempt) throttles() bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable && a.after > 0
}

// A client sends requests to a hook.
type client struct {
	hook    *Hook
	http    *http.Client
	timeout time.Duration // of an attempt
}

// newClient returns a client that connects only to allowed addresses, follows no redirect, and uses no proxy: a proxy
// would resolve names by itself.
func newClient(h *Hook, timeout time.Duration) *client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: guard(h.AllowPrivate)}
	return &client{h, &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, MaxIdleConnsPerHost: maxSending, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: maxAnswer, ForceAttemptHTTP2: true, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, timeout}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// send sends a payload. now is the time of the attempt.
func (c *client) send(ctx context.Context, p payload, now time.Time) (a attempt) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began := time.Now()
	defer func() { a.took = time.Since(began) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.hook.URL, bytes.NewReader(p.body))
	if err != nil {
		return attempt{err: err}
	}
	c.head(req, p, now)
	res, err := c.http.Do(req)
	if err != nil {
		var op *url.Error
		if errors.As(err, &op) {
			err = op.Err // without the URL, which may hold a credential
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", c.timeout)
		}
		return attempt{err: errors.New(c.hook.withoutSecrets(err.Error())), receiver: true}
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // the status alone decides
	return c.hook.judge(res, answer, now)
}

// head sets the headers of a request.
func (c *client) head(req *http.Request, p payload, now time.Time) {
	h := req.Header
	h.Set("User-Agent", "Lectern-Webhooks/1")
	for name, value := range c.hook.Headers {
		h.Set(name, value)
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
		}
	}
	h.Set("Content-Type", "application/json")
	h.Set("Webhook-Id", p.id)
	h.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	if len(c.hook.Secrets) > 0 {
		h.Set("Webhook-Signature", signatures(c.hook.Secrets, p.id, now, p.body))
	}
	if c.hook.Format == Strapi {
		h.Set("X-Strapi-Event", p.name)
	}
}

// judge returns the outcome of an attempt that was answered.
func (h *Hook) judge(res *http.Response, answer []byte, now time.Time) attempt {
	a := attempt{status: res.StatusCode, after: retryAfter(res.Header.Get("Retry-After"), now)}
	switch class := res.StatusCode / 100; {
	case class == 2:
		return a
	case class == 3:
		a.err = fmt.Errorf("answered %s to %s; redirects are not followed: change the url", res.Status,
			cmp.Or(h.withoutSecrets(res.Header.Get("Location")), "nowhere"))
	default:
		a.err = fmt.Errorf("answered %s%s", res.Status, excerpt(h.withoutSecrets(string(answer))))
		a.receiver = class == 5 || res.StatusCode == http.StatusTooManyRequests
	}
	return a
}

// excerpt returns the beginning of an answer for a reason, in one line.
func excerpt(answer string) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(answer[:min(len(answer), maxExcerpt)], ""))
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	return ": " + text
}

// retryAfter parses the header Retry-After: seconds, or a time. It returns 0 if there is none, and at most lastPause.
func retryAfter(text string, now time.Time) time.Duration {
	var after time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), lastPause)
}
