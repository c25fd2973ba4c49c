package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"lectern/jsontree"
)

// A client sends requests to one server, at a bounded rate, and repeats those that fail for a reason that may pass. Its
// methods may be called at the same time.
type client struct {
	base    *url.URL
	token   string
	http    *http.Client
	files   *http.Client // for uploaded files; follows redirects to other hosts, and never has the token
	clock   Clock
	pace    pacer
	timeout time.Duration

	attempts  int
	maxAnswer int64
	maxFile   int64
	requests  func() // called before each request
}

// A temporary error may not come again when the request is repeated.
type temporary struct {
	error
	after time.Duration // how long the server asks to wait, or 0
}

func (t *temporary) Unwrap() error { return t.error }

// errTooLarge is the error for an answer that is longer than the limit.
var errTooLarge = errors.New("the answer is larger than the limit")

// A StatusError is an answer that refuses a request.
type StatusError struct {
	Path    string // without the query
	Status  int
	Message string // as the server says it
	Action  string // the permission that the request needs, if it is known
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("GET %s: %d %s", e.Path, e.Status, http.StatusText(e.Status))
	switch {
	case e.Status == http.StatusUnauthorized:
		return text + ": the server does not know the token, or it has expired; make a new one under Settings → API Tokens"
	case e.Status == http.StatusForbidden && e.Action != "":
		return text + ": the token lacks the permission " + e.Action +
			"; add it under Settings → API Tokens, or use a token with full access"
	case e.Message != "" && e.Message != http.StatusText(e.Status):
		return text + ": " + e.Message
	}
	return text
}

// statusOf returns the status of the answer that an error stands for, or 0.
func statusOf(err error) int {
	var refused *StatusError
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

// A query is one request for JSON.
type query struct {
	path   string   // below the base URL
	params []string // each name=value, escaped
	action string   // the permission that it needs
}

// get returns the JSON value of an answer. The answer may have limit bytes.
func (c *client) get(ctx context.Context, q query, limit int64) (value any, err error) {
	err = c.retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		value, err = c.getOnce(ctx, q, limit)
		return err
	})
	return value, err
}

func (c *client) getOnce(ctx context.Context, q query, limit int64) (any, error) {
	target := *c.base
	target.Path += q.path
	target.RawQuery = strings.Join(q.params, "&")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, failed(q.path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, failed(q.path, err)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("GET %s: %w of %d bytes", q.path, errTooLarge, limit)
	case resp.StatusCode != http.StatusOK:
		return nil, c.refused(q, resp, body)
	}
	value, err := jsontree.Parse(body, jsontree.MaxDepth)
	if err != nil && !errors.Is(err, jsontree.ErrPrototype) {
		err = fmt.Errorf("GET %s: the answer is not JSON (%s); is there a Strapi at %s?", q.path, err, c.base)
		if strings.Contains(resp.Header.Get("Content-Type"), "json") {
			return nil, &temporary{error: err} // cut off
		}
		return nil, err
	}
	return value, nil
}

// failed returns the error of a request that got no complete answer. Such requests are repeated, unless it cannot help.
func failed(path string, err error) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err // its own text repeats the whole URL
	}
	text := fmt.Errorf("GET %s: %w", path, err)
	var name *net.DNSError
	var moved *redirectError
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &name) && name.IsNotFound, errors.As(err, &moved),
		isCertificate(err):
		return text
	}
	return &temporary{error: text}
}

// refused returns the error of an answer with a status that is not 200.
func (c *client) refused(q query, resp *http.Response, body []byte) error {
	err := &StatusError{Path: q.path, Status: resp.StatusCode, Action: q.action}
	if v, e := jsontree.Parse(body, jsontree.MaxDepth); e == nil {
		if o, ok := v.(*jsontree.Object); ok {
			if inner, ok := o.Value("error").(*jsontree.Object); ok {
				err.Message = inner.Text("message")
			}
		}
	}
	if len(err.Message) > 500 {
		err.Message = err.Message[:500] + "…"
	}
	return c.mayPass(err, resp)
}

// mayPass makes the error temporary if its status says so.
func (c *client) mayPass(err *StatusError, resp *http.Response) error {
	switch s := resp.StatusCode; {
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500 &&
		s != http.StatusNotImplemented:
		return &temporary{err, c.retryAfter(resp.Header.Get("Retry-After"))}
	}
	return err
}

// retryAfter reads the header Retry-After: seconds or a date.
func (c *client) retryAfter(header string) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n >= 0 {
		return time.Duration(min(n, 1<<30)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(c.clock.Now()))
	}
	return 0
}

const (
	firstDelay    = 500 * time.Millisecond // before the second attempt; doubles from one attempt to the next
	maxDelay      = 30 * time.Second
	maxRetryAfter = 10 * time.Minute // a server that asks for more is not waited for
)

// retry calls try until it succeeds or fails for good, with growing delays between the attempts.
func (c *client) retry(ctx context.Context, try func() error) error {
	delay := firstDelay
	for n := 1; ; n++ {
		if err := c.pace.wait(ctx); err != nil {
			return err
		}
		c.requests()
		err := try()
		var again *temporary
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &again):
			return err
		case again.after > maxRetryAfter:
			return fmt.Errorf("%w; the server asks to wait for %s: run the command again later, it goes on from here",
				err, again.after.Round(time.Second))
		case n == c.attempts:
			return fmt.Errorf("%w; given up after %d attempts: run the command again later, it goes on from here", err,
				n)
		}
		if again.after > 0 {
			c.pace.hold(again.after)
		}
		wait := max(again.after, delay/2+rand.N(delay/2))
		if err := c.clock.Sleep(ctx, wait); err != nil {
			return err
		}
		delay = min(2*delay, maxDelay)
	}
}
