package replica

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/replication"
	"lectern/store"
)

// originIdle is how long a replica keeps a connection to its origin without a request. The origin closes one over which
// none has come for timeouts.header or timeouts.idle, and what is sent just then has an unknown outcome.
const originIdle = 5 * time.Second

// upstream is the origin that a replica follows, as an upstream.
type upstream struct {
	project Project
	origin  *replication.Client
	url     *url.URL
	dial    forward.Dialer
}

// newUpstream returns the origin that a replica follows. prefix is the path of the REST API of both.
func newUpstream(o Options, prefix string) (*upstream, error) {
	origin, err := o.origin()
	if err != nil {
		return nil, err
	}
	base := *origin.URL
	base.Path = strings.TrimSuffix(base.Path, prefix)
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	return &upstream{o.Project, origin, &base, dial}, nil
}

func (o *upstream) Begin(context.Context) (func(), *url.URL, error) { return func() {}, o.url, nil }
func (*upstream) Looped(int) *apierror.Error {
	return &apierror.Error{Status: http.StatusLoopDetected, Name: "LoopDetectedError", NoDetails: true,
		Reason:  apierror.Origin,
		Message: "the replica forwards writes to itself: give it the address of another server to follow"}
}
func (*upstream) Instead(context.Context, *url.URL, time.Time) *url.URL { return nil }
func (*upstream) AwaitLoss(ctx context.Context, _ *url.URL) error {
	<-ctx.Done()
	return ctx.Err()
}
func (o *upstream) Name() string { return "the server " + o.origin.Base() }
func (o *upstream) Close()       { o.origin.Close() }

// CatchUp waits until the replica has applied all that the origin has written so far.
func (o *upstream) CatchUp(ctx context.Context, _ *http.Response) error {
	want, err := o.origin.Position(ctx)
	if err != nil {
		return err
	}
	return reach(ctx, o.project, want)
}

// reach waits until reads show all that was written up to a position, and API tokens are as they were then: one that
// was revoked must not be accepted any more.
func reach(ctx context.Context, p Project, want store.Position) error {
	for {
		content, _ := p.Served()
		committed := content.Store.NextCommit() // before the position is read
		at, err := PositionOf(content.Store)
		if err == nil && at.Epoch == want.Epoch && at.Sequence >= want.Sequence {
			return content.Tokens.Refresh()
		}
		select {
		case <-committed:
		case <-content.Replaced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// PositionOf returns the position behind the last entry of a store.
func PositionOf(st *store.Store) (at store.Position, err error) {
	err = st.View(func(s *store.Snapshot) error {
		at, err = s.Position()
		return err
	})
	return at, err
}
