package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
)

// A migrating is a Migration while its steps are put together. Content is brought in line with definitions as if somebody had
// edited them: is begins as a copy of was, the operation edits it, and what the store holds of definitions is replaced by it.
// How it compares with the project's definitions shows at the next start.
type migrating struct {
	plan    *migrationPlan
	snap    *Snapshot
	catalog *catalog
	args    []string
	was, is *contenttypes.Model
	define  defineStep
	before  []*step // under the definitions of before
	after   []*step
}

// A migrationPlan is what several migrations do, one after the other. Each is planned under the definitions that those before it
// leave, on the content as it is: what they remove of it is kept account of.
type migrationPlan struct {
	file  *file
	tx    *bolt.Tx
	left  *catalog // after the migrations so far
	steps []*step

	dropped map[string]bool      // locales that will be gone: by type and code
	pruned  map[uint16]Migration // that takes documents or versions from a type, by its number
}

// planMigrations returns the steps of migrations, or why some of them cannot be carried out.
func (s *file) planMigrations(cat *catalog, ms Migrations, model *contenttypes.Model, opts Options) (steps []*step, err error) {
	err = s.read(func(tx *bolt.Tx) error {
		p := &migrationPlan{file: s, tx: tx, left: cat}
		var failed []error
		for _, m := range ms {
			err := p.unneeded(m, model, opts)
			if err == nil {
				err = p.add(m)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", m, err))
			}
		}
		steps = p.steps
		if len(failed) > 0 && len(ms) > 1 {
			failed = append(failed, errors.New("nothing was done"))
		}
		return errors.Join(failed...)
	})
	return steps, err
}

// add plans a migration after those that there are. When it fails, it is as if it had not been called.
func (p *migrationPlan) add(m Migration) error {
	bound, err := bindStored(p.left)
	if err != nil {
		return err
	}
	edited, err := storedModel(p.left)
	if err != nil {
		return err
	}
	snap := newSnapshot(&Store{file: p.file, bound: bound}, p.tx)
	operate := migrations[m.Op]
	if operate == nil {
		return errors.New("it is done under the project's definitions, in a call of its own")
	}
	mg := &migrating{plan: p, snap: snap, catalog: p.left, args: m.Args, was: bound.model, is: edited}
	if err := operate(mg); err != nil {
		return err
	}
	mg.define.Definitions = definitionsOf(mg.is)
	left, err := p.left.clone()
	if err != nil {
		return err
	}
	if err := mg.define.apply(left); err != nil {
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
func (p *migrationPlan) unneeded(m Migration, model *contenttypes.Model, opts Options) error {
	if model == nil || !contentOnly[m.Op] {
		return nil
	}
	refused := &DefinitionError{}
	if _, err := p.file.planIn(p.tx, model, p.left, opts); err != nil && !errors.As(err, &refused) {
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

// migrations plan the operations.
var migrations = map[string]func(*migrating) error{
	renameType:      (*migrating).renameType,
	renameAttribute: (*migrating).renameAttribute,
	renameValue:     (*migrating).replaceValue,
	acceptNames:     (*migrating).acceptNames,
	shareValue:      (*migrating).shareValue,
	keepFirst:       (*migrating).keepFirst,
	keepLocale:      (*migrating).keepLocale,
	keepDocument:    (*migrating).keepDocument,
	dropLocale:      (*migrating).dropLocale,
	dropDrafts:      (*migrating).dropDrafts,
	dropType:        (*migrating).dropType,
	dropAttribute:   (*migrating).dropAttribute,
	dropValue:       (*migrating).replaceValue,
	dropItems:       (*migrating).dropItems,
	dropLinks:       (*migrating).dropLinks,
}

func (m *migrating) do(work ...stepWork)   { m.before = append(m.before, steps(work...)...) }
func (m *migrating) then(work ...stepWork) { m.after = append(m.after, steps(work...)...) }

// typ is the content-type that the first argument names, before and after.
func (m *migrating) typ() (was, is *contenttypes.ContentType, err error) {
	if was, is = m.was.Type(m.args[0]), m.is.Type(m.args[0]); was != nil {
		return was, is, nil
	}
	var known []string
	for _, t := range m.was.Types {
		known = append(known, t.UID)
	}
	return nil, nil, fmt.Errorf("the store has no content-type %q; it has %s", m.args[0], strings.Join(known, ", "))
}

// attribute is the attribute that the first argument names, before and after.
func (m *migrating) attribute() (was, is *contenttypes.Attribute, err error) {
	dot := strings.LastIndexByte(m.args[0], '.')
	if dot < 0 {
		return nil, nil, fmt.Errorf("%q names no attribute; write <uid>.<attribute>", m.args[0])
	}
	uid, name := m.args[0][:dot], m.args[0][dot+1:]
	s := schemaOf(m.was, uid)
	if s == nil {
		return nil, nil, fmt.Errorf("the store has no content-type or component %q", uid)
	}
	if was = s.Attribute(name); was == nil || was.System || was.Type == contenttypes.ID {
		return nil, nil, fmt.Errorf("the store has no attribute %q in %s", name, uid)
	}
	return was, schemaOf(m.is, uid).Attribute(name), nil
}

// edit changes the values of an attribute in all types that hold it.
func (m *migrating) edit(a *contenttypes.Attribute, e valueEdit) {
	e.Schema, e.Attr = a.Owner.UID, a.Name
	for _, t := range m.was.Types {
		if holds(&t.Schema, a.Owner) && !m.snap.isEmpty(m.snap.bound.of(&t.Schema)) {
			m.do(&valuesStep{Type: t.UID, Edits: []valueEdit{e}})
		}
	}
}

// remove takes attributes out of the definitions.
func remove(gone ...*contenttypes.Attribute) {
	for _, a := range gone {
		a.Owner.Attributes = slices.DeleteFunc(a.Owner.Attributes, func(b *contenttypes.Attribute) bool { return a == b })
	}
}

func (m *migrating) renameType() error {
	from, to := m.args[0], m.args[1]
	s := schemaOf(m.is, from)
	isType := m.is.Type(from) != nil
	switch {
	case s == nil:
		return fmt.Errorf("the store has no content-type or component %q", from)
	case isType != strings.Contains(to, "::") || to == from || strings.Count(to, ".") != 1:
		return fmt.Errorf("%q is no uid that it could have", to)
	}
	if there := schemaOf(m.is, to); there != nil {
		if !isType || !m.snap.isEmpty(m.snap.bound.byUID[to]) {
			return fmt.Errorf("the store has %s already, with content of its own; drop that first", to)
		}
		m.replace(there, s)
	}
	s.UID = to
	if t := m.is.Type(from); t != nil {
		t.Singular, t.Plural = "", "" // those of the new definition are accepted
	}
	m.define.Moved = map[string]string{from: to}
	return nil
}

// replace puts a type in the place of one without content.
func (m *migrating) replace(gone, by *contenttypes.Schema) {
	m.is.Types = slices.DeleteFunc(m.is.Types, func(t *contenttypes.ContentType) bool { return &t.Schema == gone })
	t := m.is.Type(by.UID)
	eachSchema(m.is, func(s *contenttypes.Schema) {
		for _, a := range s.Attributes {
			if a.Target != nil && &a.Target.Schema == gone {
				a.Target = t
				if a.Inverse != nil {
					a.Inverse = t.Attribute(a.Inverse.Name)
				}
			}
		}
	})
}

func (m *migrating) renameAttribute() error {
	_, is, err := m.attribute()
	if err != nil {
		return err
	}
	to := m.args[1]
	if is.Owner.Attribute(to) != nil {
		return fmt.Errorf("%s has an attribute %s already; drop that first", is.Owner.UID, to)
	}
	if to == "" || strings.ContainsAny(to, ". ") {
		return fmt.Errorf("%q is no name for an attribute", to)
	}
	m.define.MovedAttributes = map[string]map[string]string{is.Owner.UID: {is.Name: to}}
	is.Name = to
	return nil
}

// replaceValue is rename-value and drop-value.
func (m *migrating) replaceValue() error {
	was, is, err := m.attribute()
	if err != nil {
		return err
	}
	if !isText(was.Type) && was.Type != contenttypes.Enumeration {
		return fmt.Errorf("%s is %s and has no such values", attributeName(was), was.Type)
	}
	old := m.args[1]
	r := &replacement{Old: old}
	if len(m.args) > 2 {
		r.New = &m.args[2]
	}
	if was.Type == contenttypes.Enumeration {
		i := slices.Index(is.Enum, old)
		if i < 0 {
			return fmt.Errorf("%s has no value %q; it has %s", attributeName(was), old, strings.Join(quoted(is.Enum), ", "))
		}
		if r.New == nil || slices.Contains(is.Enum, *r.New) {
			is.Enum = slices.Delete(is.Enum, i, i+1)
		} else {
			is.Enum[i] = *r.New
		}
	}
	m.edit(was, valueEdit{Replace: r})
	return nil
}

func (m *migrating) acceptNames() error {
	_, is, err := m.typ()
	if err == nil {
		is.Singular, is.Plural = "", ""
	}
	return err
}

func (m *migrating) shareValue() error {
	was, is, err := m.attribute()
	if err != nil {
		return err
	}
	t, ok := was.OwnerType()
	if !ok || !t.Localized || was.Mapped {
		return fmt.Errorf("%s has no value for each locale", attributeName(was))
	}
	if err := m.hasLocale(t, m.args[1]); err != nil {
		return err
	}
	m.do(&shareStep{Type: t.UID, Attr: was.Name, Locale: m.args[1]})
	is.Localized = false
	return nil
}

// hasLocale guards against a slip of the pen, which would take everything away.
func (m *migrating) hasLocale(t *contenttypes.ContentType, code string) error {
	if !t.Localized {
		return fmt.Errorf("%s has no locales", t.UID)
	}
	c := comparison{snap: m.snap}
	b := m.snap.bound.of(&t.Schema)
	var codes []string
	c.eachLocale(b, func(code string, _ int) {
		if !m.plan.dropped[droppedLocale(b, code)] {
			codes = append(codes, code)
		}
	})
	if !slices.Contains(codes, code) {
		return fmt.Errorf("%s has nothing in locale %q; it has %s", t.UID, code, strings.Join(codes, ", "))
	}
	return nil
}

// droppedLocale is the key of migrationPlan.dropped.
func droppedLocale(b *boundSchema, code string) string { return fmt.Sprint(b.number, code) }

// prune plans that documents or versions of a type are removed.
func (m *migrating) prune(t *contenttypes.ContentType, op string, p *pruneStep) {
	if m.plan.pruned == nil {
		m.plan.pruned, m.plan.dropped = map[uint16]Migration{}, map[string]bool{}
	}
	b := m.snap.bound.of(&t.Schema)
	m.plan.pruned[b.number] = migration(op, m.args...)
	if p.Rule == pruneLocale {
		m.plan.dropped[droppedLocale(b, p.Locale)] = true
	}
	m.do(p)
}

func (m *migrating) keepFirst() error {
	was, _, err := m.attribute()
	switch {
	case err != nil:
		return err
	case was.IsRelation() && (!was.Mapped || was.Inverse != nil):
		m.do(&trimLinksStep{Type: was.Owner.UID, Attr: was.Name})
	case was.IsStored() && !was.IsScalar():
		m.edit(was, valueEdit{Clear: &clearing{KeepFirst: true}})
	default:
		return fmt.Errorf("%s is %s, which is no list", attributeName(was), was.Type)
	}
	return nil
}

func (m *migrating) keepLocale() error {
	was, is, err := m.typ()
	if err != nil {
		return err
	}
	code := m.args[1]
	if err := m.hasLocale(was, code); err != nil {
		return err
	}
	m.prune(was, keepLocale, &pruneStep{Type: was.UID, Rule: pruneOtherLocales, Locale: code})
	is.Localized = false
	for _, a := range is.Attributes {
		a.Localized = false
	}
	remove(is.Attribute("locale"), is.Attribute("localizations"))
	m.then(&moveLocaleStep{is.UID, code, ""}, &moveRefsStep{is.UID, code, ""})
	return nil
}

func (m *migrating) keepDocument() error {
	was, is, err := m.typ()
	if err != nil {
		return err
	}
	doc, ok := m.snap.Document(was, m.args[1])
	if !ok {
		return fmt.Errorf("%s has no document %q", was.UID, m.args[1])
	}
	if by, ok := m.plan.pruned[m.snap.bound.of(&was.Schema).number]; ok {
		return fmt.Errorf("whether %s leaves this document is known only then; make a call of its own after that", by)
	}
	m.prune(was, keepDocument, &pruneStep{Type: was.UID, Rule: pruneOtherDocuments, Document: doc})
	is.Kind = contenttypes.SingleType
	return nil
}

func (m *migrating) dropLocale() error {
	was, _, err := m.typ()
	if err != nil {
		return err
	}
	if err := m.hasLocale(was, m.args[1]); err != nil {
		return err
	}
	m.prune(was, dropLocale, &pruneStep{Type: was.UID, Rule: pruneLocale, Locale: m.args[1]})
	return nil
}

func (m *migrating) dropDrafts() error {
	was, is, err := m.typ()
	if err != nil {
		return err
	}
	if !was.DraftAndPublish {
		return fmt.Errorf("%s has no drafts", was.UID)
	}
	m.prune(was, dropDrafts, &pruneStep{Type: was.UID, Rule: pruneNeverPublished})
	m.do(&dropDraftsStep{Type: was.UID})
	is.DraftAndPublish = false
	for _, t := range m.is.Types {
		for _, a := range t.Attributes {
			if !a.IsRelation() || a.System || a.Mapped {
				continue
			}
			if before := Planed(m.was.Type(t.UID).Attribute(a.Name)); before && (t == is || !Planed(a)) {
				m.then(&dropPlaneStep{t.UID, a.Name})
			}
			if t == is && Planed(a) { // what was drawn up for drafts alone is gone
				m.then(&copyPlaneStep{t.UID, a.Name})
			}
		}
	}
	return nil
}

func (m *migrating) dropType() error {
	was, is, err := m.typ()
	if err != nil {
		if m.was.Component(m.args[0]) != nil {
			return fmt.Errorf("%s is a component; drop-items and drop-attribute remove it from the attributes that hold it", m.args[0])
		}
		return err
	}
	m.do(&pruneStep{Type: was.UID, Rule: pruneAll})
	m.is.Types = slices.DeleteFunc(m.is.Types, func(t *contenttypes.ContentType) bool { return t == is })
	eachSchema(m.is, func(s *contenttypes.Schema) {
		s.Attributes = slices.DeleteFunc(s.Attributes, func(a *contenttypes.Attribute) bool { return a.Target == is })
	})
	return nil
}

func (m *migrating) dropAttribute() error {
	was, is, err := m.attribute()
	if err != nil {
		return err
	}
	switch {
	case was.IsStored():
		m.edit(was, valueEdit{Clear: &clearing{}})
		e := m.catalog.Schemas[was.Owner.UID]
		if f := e.Fields[was.Name]; slices.Contains(e.Indexed, f) {
			m.define.Reordered = map[string][]string{was.Owner.UID: {was.Name}}
			m.then(&dropIndexStep{e.Number, f, attributeName(was)})
		}
	case !was.Mapped:
		m.do(&dropLinksStep{Type: was.Owner.UID, Attr: was.Name})
		for _, t := range m.is.Types { // the other sides, which have nothing to show
			for _, a := range slices.Clone(t.Attributes) {
				if a.Mapped && a.Inverse == is {
					remove(a)
				}
			}
		}
	case is.Inverse != nil:
		is.Inverse.Inverse = nil // the relation goes on from the other side alone
	}
	remove(is)
	return nil
}

func (m *migrating) dropItems() error {
	was, _, err := m.attribute()
	if err != nil {
		return err
	}
	if was.IsScalar() || was.IsRelation() || m.was.Component(m.args[1]) == nil {
		return fmt.Errorf("%s holds no component %q", attributeName(was), m.args[1])
	}
	m.edit(was, valueEdit{Clear: &clearing{Component: m.args[1]}})
	return nil
}

func (m *migrating) dropLinks() error {
	was, _, err := m.attribute()
	if err != nil {
		return err
	}
	if was.Mapped && was.Inverse != nil {
		was = was.Inverse
	}
	if !was.IsRelation() || was.Mapped {
		return fmt.Errorf("%s is %s, which has no links", attributeName(was), was.Type)
	}
	m.do(&dropLinksStep{Type: was.Owner.UID, Attr: was.Name})
	return nil
}
