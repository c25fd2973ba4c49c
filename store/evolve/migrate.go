package evolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lectern/contenttypes"
)

// A migrating is a Migration while its steps are put together. Content is brought in line with definitions as if somebody had
// edited them: is begins as a copy of was, the operation edits it, and what the store holds of definitions is replaced by it.
// How it compares with the project's definitions shows at the next start.
type migrating struct {
	plan    *migrationPlan
	content Content
	catalog *Catalog
	args    []string
	was, is *contenttypes.Model
	define  Define
	before  []*Step // under the definitions of before
	after   []*Step
}

// A migrationPlan is what several migrations do, one after the other. Each is planned under the definitions that those before it
// leave, on the content as it is: what they remove of it is kept account of.
type migrationPlan struct {
	planner *Planner
	left    *Catalog // after the migrations so far
	steps   []*Step

	dropped map[string]bool      // locales that will be gone: by type and code
	pruned  map[uint16]Migration // that takes documents or versions from a type, by its number
}

// addAll plans migrations that pass a check, and returns why some of them cannot be carried out.
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

// add plans a migration after those that there are. When it fails, it is as if it had not been called.
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
	p.left = left
	p.steps = slices.Concat(p.steps, mg.before, steps(&mg.define), mg.after)
	return nil
}

// contentOnly are the operations that leave definitions as they are. That they were carried out shows nowhere, so they are refused where
// nothing asks for them: made by mistake, or once more, they would take away content that fits.
var contentOnly = map[string]bool{keepFirst: true, dropItems: true, dropLinks: true}

// NeedModel reports whether a migration is among ms that is refused where definitions do not ask for it.
func (ms Migrations) NeedModel() bool {
	return slices.ContainsFunc(ms, func(m Migration) bool { return contentOnly[m.Op] })
}

// unneeded says why a migration that leaves definitions as they are is not called for by those of the project; nil where it is, and for
// all others.
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
			return fmt.Errorf("the project's definitions do not ask for it; first %s, and see what is left to settle then", r.Calls[0])
		}
	}
	return errors.New("nothing is left to settle here: the content fits the project's definitions as they are; change those first")
}

// ErrNotAsked: a migration is none that a store carries out while it is in use.
var ErrNotAsked = errors.New("cannot be done while the server runs")

// settledInUse are the migrations after which content fits definitions that can be told from the definitions alone, before
// they are carried out: the values that they leave stay as they are.
var settledInUse = map[string]bool{renameType: true, renameAttribute: true, acceptNames: true, dropType: true, dropAttribute: true}

// asked says why a migration is none that a store carries out while it is in use; nil where it is. A rename must lead from a name
// that the model does not have to one that it has; anything else must be what the model is refused for.
func (p *migrationPlan) asked(m Migration, model *contenttypes.Model) error {
	notAsked := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrNotAsked}, args...)...)
	}
	switch m.Op {
	case renameType:
		return nameTaken(m.Args[0], m.Args[1], "", func(uid string) bool { return schemaOf(model, uid) != nil })
	case renameAttribute:
		uid, name, _ := cutLast(m.Args[0], ".")
		owner := schemaOf(model, uid)
		if owner == nil {
			return notAsked("the definitions have no %s", uid)
		}
		return nameTaken(name, m.Args[1], " in "+uid, func(name string) bool { return owner.Attribute(name) != nil })
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

// nameTaken says why definitions do not ask for a rename.
func nameTaken(from, to, where string, has func(string) bool) error {
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
