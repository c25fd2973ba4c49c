package replica

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lectern/gateway/admin"
	"lectern/internal/admission"
	"lectern/store"
)

// A list has the replicas that follow an Origin now. Any number of goroutines may use it.
type list struct {
	mu  sync.Mutex
	all map[*following]bool
}

// A following is the connection of a replica that follows the log.
type following struct {
	client admission.Client
	since  time.Time
	part   bool
	sent   atomic.Pointer[store.Position] // behind the last entry that was sent
}

// add adds a replica that has everything up to a position. The caller calls remove when its connection has ended.
func (l *list) add(client admission.Client, part store.Part, at store.Position) (f *following, remove func()) {
	f = &following{client: client, since: time.Now(), part: !part.All()}
	f.sent.Store(&at)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*following]bool{}
	}
	l.all[f] = true
	return f, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.all, f)
	}
}

// List lists the replicas that follow the server now, in the order in which they connected.
func (s *Origin) List() []admin.Following {
	head, err := PositionOf(s.options.Project.Store())
	if err != nil {
		s.options.Log.Debug("the position of the log cannot be read", "error", err)
	}
	s.replicas.mu.Lock()
	defer s.replicas.mu.Unlock()
	var all []admin.Following
	for f := range s.replicas.all {
		sent := f.sent.Load()
		one := admin.Following{Client: f.client.String(), Since: f.since, Part: f.part, Position: sent.String()}
		if head.Sequence > sent.Sequence {
			one.Behind = head.Sequence - sent.Sequence
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(x, y admin.Following) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Client, y.Client))
	})
	return all
}
