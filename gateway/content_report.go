package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"lectern/documents/misfits"
	"lectern/gateway/admin"
	"lectern/internal/spelling"
	"lectern/store"
)

// contentReports log which stored documents do not fit the files that are served, as far as a quick look shows: missing
// required values, which GraphQL answers with an error, and locales that the configuration does not list. `lectern
// check` finds more.
type contentReports struct {
	log  *slog.Logger
	fill func(misfits.Misfit) string // a command that fills values in; "" if there is none
	next chan admin.Content

	mu   sync.Mutex
	last []string // what the last report found
}

func newContentReports(log *slog.Logger, fill func(misfits.Misfit) string) *contentReports {
	return &contentReports{log: log, fill: fill, next: make(chan admin.Content, 1)}
}

// found returns what the last report found.
func (c *contentReports) found() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.last)
}

// begin forgets what the report before found.
func (c *contentReports) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
}

// warn logs what a report found, and keeps text of it.
func (c *contentReports) warn(text, logged string, args ...any) {
	c.log.Warn(logged, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, text)
}

// queue asks run to report on content, in place of content that still waits for its report.
func (c *contentReports) queue(content admin.Content) {
	select {
	case <-c.next:
	default:
	}
	c.next <- content
}

// run reports on what was queued until ctx ends.
func (c *contentReports) run(ctx context.Context) {
	for {
		select {
		case content := <-c.next:
			c.report(ctx, content)
		case <-ctx.Done():
			return
		}
	}
}

// report logs what does not fit, and stops when the content is replaced.
func (c *contentReports) report(ctx context.Context, content admin.Content) {
	var until sync.WaitGroup
	defer until.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	until.Go(func() {
		select {
		case <-content.Replaced: // by content that gets its own report
			cancel()
		case <-ctx.Done():
		}
	})
	c.begin()
	missing, err := misfits.MissingIn(ctx, content.Store, content.Definition.Model)
	for _, m := range missing {
		args := []any{"attribute", m.Attribute, "type", m.Type, "versions", m.Versions, "drafts", m.Drafts}
		if call := c.fill(m); call != "" {
			args = append(args, "fill", call)
		}
		c.warn(m.String(),
			"stored documents lack a required value: over GraphQL they are answered with an error", args...)
	}
	if err == nil {
		err = c.reportLocales(content)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrRedefined) && !errors.Is(err, store.ErrClosed) {
		c.log.Error("look for stored documents that do not fit", "error", err)
	}
}

// reportLocales logs the locales that have content and are not configured.
func (c *contentReports) reportLocales(content admin.Content) error {
	return content.Store.View(func(snap *store.Snapshot) error {
		for _, code := range snap.LocaleCodes() {
			if content.Definition.Settings.I18n.Has(code) {
				continue
			}
			for _, t := range content.Definition.Model.Types {
				if !t.Localized {
					continue
				}
				versions := 0
				for _, st := range []store.Status{store.Published, store.Draft} {
					page, err := snap.Find(
						&store.Query{Type: t, Status: st, Locales: store.LocaleSet{Codes: []string{code}}, Limit: 1,
							Count: true})
					if err != nil {
						return err
					}
					versions += page.Total
				}
				if versions > 0 {
					c.warn(fmt.Sprintf("config/plugins.yaml does not list the locale %s, in which %s has %s", code,
						t.UID, spelling.Count(versions, "version")),
						"there is content in a locale that config/plugins.yaml does not list", "locale", code,
						"type", t.UID, "versions", versions)
				}
			}
		}
		return nil
	})
}
