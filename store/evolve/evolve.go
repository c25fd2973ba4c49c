// Package evolve plans how stored content is converted when its definitions change.
//
// A store keeps a Catalog: the definitions under which its content was written, and the numbers that stand for their
// names in the file. When a Model differs from the catalog (Changed), a Planner compares the two. It returns a Plan,
// which lists the Steps that convert the content, or a *DefinitionError, which lists the changes that would lose
// content and the Migrations that settle each of them.
//
// The Planner asks the store about its content through the interface Content and changes nothing. The store keeps the
// steps in its file and carries them out; after a crash it goes on where it stopped.
package evolve

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/spelling"
)

// A Planner plans conversions and migrations. The content must not change while it works.
type Planner struct {
	// Content returns the stored content, read under the definitions of a catalog.
	Content func(*Catalog) (Content, error)
	// DefaultLocale is the locale that content gets when its type becomes localized; "" is en.
	DefaultLocale string
}

// A Plan lists the steps that convert content to the definitions of a Model.
type Plan struct {
	Steps []*Step
	// Define is the step that replaces the definitions.
	Define *Define
	// Retyped are the attributes of the Model whose stored values are rewritten for another type.
	Retyped map[*contenttypes.Attribute]*Retyping
}

// Changed reports whether the definitions of a model differ from those of a catalog. A built-in type that is switched
// off is no difference.
func Changed(model *contenttypes.Model, cat *Catalog) bool {
	same := 0
	differs := func(uid string, definition []byte) bool {
		e := cat.Schemas[uid]
		same++
		return e == nil || !bytes.Equal(e.Definition, definition)
	}
	for _, t := range model.Types {
		if differs(t.UID, t.Definition()) {
			return true
		}
	}
	for _, c := range model.Components {
		if differs(c.UID, c.Definition()) {
			return true
		}
	}
	for uid, e := range cat.Schemas {
		if e.Definition != nil && !isDormant(model, uid) {
			same--
		}
	}
	return same != 0
}

// Converts reports whether content has to be converted for a model: the definitions differ, or a type lacks an inner
// index.
func Converts(model *contenttypes.Model, cat *Catalog) bool {
	return Changed(model, cat) || slices.ContainsFunc(model.Types, cat.lacksInner)
}

// isDormant reports whether a schema of the catalog is a built-in type that the model does not have because its plugin
// is switched off. The content of such a type is kept for when the plugin is switched on again.
func isDormant(model *contenttypes.Model, uid string) bool {
	return strings.Contains(uid, "::") && !strings.HasPrefix(uid, "api::") && model.Type(uid) == nil
}

// Convert plans the conversion of content from the definitions of a catalog to those of a model. It returns a
// *DefinitionError when the conversion would lose content.
func (p *Planner) Convert(cat *Catalog, model *contenttypes.Model) (*Plan, error) {
	c, err := p.compare(cat, model)
	if err != nil {
		return nil, err
	}
	if len(c.refusals) > 0 {
		return nil, c.advise()
	}
	steps, err := c.steps()
	return &Plan{Steps: steps, Define: &c.define, Retyped: c.retyped}, err
}

// Migrate plans migrations, one after the other. If model is not nil, it refuses the operations in contentOnly that the
// model does not ask for.
func (p *Planner) Migrate(cat *Catalog, ms Migrations, model *contenttypes.Model) ([]*Step, error) {
	m := &migrationPlan{planner: p, left: cat}
	failed := m.addAll(ms, func(call Migration) error { return m.unneeded(call, model) })
	if len(failed) > 0 && len(ms) > 1 {
		failed = append(failed, errors.New("nothing was done"))
	}
	return m.steps, errors.Join(failed...)
}

// Settle plans migrations and then the conversion to a model. The error wraps ErrNotAsked when the model does not ask
// for one of the migrations. It is a *DefinitionError when the conversion after them would still lose content.
func (p *Planner) Settle(cat *Catalog, ms Migrations, model *contenttypes.Model) ([]*Step, error) {
	m := &migrationPlan{planner: p, left: cat}
	if failed := m.addAll(ms, func(call Migration) error { return m.asked(call, model) }); len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	if !Converts(model, m.left) {
		return m.steps, nil
	}
	plan, err := p.Convert(m.left, model)
	var refused *DefinitionError
	if errors.As(err, &refused) {
		refused.Done = ms
	}
	if err != nil {
		return nil, err
	}
	return append(m.steps, plan.Steps...), nil
}

func plural(n int, what string) string { return spelling.Count(n, what) }
