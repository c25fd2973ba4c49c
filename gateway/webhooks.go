package gateway

import (
	"context"
	"time"

	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
	"lectern/store"
	"lectern/webhooks"
)

// newPayloads returns what webhooks are sent of documents.
func (g *generation) newPayloads() *rest.Payloads {
	return rest.NewPayloads(g.Model, g.store, g.docs, g.Settings.I18n.DefaultLocale)
}

// useHooks has the webhooks of the generation sent. Those of a replica are sent by its origin.
func (g *generation) useHooks() {
	if g.project.role.HasOwnContent() {
		g.project.webhooks.Use(g.Settings.Webhooks)
	}
}

// webhookContent returns the content whose changes webhooks are sent.
func (p *Project) webhookContent() webhooks.Content {
	g := p.generation.Load()
	return webhooks.Content{Store: g.store, Model: g.Model,
		Document: func(ctx context.Context, dst []byte, s *store.Snapshot, r store.Record, populated bool) (
			[]byte, error) {
			return g.payloads().Append(ctx, dst, s, r, populated)
		}}
}

// webhookRoutes returns the routes of webhooks.
func (g *generation) webhookRoutes() []server.Route {
	o := routes.WebhookOptions{Prefix: g.Settings.REST.Prefix, Limits: g.limits()}
	if g.project != nil {
		o.Hooks = g.project.webhooks
		o.Refused = g.store.Refuses
	}
	return routes.Webhooks(o)
}

// statusWait is how long a scrape of the metrics waits for webhooks at most.
const statusWait = time.Second

// webhookStatus returns how the webhooks are doing, by name, for the metrics.
func (p *Project) webhookStatus() map[string]webhooks.Status {
	ctx, cancel := context.WithTimeout(context.Background(), statusWait)
	defer cancel()
	list, err := p.webhooks.List(ctx)
	if err != nil {
		p.log.Debug("the state of webhooks cannot be read", "error", err)
	}
	all := map[string]webhooks.Status{}
	for _, h := range list {
		if !h.Disabled {
			all[h.Name] = h
		}
	}
	return all
}
