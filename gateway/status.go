package gateway

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
	"lectern/gateway/internal/status"
	"lectern/internal/clock"
	"lectern/internal/diskspace"
)

// statusRoute returns the route at which callers see how the server is.
func (g *generation) statusRoute() server.Route {
	return routes.Status(routes.StatusOptions{
		Prefix: g.Settings.REST.Prefix, Limits: g.limits(),
		Tell: func(ctx context.Context) any { return g.project.status(ctx) },
	})
}

// newHistory returns the history of what the server does from now on.
func (p *Project) newHistory() *status.History {
	return status.New(status.Options{Clock: clock.System, Read: p.counted, Counts: p.counts})
}

// counted returns what the server has counted until now, and what it uses.
func (p *Project) counted() status.Reading {
	st := p.generation.Load().store
	r := status.Reading{Writes: st.Stats().Writes, Free: p.freeDisk()}
	if p.observed.metrics != nil {
		r.Totals = p.observed.metrics.Totals()
	}
	usage, err := st.Usage()
	if err != nil { // the state of the store tells operators what is wrong
		p.log.Debug("the usage of the store cannot be read", "error", err)
	}
	r.Disk = usage.Bytes
	return r
}

// freeDisk returns how many bytes are left on the disk of the data directory; -1 if that is not known.
func (p *Project) freeDisk() int64 {
	dir, err := os.Open(p.Data.Path)
	if err != nil {
		return -1
	}
	defer dir.Close()
	if free := diskspace.Available(dir); free != math.MaxInt64 {
		return free
	}
	return -1
}

// counts reports whether requests of a route tell how fast the server is: those of probes, of the change feed and of
// replicas do not.
func (p *Project) counts(route string) bool {
	prefix := strings.ToLower(p.Definition().Settings.REST.Prefix)
	return !slices.Contains([]string{"/_health", "/_ready", "/_metrics", prefix + changesPath}, route) &&
		!strings.HasPrefix(route, prefix+replicaPath)
}

// noted notes a request that was slow or failed.
func (p *Project) noted(n server.Notable) {
	r := admin.NotedRequest{
		ID: n.ID, At: n.Began.UTC().Truncate(time.Millisecond), Method: n.Method, Route: n.Route, Status: n.Status,
		Took: status.Milliseconds(n.Took), Principal: n.Principal, Reason: string(n.Reason),
	}
	if n.Status >= 500 {
		p.history.Failed(r)
	}
	if n.Took >= status.SlowAfter {
		p.history.Slow(r)
	}
}

// status returns how the server is, and what it has done in the last day.
func (p *Project) status(ctx context.Context) admin.Status {
	s := admin.Status{
		Version: p.options.Version, Mode: "single", Condition: admin.Ready, Warnings: p.warnings(),
		Webhooks: []admin.WebhookStatus{}, Replicas: p.replicas.List(),
	}
	if reason := p.readiness(); reason != nil {
		s.Condition = *reason
	}
	if s.Condition.Replica = p.role.ReplicaState(); s.Condition.Replica != nil {
		s.Mode = "replica"
	}
	if s.Replicas == nil {
		s.Replicas = []admin.Following{}
	}
	p.history.Tell(&s)
	if at := p.LastBackup(); !at.IsZero() {
		at = at.UTC()
		s.LastBackup = &at
	}
	for name, h := range p.webhookStatus() {
		one := admin.WebhookStatus{Name: name, Waiting: uint64(h.Waiting) + h.Unread, DeadLetters: h.Dead, Down: h.Down,
			Stopped: h.Stopped}
		if !h.Oldest.IsZero() {
			one.Oldest = &h.Oldest
		}
		s.Webhooks = append(s.Webhooks, one)
	}
	slices.SortFunc(s.Webhooks, func(x, y admin.WebhookStatus) int { return strings.Compare(x.Name, y.Name) })
	p.tellCluster(ctx, &s)
	return s
}

// tellCluster adds the nodes of the cluster, if the server is one of them.
func (p *Project) tellCluster(ctx context.Context, s *admin.Status) {
	if p.cluster == nil {
		return
	}
	s.Mode = "node"
	cluster, err := p.cluster.Status(ctx)
	if err != nil { // the condition of the server tells why
		p.log.Debug("the state of the cluster cannot be read", "error", err)
		return
	}
	s.Cluster = &cluster
}

// warnings returns what lectern check would warn of, as far as that is known without reading all content.
func (p *Project) warnings() []string {
	g := p.generation.Load()
	list := append([]string{}, g.Settings.GraphQL.Warnings...)
	if g.users != nil && g.registrationIsUnsettled() {
		if open, err := g.users.AnybodyMayRegister(); err == nil && open {
			list = append(list, anybodyRegisters)
		}
	}
	if text := g.unstatedDrafts(); text != "" {
		list = append(list, text)
	}
	if p.role.FilesDecide() && !p.options.Ephemeral {
		for _, tok := range g.tokens.List() {
			if !tok.Declared && !tok.Removed() {
				list = append(list, "the API token "+tok.Name+", which permissions.yaml does not declare, works until it is revoked")
			}
		}
	}
	return append(list, p.reports.found()...)
}
