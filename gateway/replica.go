package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"lectern/auth"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/replica"
	"lectern/gateway/internal/replication"
	"lectern/gateway/internal/server"
	"lectern/internal/budget"
	"lectern/store"
)

// Follow says which server a replica follows.
type Follow struct {
	// URL is the address of the origin, such as https://cms.example.com; with the path of its REST API, unless that is
	// /api.
	URL   string
	Token string // an API token of the origin with the permission lectern::replica.follow
	// Silence is how long nothing may come from the origin before the replica connects anew; 0: 15 seconds.
	Silence time.Duration
	// Forward sends writes to the origin. Otherwise they are refused.
	Forward bool
	// Part is the part of the content that the replica has.
	Part store.Part

	dial forward.Dialer // connects to the origin; nil: over TCP
}

// settings returns what a replica knows of its origin; nil if f is nil.
func (f *Follow) settings() *replica.Settings {
	if f == nil {
		return nil
	}
	return &replica.Settings{URL: f.URL, Token: f.Token, Silence: f.Silence, Forward: f.Forward, Part: f.Part,
		Dial: f.dial}
}

// following returns the options of a server with what config/server.yaml says about a replica, unless Follow says that.
func (o Options) following(dir string) (Options, error) {
	r, err := config.ReadReplica(dir)
	if err != nil || r.URL == "" {
		return o, err
	}
	if o.Follow == nil {
		o.Follow = &Follow{URL: r.URL, Token: r.Token}
	}
	follow := *o.Follow
	follow.Forward = follow.Forward || r.Forward
	if follow.Part.All() {
		follow.Part = r.Part
	}
	o.Follow = &follow
	return o, nil
}

// replicaOptions returns the options of the replica in dir.
func (o Options) replicaOptions(dir string) replica.Options {
	directory := Directory(dir, o)
	return replica.Options{
		Settings: o.Follow.settings(), Dir: dir, Data: directory.DataPath(),
		Load: directory.Load, Command: directory.Command, Log: o.Log,
	}
}

// Promote makes the replica in dir an origin: it no longer follows, and takes writes at the next start. Its content
// begins a new epoch, so that replicas which have followed it, or its origin, begin anew with a copy. partial allows
// that it is a partial replica, which then has all that there is. No server may run on the data directory.
func Promote(dir string, o Options, partial bool) error {
	return replica.Promote(o.replicaOptions(dir), partial)
}

// replicaRole is the role of a server that is a replica.
type replicaRole struct{ *replica.Replica }

// newReplica returns the role of a project whose data directory is that of a replica; nil if it is not.
func (p *Project) newReplica() (role, error) {
	o := p.options.replicaOptions(p.directory.Dir)
	o.Project = copiedProject{p}
	r, err := replica.New(o)
	if err != nil || r == nil {
		return nil, err
	}
	if !r.Follows() {
		p.Refused = p.directory.RefuseChanges()
	}
	return &replicaRole{r}, nil
}

// MissingFiles implements role.
func (r *replicaRole) MissingFiles() fileSource { return r.Uploads() }

// copiedProject is a project as its replicas know it, or as it is known if it is one itself.
type copiedProject struct{ project *Project }

// Served implements replica.Project.
func (p copiedProject) Served() (admin.Content, *replication.Definitions) {
	g := p.project.generation.Load()
	return g.content(), g.files
}

// Store implements replica.Project.
func (p copiedProject) Store() *store.Store { return p.project.Store() }

// Reload implements replica.CopiedProject.
func (p copiedProject) Reload(ctx context.Context) error { return p.project.reload(ctx) }

// ServeCopy implements replica.CopiedProject.
func (p copiedProject) ServeCopy(ctx context.Context) error {
	return p.project.replace(ctx, replacement{load: p.project.load, copied: true,
		store: func(_ context.Context, _ *store.Store, d *config.Definition) (*store.Store, error) {
			return p.project.openStore(d)
		}})
}

// Memory implements replica.CopiedProject.
func (p copiedProject) Memory() *budget.Budget { return p.project.memory }

// Log implements replica.CopiedProject.
func (p copiedProject) Log() *slog.Logger { return p.project.log }

// newSource returns what sends the content of the project to its replicas.
func (p *Project) newSource(limits server.Limits) *replica.Origin {
	return replica.NewOrigin(replica.OriginOptions{
		Project: copiedProject{p}, Uploads: func() string { return p.Data.Join(admin.UploadsName) },
		CopyRate: limits.CopyRate, Stopping: p.stopping, Log: p.log,
	})
}

// replicaPath is what the paths of these routes begin with, below the prefix of the API.
const replicaPath = "/_replica"

// replicationRoutes returns the routes by which replicas follow the server.
func (g *generation) replicationRoutes() (routes []server.Route) {
	var source *replica.Origin // nil if the generation is not open
	if g.project != nil {
		source = g.project.replicas
	}
	for path, handle := range source.Handlers() {
		routes = append(routes, server.Route{
			Method: http.MethodGet, Path: g.Settings.REST.Prefix + replicaPath + path, Action: auth.FollowAction,
			Streams: true, Long: handle, Unmetered: true,
		})
	}
	return routes
}
