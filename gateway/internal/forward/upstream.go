package forward

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lectern/documents/apierror"
)

// MaxCatchUp is how long the answer to a forwarded write waits until this server has applied it.
const MaxCatchUp = 2 * time.Second

// An Upstream is the server that takes the writes of this one: the origin of a replica, or the leader of a cluster.
type Upstream interface {
	// Begin returns who carries out a write that begins now: the server at an address, whose path is what goes before
	// the path of a request, or, if at is nil, this server itself. The caller must call end after the write, unless
	// there is an error. Begin waits for a server that takes writes.
	Begin(context.Context) (end func(), at *url.URL, err error)
	// Instead waits for a server that takes the writes, after one could not be reached, and returns its address as
	// Begin does; nil if there is none. It may be the same one, after a while. since is when a server could not be
	// reached first.
	Instead(ctx context.Context, unreached *url.URL, since time.Time) *url.URL
	// AwaitLoss returns nil once the server at an address, as Begin returned it, is not expected to answer any more: it
	// has not taken the writes for a while. It returns an error if ctx ends before.
	AwaitLoss(ctx context.Context, at *url.URL) error
	// CatchUp waits until reads of this server show what the upstream had written when it gave an answer.
	CatchUp(context.Context, *http.Response) error
	// Looped returns the answer to a request that this server has forwarded so many times before; nil if it is to be
	// forwarded again.
	Looped(times int) *apierror.Error
	// Name returns the name of the server in messages to clients.
	Name() string
	Close()
}

// A Link is how requests reach an Upstream.
type Link struct {
	To        Upstream
	Via       string // names this server in the header Via
	Transport *http.Transport
}

// Times returns how often a request was forwarded by the server that a value of the header Via names.
func Times(r *http.Request, via string) (times int) {
	for _, all := range r.Header["Via"] {
		times += strings.Count(all, via)
	}
	return times
}
