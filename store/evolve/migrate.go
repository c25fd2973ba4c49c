package evolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lectern/contenttypes"
)

// migrating is the planning of one migration. The model is starts as a copy of was. The operation edits it as a person
// would edit the definitions, and the edited definitions replace those in the catalog. They are compared with the
// definitions of the project later, at the next start.
type migrating struct {
	plan    *migrationPlan
	content Content
	catalog *Catalog
	args    []string
	was, is *contenttypes.Model
	define  Define
	before  []*Step // run under the old definitions
	after   []*Step // run under the new ones
}

// A migrationPlan is a list of migrations, each planned under the definitions that those before it leave. Content is
// read as it is now; dropped and pruned record what the migrations before will remove from it.
type migrationPlan struct {
	planner *Planner
	left    *Catalog // the catalog after the migrations so far
	steps   []*Step

	dropped map[string]bool      // the locales that are removed, see droppedLocale
	pruned  map[uint16]Migration // the migration that removes documents or versions of a type, by its number
}

// addAll plans the migrations that pass a check, and returns an error for each of the others.
func (p *migrationPlan) addAll(ms Migrations, check func(Migration) error) (failed []error) {
	for _, m := range ms {
		err := check(m)
		if err == nil {
			err = p.add(m)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m, err))
		}
	}
	return failed
}

// add plans one more migration. If it fails, the plan is unchanged.
func (p *migrationPlan) add(m Migration) error {
	content, err := p.planner.Content(p.left)
	if err != nil {
		return err
	}
	edited, err := p.left.Model()
	if err != nil {
		return err
	}
	operate := operations[m.Op]
	if operate == nil {
		return errors.New("it is done under the project's definitions, in a call of its own")
	}
	mg := &migrating{plan: p, content: content, catalog: p.left, args: m.Args, was: content.Model(), is: edited}
	if err := operate(mg); err != nil {
		return err
	}
	mg.define.Definitions = definitionsOf(mg.is)
	left, err := p.left.Clone()
	if err != nil {
		return err
	}
	if err := mg.define.Apply(left); err != nil {
		return err
	}
	p.steps = slices.Concat(p.steps, mg.before, steps(&mg.define), droppedInner(p.left, left), mg.after)
	p.left = left
	return nil
}

// contentOnly are the operations that do not change definitions. Nothing shows that they were carried out, so they are
// refused unless the definitions ask for them: by mistake, or a second time, they would remove content that fits.
var contentOnly = map[string]bool{keepFirst: true, dropItems: true, dropLinks: true}

// NeedModel reports whether Planner.Migrate needs a model to decide about one of the migrations.
func (ms Migrations) NeedModel() bool {
	return slices.ContainsFunc(ms, func(m Migration) bool { return contentOnly[m.Op] })
}

// unneeded returns an error for an operation in contentOnly that the definitions of the project do not ask for, and nil
// for all others.
func (p *migrationPlan) unneeded(m Migration, model *contenttypes.Model) error {
	if model == nil || !contentOnly[m.Op] {
		return nil
	}
	refused := &DefinitionError{}
	if _, err := p.planner.Convert(p.left, model); err != nil && !errors.As(err, &refused) {
		return err
	}
	if refused.offers(m) {
		return nil
	}
	for _, r := range refused.Refusals {
		if len(r.After) == 0 && slices.ContainsFunc(r.Calls, Migration.renames) {
			return fmt.Errorf("the project's definitions do not ask for it; first %s, "+
				"and see what is left to settle then", r.Calls[0])
		}
	}
	return errors.New("nothing is left to settle here: the content fits the project's definitions as they are; " +
		"change those first")
}

// ErrNotAsked is the error of a migration that cannot be carried out while the store is in use.
var ErrNotAsked = errors.New("cannot be done while the server runs")

// settledInUse are the migrations that can be carried out while the store is in use. They leave values as they are, so
// the definitions alone tell whether the content fits afterwards.
var settledInUse = map[string]bool{renameType: true, renameAttribute: true, acceptNames: true, dropType: true,
	dropAttribute: true}

// asked returns an error for a migration that cannot be carried out while the store is in use, nil for one that can. A
// rename must lead from a name that the model does not have to one that it has; other migrations must settle a refusal
// of the model.
func (p *migrationPlan) asked(m Migration, model *contenttypes.Model) error {
	notAsked := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrNotAsked}, args...)...)
	}
	switch m.Op {
	case renameType:
		return checkRename(m.Args[0], m.Args[1], "", func(uid string) bool { return schemaOf(model, uid) != nil })
	case renameAttribute:
		uid, name, _ := cutLast(m.Args[0], ".")
		owner := schemaOf(model, uid)
		if owner == nil {
			return notAsked("the definitions have no %s", uid)
		}
		return checkRename(name, m.Args[1], " in "+uid, func(name string) bool { return owner.Attribute(name) != nil })
	}
	if !settledInUse[m.Op] {
		return notAsked("whether content fits after it is known only then")
	}
	refused := &DefinitionError{}
	if !Changed(model, p.left) {
		return notAsked("the content fits the definitions as they are")
	}
	if _, err := p.planner.Convert(p.left, model); err != nil && !errors.As(err, &refused) {
		return err
	}
	if !refused.offers(m) {
		return notAsked("the definitions are not refused for this")
	}
	return nil
}

// checkRename returns an error if definitions do not ask for a rename: they still have the old name, or do not have the
// new one.
func checkRename(from, to, where string, has func(string) bool) error {
	switch {
	case has(from):
		return fmt.Errorf("%w: the definitions still have %s%s", ErrNotAsked, from, where)
	case !has(to):
		return fmt.Errorf("%w: the definitions have no %s%s", ErrNotAsked, to, where)
	}
	return nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
