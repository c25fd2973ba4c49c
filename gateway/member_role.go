package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/admin"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/internal/backoff"
	"lectern/media"
	"lectern/store"
	"lectern/store/evolve"
)

// FilesDecide implements role: the nodes serve what was deployed.
func (*member) FilesDecide() bool { return false }

// HasOwnContent implements role.
func (*member) HasOwnContent() bool { return true }

// ReplicaState implements role.
func (*member) ReplicaState() *admin.ReplicaState { return nil }

// OpenStore implements role. The store may have a Model of other definitions: it is half converted then.
func (m *member) OpenStore(o store.Options, _ *contenttypes.Model, open opener) (*store.Store, error) {
	o.Propose = m.propose
	return open(o)
}

// AwaitContent implements role.
func (m *member) AwaitContent(ctx context.Context) error {
	retry := backoff.New()
	for m.await(ctx, "", "linearizable") != nil {
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// MissingFiles implements role.
func (m *member) MissingFiles() fileSource { return m.uploads }

// Upstream implements role.
func (m *member) Upstream(string) (*upstreamLink, error) {
	return &upstreamLink{leaderOf{m}, m.via, newNodeTransport(m.port.DialHTTP)}, nil
}

// SetUpSteps implements role.
func (m *member) SetUpSteps(s *server.Steps, writes *forwarder) {
	s.Begin = func(w http.ResponseWriter) http.ResponseWriter {
		setAge(w.Header(), m.age())
		return &revisedWriter{ResponseWriter: w, member: m}
	}
	// A write that this node has forwarded to another one, which sends it back because this node leads by now, needs no second place: it would be
	// refused if the writes that wait for their answers have all places.
	s.Placeless = func(r *http.Request) bool { return timesVia(r, m.via) > 0 }
	s.Await = m.awaitRecent
	if writes != nil {
		s.Confirm = func(r *http.Request, err *apierror.Error) *apierror.Error { return m.confirmWrite(writes, r, err) }
	}
}

// SetUpMedia implements role.
func (m *member) SetUpMedia(o *media.Options) { o.Nodes = m.uploads }

// SetUpControl implements role.
func (m *member) SetUpControl(c *admin.Control) {
	c.ByLeader, c.Cluster = m.byLeader, clusterAdmin{m}
	c.Settle = func(_ context.Context, ms evolve.Migrations) (evolve.Removed, error) {
		return evolve.Removed{}, fmt.Errorf("%s: the content of a cluster is changed together with its definitions, by `lectern deploy DIR %[1]s`", ms)
	}
	handler := m.byLeader(c.Handler())
	m.commands.Store(&handler)
}

// Read implements role.
func (m *member) Read(r *metrics.Reading) {
	node := m.node.Load()
	if node == nil {
		return
	}
	f := node.Figures()
	if f.LastContact < 0 {
		f.LastContact = -time.Second
	}
	r.Cluster = &metrics.Cluster{
		Leads: f.Leads, Term: f.Term, LastIndex: f.LastIndex, Committed: f.Committed, Applied: f.Applied, LastContact: f.LastContact,
		Members: f.Nodes, Voters: f.Voters, Proposals: f.Proposals, FailedProposals: f.Failed,
		DamagedFiles: m.uploads.Damage.Found.Load(), RepairedFiles: m.uploads.Damage.Repaired.Load(),
	}
}
