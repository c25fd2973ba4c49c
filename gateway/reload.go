package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"lectern/gateway/config"
	"lectern/gateway/internal/watch"
	"lectern/store"
	"lectern/store/evolve"
)

// reload reads the project's files and serves them. If they have problems or the store refuses them, the former
// generation stays in service and the error gives the reason.
func (p *Project) reload(ctx context.Context) error {
	return p.replace(ctx, replacement{load: p.load, store: p.role.Redefine})
}

// settle carries out migrations that the project's current files need, and serves the files.
func (p *Project) settle(ctx context.Context, ms evolve.Migrations) (removed evolve.Removed, err error) {
	if p.server.Load() == nil || !p.watches() {
		return removed, fmt.Errorf("%s: %w: it takes over changed files at the next start alone", ms,
			evolve.ErrNotAsked)
	}
	err = p.replace(context.WithoutCancel(ctx), replacement{load: p.load,
		store: func(ctx context.Context, before *store.Store, d *config.Definition) (st *store.Store, err error) {
			st, removed, err = before.Settle(ctx, ms, d.Model, p.conversionOptions(d))
			return st, err
		}})
	return removed, err
}

// A replacement says what is to be served in place of what is served now.
type replacement struct {
	load   func() (*Definition, error)
	store  redefiner
	copied bool // store returns one in a file of its own, and not the present one under other definitions
}

// A redefiner returns a store under the definitions of d. before is the store that is served; nil if there is none.
type redefiner = func(ctx context.Context, before *store.Store, d *config.Definition) (*store.Store, error)

// replace builds a generation of the definition and with the store of a replacement, and serves it.
func (p *Project) replace(ctx context.Context, r replacement) error {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	began := time.Now()
	old := p.generation.Load()
	d, err := r.load()
	if err != nil {
		return err
	}
	if later := d.takeLater(old.Definition); later != "" {
		p.log.Warn("a changed setting is taken over at the next start", "setting", later)
	}
	g := p.newGeneration(d)
	g.copied = r.copied
	if g.store, err = r.store(ctx, old.store, d.Definition); err != nil {
		return p.directory.WithCommand(err)
	}
	if err := g.serve(old); err != nil {
		return errors.Join(err, p.goBack(ctx, g, old))
	}
	p.reports.queue(g.content())
	p.observed.reloads.Add(1)
	types, _ := g.Size()
	p.log.Info("serving what the files say now", "types", types, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// conversionOptions returns the options of a conversion of the content to changed definitions.
func (p *Project) conversionOptions(d *config.Definition) store.Options {
	return store.Options{Progress: logProgress(p.log), DefaultLocale: d.Settings.I18n.DefaultLocale}
}

// serve builds the services of a generation that has its store, and serves it in place of the former one.
func (g *generation) serve(old *generation) error {
	if err := g.open(); err != nil {
		g.retire()
		return err
	}
	g.project.generation.Store(g) // for requests that arrive while the routes are built
	err := g.serveBy(g.project.server.Load())
	if err == nil {
		err = g.revokeUndeclared()
	}
	if err != nil {
		g.retire()
		return err
	}
	close(old.replaced)
	old.retire()
	g.project.scheduler.wake()
	g.useHooks()
	return nil
}

// goBack serves the former definitions again after new ones failed although the store had accepted them. If the failed
// generation has a store of its own, goBack serves the former store, and closes the other one.
func (p *Project) goBack(ctx context.Context, failed, old *generation) (err error) {
	g := p.newGeneration(old.Definition)
	if failed.copied {
		defer func() { err = errors.Join(err, failed.store.Abandon(ctx), failed.store.Close()) }()
		g.store = old.store
	} else {
		g.store, err = p.role.Redefine(ctx, failed.store, old.Definition.Definition)
	}
	if err == nil {
		err = g.serve(failed)
	}
	if err != nil {
		return fmt.Errorf("go back to the former definitions: %w", err)
	}
	close(old.replaced)
	old.retire()
	return nil
}

// takeLater resets the settings that need a restart to their former values, and returns the names of those that were
// changed.
func (d *Definition) takeLater(old *Definition) (changed string) {
	for _, part := range []struct {
		name     string
		now, was any // pointers
	}{
		{"config/server.yaml", &d.Settings.Server, &old.Settings.Server},
		{"upload.config in config/plugins.yaml", &d.Settings.Upload.Settings, &old.Settings.Upload.Settings},
	} {
		now, was := reflect.ValueOf(part.now).Elem(), reflect.ValueOf(part.was).Elem()
		if reflect.DeepEqual(now.Interface(), was.Interface()) {
			continue
		}
		if changed != "" {
			changed += ", "
		}
		changed += part.name
		now.Set(was)
	}
	return changed
}

// watches reports whether the project is reloaded when its files change.
func (p *Project) watches() bool {
	return !p.options.Production && !p.options.NoWatch && p.role.FilesDecide()
}

// watch starts watching the project's files. It returns nil if they are not to be watched or cannot be.
func (p *Project) watch() *watch.Watch {
	if !p.watches() {
		return nil
	}
	return watch.New(watch.Options{Dir: p.directory.Dir, Seen: p.loaded, Reload: p.reload, Log: p.log,
		Reloaded: func(err error) {
			if err != nil {
				p.logFailedReload(err)
			}
			if p.options.Reloaded != nil {
				p.options.Reloaded(err)
			}
		}})
}

// logFailedReload counts a failed reload and logs why changed files are not served, one line for each problem.
func (p *Project) logFailedReload(err error) {
	p.observed.failedReloads.Add(1)
	const still = "what was there before is still served"
	var problems config.Problems
	var refused *evolve.DefinitionError
	switch {
	case errors.As(err, &problems):
		p.log.Error("the files that were changed cannot work: "+still, "problems", len(problems))
		for _, problem := range problems {
			p.log.Error(problem.String())
		}
	case errors.As(err, &refused):
		p.log.Error("the definitions were changed in a way that would lose content: " + still +
			"; take the change back, or say what is to become of it")
		for _, r := range refused.Refusals {
			p.log.Error(r.Problem, "calls", strings.Join(refused.CallsOf(r), "; or "))
		}
		if all := refused.AtOnce(); all != "" && len(refused.Refusals) > 1 {
			p.log.Error("all of it is settled by one call", "call", all)
		}
	default:
		p.log.Error("the files that were changed were not taken over", "error", err)
	}
}
