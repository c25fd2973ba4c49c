package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
	"lectern/webhooks"
)

// maxTold is how long the document in the payload of a webhook may be. A longer one is left out.
const maxTold = 1 << 20

var errTold = errors.New("the document is too long for a webhook")

// A teller prints documents for webhooks as REST answers with populate=* show them.
type teller struct {
	api    *rest.API
	params *params.Parser
}

// newTeller returns the teller of a generation.
func (g *generation) newTeller() *teller {
	parser := params.New(g.Model, g.Settings.I18n.DefaultLocale, params.Limits{})
	return &teller{rest.New(g.Model, g.store, g.docs, parser), parser}
}

// useHooks has the webhooks of the generation told. Those of a replica are told by its origin.
func (g *generation) useHooks() {
	if g.project.role.HasOwnContent() {
		g.project.webhooks.Use(g.Settings.Webhooks)
	}
}

// webhookContent returns the content that webhooks are told about.
func (p *Project) webhookContent() webhooks.Content {
	g := p.generation.Load()
	return webhooks.Content{Store: g.store, Model: g.Model,
		Document: func(ctx context.Context, dst []byte, s *store.Snapshot, r store.Record, populated bool) ([]byte, error) {
			return g.teller().document(ctx, dst, s, r, populated)
		}}
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

// document appends a version with what everybody may see of it and, if populated is set, of what it leads to.
func (t *teller) document(ctx context.Context, dst []byte, s *store.Snapshot, r store.Record, populated bool) ([]byte, error) {
	shown, err := t.selection(r.Type(), populated)
	if err != nil {
		return nil, err
	}
	plain := &rest.Plain{API: t.api, Access: permission.FullAccess, Status: r.Status(), Limits: &rest.Limits{Bytes: maxTold, TooLong: errTold}}
	body, err := plain.Append(ctx, dst, s, r, shown)
	if errors.Is(err, errTold) {
		return append(dst, "null"...), nil
	}
	return body, err
}

// selection returns what is shown of documents of a type.
func (t *teller) selection(of *contenttypes.ContentType, populated bool) (*documents.Selection, error) {
	query := jsontree.NewObject()
	if populated {
		query.Set("populate", "*")
	}
	written, err := t.params.Write(of, query, permission.FullAccess)
	if err != nil {
		return nil, err
	}
	shown := *written.Selection
	shown.Populate = slices.DeleteFunc(slices.Clone(shown.Populate), func(p documents.Populate) bool { return p.Attr.Name == "localizations" })
	return &shown, nil
}
