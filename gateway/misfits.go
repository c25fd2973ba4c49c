package gateway

import (
	"context"
	"errors"
	"sync"

	"lectern/documents"
	"lectern/store"
)

// reportServed logs misfits of each generation that is served, in the background until ctx ends.
func (p *Project) reportServed(ctx context.Context) {
	for {
		select {
		case g := <-p.served:
			p.reportMisfits(ctx, g)
		case <-ctx.Done():
			return
		}
	}
}

// queueReport asks reportServed to report on a generation. The generation replaces one that is still waiting for its report.
func (p *Project) queueReport(g *generation) {
	select {
	case <-p.served:
	default:
	}
	p.served <- g
}

// reportMisfits logs which stored documents do not fit the files, as far as a quick look shows: missing required values, which GraphQL
// answers with an error, and locales that the configuration does not list. `lectern check` finds more.
func (p *Project) reportMisfits(ctx context.Context, g *generation) {
	var until sync.WaitGroup
	defer until.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	until.Go(func() {
		select {
		case <-g.replaced: // replaced by another generation, which gets its own report
			cancel()
		case <-ctx.Done():
		}
	})
	missing, err := documents.MissingIn(ctx, g.store, g.Model)
	for _, m := range missing {
		args := []any{"attribute", m.Attribute, "type", m.Type, "versions", m.Versions, "drafts", m.Drafts}
		if call := p.directory.FillCommand(m); call != "" {
			args = append(args, "fill", call)
		}
		p.log.Warn("stored documents lack a required value: over GraphQL they are answered with an error", args...)
	}
	if err == nil {
		err = p.reportLocales(g)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrRedefined) && !errors.Is(err, store.ErrClosed) {
		p.log.Error("look for stored documents that do not fit", "error", err)
	}
}

// reportLocales logs the locales that have content and are not configured.
func (p *Project) reportLocales(g *generation) error {
	return g.store.View(func(snap *store.Snapshot) error {
		for _, code := range snap.LocaleCodes() {
			if g.Settings.I18n.Has(code) {
				continue
			}
			for _, t := range g.Model.Types {
				if !t.Localized {
					continue
				}
				versions := 0
				for _, st := range []store.Status{store.Published, store.Draft} {
					page, err := snap.Find(&store.Query{Type: t, Status: st, Locales: store.LocaleSet{Codes: []string{code}}, Limit: 1, Count: true})
					if err != nil {
						return err
					}
					versions += page.Total
				}
				if versions > 0 {
					p.log.Warn("there is content in a locale that config/plugins.yaml does not list", "locale", code, "type", t.UID, "versions", versions)
				}
			}
		}
		return nil
	})
}
