package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"lectern/contenttypes"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/cluster"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/media"
	"lectern/store"
)

// A role is how a server stands to other servers of the same content: it is alone (single), it has a copy of another
// server's content (replica), or it is a node of a cluster (node). The project asks its role wherever the three differ.
type role interface {
	// Files returns the directory that the definitions are read from.
	Files() string
	// Check returns an error if a definition cannot be served in this role.
	Check(*config.Definition) error
	// FilesDecide reports whether only the files of the project decide what is served. Then they are taken over when
	// they change, if the server is to watch them, and operators make the API tokens that they declare. Otherwise the
	// definitions come from another server.
	FilesDecide() bool
	// Redefine is the redefiner of changed definitions: it returns the present store under them, whose content this
	// server or another one converts. The present generation cannot be used afterwards.
	Redefine(ctx context.Context, before *store.Store, d *config.Definition) (*store.Store, error)
	// HasOwnContent reports whether the content is written by this server, or by the cluster of which it is a node. It
	// then revokes tokens and sends webhooks. A replica does neither: its tokens come with the content, and its origin
	// sends the webhooks.
	HasOwnContent() bool
	// OpenStore opens the store by open, under the definitions of a Model, with options that it completes.
	OpenStore(o store.Options, model *contenttypes.Model, open opener) (*store.Store, error)
	// AwaitContent waits until files of uploads that were interrupted can be told from those of documents that the
	// server does not have yet: a node of a cluster waits for all that the cluster has written.
	AwaitContent(context.Context) error
	// Condition returns why the server should get no requests although its store is sound; nil if it should get them.
	Condition() *admin.Condition
	// ReplicaState returns how far a replica is behind its origin; nil if the server is none.
	ReplicaState() *admin.ReplicaState
	// MissingFiles fetches uploaded files that the server does not have yet; nil if it always has all of them.
	MissingFiles() fileSource
	// Upstream returns how writes reach the server that takes them; nil if this one takes them, or refuses them. prefix
	// is the path of the REST API.
	Upstream(prefix string) (*forward.Link, error)

	// SetUpSteps completes what stands between requests and their handlers. writes reports whether a request may write;
	// nil if none is forwarded.
	SetUpSteps(s *server.Steps, writes func(*http.Request) bool)
	// SetUpControl and SetUpMedia complete how the parts of the server are made, and Read what its metrics say.
	SetUpControl(*admin.Control)
	SetUpMedia(*media.Options)
	Read(*metrics.Reading)

	// Start starts what the role does in the background, until ctx ends; parts then waits for it.
	Start(ctx context.Context, parts *sync.WaitGroup)
	// Retire prepares the other servers for the end of this one, which still answers requests.
	Retire(context.Context)
}

// An opener opens the store of a project.
type opener = func(store.Options) (*store.Store, error)

var _, _, _, _ role = (*single)(nil), (*stoppedNode)(nil), (*replicaRole)(nil), (*nodeRole)(nil)

// findRole returns the role of a project that is opened by its data directory. Only Serve makes a node that takes part
// in its cluster.
func (p *Project) findRole() (role, error) {
	alone := &single{p}
	if p.options.Ephemeral { // it has a data directory of its own
		return alone, nil
	}
	if replica, err := p.newReplica(); err != nil || replica != nil {
		return replica, err
	}
	node, err := p.directory.IsNode()
	if err != nil || !node {
		return alone, err
	}
	p.Refused = p.directory.RefuseChanges()
	return &stoppedNode{alone}, nil
}

// single is the role of a server that is alone.
type single struct{ project *Project }

func (s *single) Files() string                        { return s.project.directory.Dir }
func (*single) Check(*config.Definition) error         { return nil }
func (*single) FilesDecide() bool                      { return true }
func (*single) HasOwnContent() bool                    { return true }
func (*single) AwaitContent(context.Context) error     { return nil }
func (*single) Condition() *admin.Condition            { return nil }
func (*single) ReplicaState() *admin.ReplicaState      { return nil }
func (*single) MissingFiles() fileSource               { return nil }
func (*single) Upstream(string) (*forward.Link, error) { return nil, nil }

// SetUpSteps implements role.
func (*single) SetUpSteps(*server.Steps, func(*http.Request) bool) {}

func (*single) SetUpControl(*admin.Control) {}
func (*single) SetUpMedia(*media.Options)   {}
func (*single) Read(*metrics.Reading)       {}
func (*single) Retire(context.Context)      {}

// OpenStore implements role.
func (*single) OpenStore(o store.Options, _ *contenttypes.Model, open opener) (*store.Store, error) {
	return open(o)
}

// Redefine implements role.
func (s *single) Redefine(ctx context.Context, before *store.Store, d *config.Definition) (*store.Store, error) {
	return before.Redefine(ctx, d.Model, s.project.conversionOptions(d))
}

// Start implements role.
func (s *single) Start(ctx context.Context, parts *sync.WaitGroup) {
	parts.Go(func() { s.project.scheduler.run(ctx) })
	parts.Go(func() { s.project.webhooks.Run(ctx) })
}

// stoppedNode is the role of a project whose data directory is that of a node of a cluster, and which is opened to look
// into it: it has the definitions of the cluster, and nothing changes its content.
type stoppedNode struct{ *single }

// Files implements role.
func (n *stoppedNode) Files() string {
	return cluster.ProjectDir(n.project.directory.DataPath())
}

// OpenStore implements role.
func (*stoppedNode) OpenStore(o store.Options, model *contenttypes.Model, open opener) (*store.Store, error) {
	o.Propose = func([]byte) (store.Agreement, error) { return store.Agreement{}, store.ErrNotLeader }
	st, err := open(o)
	if err == nil && st.Model() != model {
		return nil, errors.Join(errHalfConverted, st.Close())
	}
	return st, err
}

var errHalfConverted = errors.New("the content of the node was half converted to changed definitions when it " +
	"was stopped: serve it with --cluster, so that it goes on")
