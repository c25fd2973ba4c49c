package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/filesync"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/internal/backoff"
	"lectern/media"
	"lectern/store"
	"lectern/store/evolve"
)

// These methods, Condition, Retire and Start are what the project asks of its role.

// Files returns the directory from which the project is read: it has the definitions of the cluster.
func (n *Node) Files() string { return ProjectDir(n.options.Data) }

// Check returns an error if the nodes of a cluster cannot serve a definition.
func (*Node) Check(d *config.Definition) error {
	if d.Settings.Server.Log.Keep == 0 {
		return errors.New("the nodes of a cluster agree to entries of the log of changes: remove log.keep: 0 from " +
			"config/server.yaml")
	}
	return nil
}

// FilesDecide returns false: the nodes serve what was deployed.
func (*Node) FilesDecide() bool { return false }

// HasOwnContent returns true: the content is that of the cluster.
func (*Node) HasOwnContent() bool { return true }

// ReplicaState returns nil: the node is no replica.
func (*Node) ReplicaState() *admin.ReplicaState { return nil }

// OpenStore opens the store, to which the nodes agree. It may have a Model of other definitions: it is half converted
// then.
func (n *Node) OpenStore(o store.Options, _ *contenttypes.Model, open func(store.Options) (*store.Store,
	error)) (*store.Store, error) {
	o.Propose = n.propose
	return open(o)
}

// AwaitContent waits until this node has all that the cluster had written.
func (n *Node) AwaitContent(ctx context.Context) error {
	retry := backoff.New()
	for n.await(ctx, "", "linearizable") != nil {
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Uploads returns the uploaded files of this node. They are there after Join.
func (n *Node) Uploads() *filesync.NodeFiles { return n.uploads }

// Upstream returns how requests reach the leader.
func (n *Node) Upstream() forward.Link {
	return forward.Link{To: Leader{n}, Via: n.via, Transport: newTransport(n.port.DialHTTP)}
}

// SetUpSteps has answers say how recent they are, and requests wait until they can be as recent as they demand. writes
// reports whether a request may write; nil if none is forwarded yet.
func (n *Node) SetUpSteps(s *server.Steps, writes func(*http.Request) bool) {
	s.Begin = func(w http.ResponseWriter) http.ResponseWriter {
		server.SetAge(w.Header(), n.age())
		return &revisedWriter{ResponseWriter: w, node: n}
	}
	// A write that this node has forwarded to another one, which sends it back because this node leads by now, needs no
	// second place: it would be refused if the writes that wait for their answers have all places.
	s.Placeless = func(r *http.Request) bool { return forward.Times(r, n.via) > 0 }
	s.Await = n.awaitRecent
	if writes == nil {
		return
	}
	s.Confirm = func(r *http.Request, refused *apierror.Error) *apierror.Error {
		switch refused.Status {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed:
			if writes(r) { // the error may follow from the present content
				return n.confirm(r.Context(), refused)
			}
		}
		return refused
	}
}

// SetUpMedia has the library of uploads share its files with the other nodes.
func (n *Node) SetUpMedia(o *media.Options) { o.Nodes = n.uploads }

// SetUpControl has the control socket pass commands to the leader.
func (n *Node) SetUpControl(c *admin.Control) {
	c.ByLeader, c.Cluster = n.byLeader, clusterAdmin{n}
	c.Settle = func(_ context.Context, ms evolve.Migrations) (evolve.Removed, error) {
		return evolve.Removed{}, fmt.Errorf("%s: the content of a cluster is changed together with its definitions, "+
			"by `lectern deploy DIR %[1]s`", ms)
	}
	handler := n.byLeader(c.Handler())
	n.commands.Store(&handler)
}

// Read adds what the metrics say about the node.
func (n *Node) Read(r *metrics.Reading) {
	raft := n.raft.Load()
	if raft == nil {
		return
	}
	f := raft.Figures()
	if f.LastContact < 0 {
		f.LastContact = -time.Second
	}
	r.Cluster = &metrics.Cluster{
		Leads: f.Leads, Term: f.Term, LastIndex: f.LastIndex, Committed: f.Committed, Applied: f.Applied,
		LastContact: f.LastContact,
		Nodes:       f.Nodes, Voters: f.Voters, Proposals: f.Proposals, FailedProposals: f.Failed,
		DamagedFiles: n.uploads.Damage.Found.Load(), RepairedFiles: n.uploads.Damage.Repaired.Load(),
	}
}
