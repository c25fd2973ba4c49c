// Package evolve plans how stored content follows its definitions when they change.
//
// A store keeps a Catalog: the definitions that its content was written under, and the numbers that stand for their names in the file.
// When a Model differs from it (Changed), a Planner compares the two. The result is a Plan, a list of Steps that convert the content, or a
// *DefinitionError, which lists what the change would lose and the Migrations that settle each of it. The Planner asks the store about its
// content through the interface Content and changes nothing. All its results are plain values: the store keeps the steps in its
// file and carries them out, also after a kill in the midst of them.
package evolve

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"lectern/contenttypes"
)

// A Planner compares definitions, for content that does not change meanwhile.
type Planner struct {
	// Content returns the content as it is seen under the definitions of a catalog.
	Content func(*Catalog) (Content, error)
	// DefaultLocale is what content becomes when its type becomes localized; "" is en.
	DefaultLocale string
}

// A Plan brings content in step with a Model.
type Plan struct {
	Steps []*Step
	// Define is the one of Steps that replaces the definitions.
	Define *Define
	// Retyped are the attributes of the Model whose stored values change their form.
	Retyped map[*contenttypes.Attribute]*Retyping
}

// Changed reports whether a model has other definitions than a catalog. Built-in types that are switched off are no change.
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

// isDormant reports whether a schema is a built-in type that a model goes without, since its plugin is switched off. Its
// content stays for when it is switched on again.
func isDormant(model *contenttypes.Model, uid string) bool {
	return strings.Contains(uid, "::") && !strings.HasPrefix(uid, "api::") && model.Type(uid) == nil
}

// Convert plans the conversion of content from the definitions of a catalog to those of a model. When that would lose content, the error
// is a *DefinitionError.
func (p *Planner) Convert(cat *Catalog, model *contenttypes.Model) (*Plan, error) {
	c, err := p.compare(cat, model)
	if err != nil {
		return nil, err
	}
	if len(c.refusals) > 0 {
		return nil, c.advise()
	}
	return &Plan{Steps: c.steps(), Define: &c.define, Retyped: c.retyped}, nil
}

// Migrate plans migrations, one after the other. With a model, operations that change content alone are refused where the model does
// not ask for them; without one (nil) they are not.
func (p *Planner) Migrate(cat *Catalog, ms Migrations, model *contenttypes.Model) ([]*Step, error) {
	m := &migrationPlan{planner: p, left: cat}
	failed := m.addAll(ms, func(call Migration) error { return m.unneeded(call, model) })
	if len(failed) > 0 && len(ms) > 1 {
		failed = append(failed, errors.New("nothing was done"))
	}
	return m.steps, errors.Join(failed...)
}

// Settle plans migrations that a model asks for, and the conversion to the model from what they leave. The error wraps ErrNotAsked when the
// model does not ask for one of them, and is a *DefinitionError when there is more to settle.
func (p *Planner) Settle(cat *Catalog, ms Migrations, model *contenttypes.Model) ([]*Step, error) {
	m := &migrationPlan{planner: p, left: cat}
	if failed := m.addAll(ms, func(call Migration) error { return m.asked(call, model) }); len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	if !Changed(model, m.left) {
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

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
