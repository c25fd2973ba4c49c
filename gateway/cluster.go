package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/cluster"
	"lectern/gateway/internal/cluster/credentials"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/replication"
	"lectern/media"
	"lectern/store"
	"lectern/webhooks"
)

// Cluster says which node of a cluster the server is.
type Cluster = cluster.Settings

// clustering returns the options of a server with what config/server.yaml says about a cluster, unless Cluster says
// that.
func (o Options) clustering(dir string) (Options, error) {
	c, err := config.ReadCluster(dir)
	if err != nil || c.Name == "" && o.Cluster == nil {
		return o, err
	}
	var set Cluster
	if o.Cluster != nil {
		set = *o.Cluster
	}
	set.Name, set.Address = cmp.Or(set.Name, c.Name), cmp.Or(set.Address, c.Address)
	set.Expect, set.Certificates = cmp.Or(set.Expect, c.Expect), cmp.Or(set.Certificates, c.Certificates)
	set.NoVote = set.NoVote || c.NoVote
	if len(set.Join) == 0 {
		set.Join = c.Join
	}
	if set.Certificates != "" && !filepath.IsAbs(set.Certificates) {
		set.Certificates = filepath.Join(dir, set.Certificates)
	}
	o.Cluster = &set
	return o, nil
}

// serveNode serves the project in dir as a node of a cluster, until ctx ends.
func serveNode(ctx context.Context, dir string, o Options) (err error) {
	o = o.logging(dir)
	p := newProject(dir, o)
	if origin, err := p.directory.Origin(); err != nil || origin != "" {
		return cmp.Or(err, fmt.Errorf("%s is a replica of %s: make it an origin first, by `%s`", dir, origin,
			p.directory.Command("promote")))
	}
	n, err := p.newNode()
	if err != nil {
		return err
	}
	if p.Data, err = p.lockDataDir(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(n.Close(), err, p.Close()) }()
	if err := n.Join(ctx); err != nil {
		return err
	}
	d, err := p.read()
	if err != nil {
		return err
	}
	if err := p.prepare(ctx, d); err != nil {
		return err
	}
	return p.serve(ctx, func() error {
		if err := n.Open(ctx, d.Definition); err != nil {
			return err
		}
		g := p.generation.Load()
		g.useHooks()
		return g.open()
	})
}

// newNode makes the project one that a node of a cluster serves, and returns the node.
func (p *Project) newNode() (*cluster.Node, error) {
	n, err := cluster.New(p.nodeOptions())
	if err == nil {
		p.role = &nodeRole{n}
	}
	return n, err
}

func (p *Project) nodeOptions() cluster.Options {
	return cluster.Options{
		Settings: p.options.Cluster, Project: nodeProject{p}, Dir: p.directory.Dir, Data: p.directory.DataPath(),
		Secret: filepath.Join(p.directory.DataPath(), secretName), Version: p.options.Version, Log: p.log,
	}
}

// nodeRole is the role of a server that is a node of a cluster.
type nodeRole struct{ *cluster.Node }

// MissingFiles implements role.
func (n *nodeRole) MissingFiles() fileSource { return n.Uploads() }

// Upstream implements role.
func (n *nodeRole) Upstream(string) (*forward.Link, error) {
	link := n.Node.Upstream()
	return &link, nil
}

// nodeProject is a project as its node knows it.
type nodeProject struct{ project *Project }

// nodeDefinition is a definition as a node knows it.
type nodeDefinition struct{ *Definition }

// Config implements cluster.Definition.
func (d nodeDefinition) Config() *config.Definition { return d.Definition.Definition }

// Files implements cluster.Definition.
func (d nodeDefinition) Files() *replication.Definitions { return d.files }

// Load implements cluster.Project.
func (p nodeProject) Load(dir string) (cluster.Definition, error) {
	d, err := p.project.loadFrom(dir)
	if err != nil {
		return nil, err
	}
	return nodeDefinition{d}, nil
}

// OpenStore implements cluster.Project.
func (p nodeProject) OpenStore(d *config.Definition) (*store.Store, error) {
	return p.project.openStore(d)
}

// OpenAlone implements cluster.Project.
func (p nodeProject) OpenAlone(path string, d *config.Definition) (*store.Store, error) {
	return p.project.directory.OpenStore(path, d, store.Options{})
}

// Store implements cluster.Project.
func (p nodeProject) Store() *store.Store { return p.project.Store() }

// Use implements cluster.Project.
func (p nodeProject) Use(st *store.Store) { p.project.generation.Load().store = st }

// Served implements cluster.Project.
func (p nodeProject) Served() cluster.Definition { return nodeDefinition{p.project.Definition()} }

// Routed implements cluster.Project.
func (p nodeProject) Routed() (*store.Store, cluster.Definition) {
	g := p.project.routed.Load()
	if g == nil {
		return nil, nil
	}
	return g.store, nodeDefinition{g.Definition}
}

// Replace implements cluster.Project.
func (p nodeProject) Replace(ctx context.Context, r cluster.Replacement) error {
	mine := replacement{store: r.Store, copied: r.Copied, load: func() (*Definition, error) {
		d, err := r.Load()
		if err != nil {
			return nil, err
		}
		return d.(nodeDefinition).Definition, nil
	}}
	if p.project.Store() != nil {
		return p.project.replace(ctx, mine)
	}
	d, err := mine.load()
	if err != nil {
		return err
	}
	g := p.project.newGeneration(d)
	if g.store, err = r.Store(ctx, nil, d.Definition); err != nil {
		return err
	}
	p.project.generation.Store(g)
	return nil
}

// ConversionOptions implements cluster.Project.
func (p nodeProject) ConversionOptions(d *config.Definition) store.Options {
	return p.project.conversionOptions(d)
}

// Converting implements cluster.Project.
func (p nodeProject) Converting() { p.project.unready.Store(&converting) }

// RefreshTokens implements cluster.Project.
func (p nodeProject) RefreshTokens() error { return p.project.generation.Load().tokens.Refresh() }

// MadeSecret implements cluster.Project.
func (p nodeProject) MadeSecret() ([]byte, error) {
	g := p.project.generation.Load()
	if g.Settings.Users.Secret != "" || !g.Settings.Users.Enabled {
		return nil, nil
	}
	return g.keptSecret()
}

// Library implements cluster.Project.
func (p nodeProject) Library() *media.Library { return p.project.generation.Load().media }

// Reserve implements cluster.Project.
func (p nodeProject) Reserve(ctx context.Context) (grow func(int64) error, release func(), err error) {
	return p.project.reserve(ctx)
}

// RunSchedules implements cluster.Project.
func (p nodeProject) RunSchedules(ctx context.Context) { p.project.scheduler.run(ctx) }

// Webhooks implements cluster.Project.
func (p nodeProject) Webhooks() *webhooks.Dispatcher { return p.project.webhooks }

// Handler implements cluster.Project.
func (p nodeProject) Handler() http.Handler { return p.project.server.Load().Handler() }

// A Recovery says what becomes of a cluster that is recovered.
type Recovery = cluster.Recovery

// RecoverCluster makes nodes those of the cluster, after its majority was lost for good: they go on with the content of
// the node in dir, which must be one of them and be stopped. If nodes is empty, that node is alone. The content begins
// a new epoch, because positions that clients and replicas have from lost nodes may be those of other writes. Unless
// confirmed is set, RecoverCluster changes nothing.
func RecoverCluster(ctx context.Context, dir string, o Options, nodes []config.ClusterNode, confirmed bool) (r Recovery,
	err error) {
	path := Directory(dir, o).DataPath()
	lock, err := admin.Lock(path)
	if errors.Is(err, admin.ErrBusy) {
		return r, admin.BusyError(path)
	}
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if o, err = o.clustering(dir); err != nil {
		return r, err
	}
	if o.Cluster == nil {
		o.Cluster = &Cluster{}
	}
	p := newProject(dir, o.logging(dir))
	return cluster.Recover(p.nodeOptions(), func(n *cluster.Node) (*store.Store, error) {
		p.role, p.Data = &nodeRole{n}, lock
		d, err := p.read()
		if err != nil {
			return nil, err
		}
		if err := p.prepare(ctx, d); err != nil {
			return nil, err
		}
		return p.openStore(d.Definition)
	}, nodes, confirmed)
}

// DefinitionFiles returns the definition files of the project in dir as Deploy sends them.
func DefinitionFiles(dir string) ([]byte, error) {
	files, err := replication.ReadDefinitions(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	return files.Encode()
}

// InitCluster makes the credentials of a cluster's nodes in dir: a directory dir/NAME for each. A node that is listed
// several times can be reached at several hosts. If dir has credentials of a cluster already, InitCluster adds those of
// further nodes and overwrites nothing.
func InitCluster(dir string, nodes []config.ClusterNode) (credentials.Created, error) {
	var list []credentials.Node
	for _, n := range nodes {
		i := slices.IndexFunc(list, func(l credentials.Node) bool { return l.Name == n.Name })
		if i < 0 {
			i = len(list)
			list = append(list, credentials.Node{Name: n.Name})
		}
		list[i].Hosts = append(list[i].Hosts, n.Host())
	}
	return credentials.Create(dir, list)
}
