package evolve

import (
	"fmt"
	"slices"
	"strings"

	"lectern/contenttypes"
)

// operations maps the name of each operation to the function that plans it. Fill is missing, since it is carried out by
// ordinary writes.
var operations = map[string]func(*migrating) error{
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

func (m *migrating) do(work ...Work)   { m.before = append(m.before, steps(work...)...) }
func (m *migrating) then(work ...Work) { m.after = append(m.after, steps(work...)...) }

// typ returns the content-type that the first argument names, under the old and the new definitions.
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

// attribute returns the attribute that the first argument names, under the old and the new definitions.
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

// edit plans a change of the values of an attribute in all types that contain it.
func (m *migrating) edit(a *contenttypes.Attribute, e ValueEdit) {
	e.Schema, e.Attr = a.Owner.UID, a.Name
	for _, t := range m.was.Types {
		if t.Holds(a.Owner) && !m.content.IsEmpty(t) {
			m.do(&EditValues{Type: t.UID, Edits: []ValueEdit{e}})
		}
	}
}

// remove removes attributes from the definitions.
func remove(gone ...*contenttypes.Attribute) {
	for _, a := range gone {
		a.Owner.Attributes = slices.DeleteFunc(a.Owner.Attributes,
			func(b *contenttypes.Attribute) bool { return a == b })
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
		if !isType || !m.content.IsEmpty(m.was.Type(to)) {
			return fmt.Errorf("the store has %s already, with content of its own; drop that first", to)
		}
		m.replace(there, s)
	}
	s.UID = to
	if t := m.is.Type(from); t != nil {
		t.Singular, t.Plural = "", "" // the next start takes those of the new definition
	}
	m.define.Moved = map[string]string{from: to}
	return nil
}

// replace removes a type without content from the definitions and lets the relations to it lead to another type.
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

// replaceValue plans rename-value and drop-value.
func (m *migrating) replaceValue() error {
	was, is, err := m.attribute()
	if err != nil {
		return err
	}
	if !isText(was.Type) && was.Type != contenttypes.Enumeration {
		return fmt.Errorf("%s is %s and has no such values", attributeName(was), was.Type)
	}
	old := m.args[1]
	r := &Replacement{Old: old}
	if len(m.args) > 2 {
		r.New = &m.args[2]
	}
	if was.Type == contenttypes.Enumeration {
		i := slices.Index(is.Enum, old)
		if i < 0 {
			return fmt.Errorf("%s has no value %q; it has %s", attributeName(was), old,
				strings.Join(quoted(is.Enum), ", "))
		}
		if r.New == nil || slices.Contains(is.Enum, *r.New) {
			is.Enum = slices.Delete(is.Enum, i, i+1)
		} else {
			is.Enum[i] = *r.New
		}
	}
	m.edit(was, ValueEdit{Replace: r})
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
	m.do(&Share{Type: t.UID, Attr: was.Name, Locale: m.args[1]})
	is.Localized = false
	return nil
}

// hasLocale returns an error if a type has no content in a locale. With a mistyped code, keep-locale would remove
// everything.
func (m *migrating) hasLocale(t *contenttypes.ContentType, code string) error {
	if !t.Localized {
		return fmt.Errorf("%s has no locales", t.UID)
	}
	var codes []string
	m.content.EachLocale(t, func(code string, _ int) {
		if !m.plan.dropped[m.droppedLocale(t, code)] {
			codes = append(codes, code)
		}
	})
	if !slices.Contains(codes, code) {
		return fmt.Errorf("%s has nothing in locale %q; it has %s", t.UID, code, strings.Join(codes, ", "))
	}
	return nil
}

// droppedLocale returns the key of a type and locale in migrationPlan.dropped.
func (m *migrating) droppedLocale(t *contenttypes.ContentType, code string) string {
	return fmt.Sprint(m.catalog.Schemas[t.UID].Number, code)
}

// prune plans the removal of documents or versions of a type.
func (m *migrating) prune(t *contenttypes.ContentType, op string, p *Prune) {
	if m.plan.pruned == nil {
		m.plan.pruned, m.plan.dropped = map[uint16]Migration{}, map[string]bool{}
	}
	m.plan.pruned[m.catalog.Schemas[t.UID].Number] = migration(op, m.args...)
	if p.Rule == PruneLocale {
		m.plan.dropped[m.droppedLocale(t, p.Locale)] = true
	}
	m.do(p)
}

func (m *migrating) keepFirst() error {
	was, _, err := m.attribute()
	switch {
	case err != nil:
		return err
	case was.IsRelation() && (!was.Mapped || was.Inverse != nil):
		m.do(&TrimLinks{Type: was.Owner.UID, Attr: was.Name})
	case was.IsStored() && !was.IsScalar():
		m.edit(was, ValueEdit{Clear: &Clearing{KeepFirst: true}})
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
	m.prune(was, keepLocale, &Prune{Type: was.UID, Rule: PruneOtherLocales, Locale: code})
	is.Localized = false
	for _, a := range is.Attributes {
		a.Localized = false
	}
	remove(is.Attribute("locale"), is.Attribute("localizations"))
	m.after = append(m.after, moveLocale(is.UID, code, "")...)
	return nil
}

func (m *migrating) keepDocument() error {
	was, is, err := m.typ()
	if err != nil {
		return err
	}
	doc, ok := m.content.Document(was, m.args[1])
	if !ok {
		return fmt.Errorf("%s has no document %q", was.UID, m.args[1])
	}
	if by, ok := m.plan.pruned[m.catalog.Schemas[was.UID].Number]; ok {
		return fmt.Errorf("whether %s leaves this document is known only then; make a call of its own after that", by)
	}
	m.prune(was, keepDocument, &Prune{Type: was.UID, Rule: PruneOtherDocuments, Document: doc})
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
	m.prune(was, dropLocale, &Prune{Type: was.UID, Rule: PruneLocale, Locale: m.args[1]})
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
	m.prune(was, dropDrafts, &Prune{Type: was.UID, Rule: PruneNeverPublished})
	m.do(&DropDrafts{Type: was.UID})
	is.DraftAndPublish = false
	for _, t := range m.is.Types {
		for _, a := range t.Attributes {
			if !a.IsRelation() || a.System || a.Mapped {
				continue
			}
			if before := m.was.Type(t.UID).Attribute(a.Name).HasDraftLinks(); before &&
				(t == is || !a.HasDraftLinks()) {
				m.then(&DropDraftLinks{t.UID, a.Name})
			}
			if t == is && a.HasDraftLinks() { // replace the links of the drafts before
				m.then(&AddDraftLinks{t.UID, a.Name})
			}
		}
	}
	return nil
}

func (m *migrating) dropType() error {
	was, is, err := m.typ()
	if err != nil {
		if m.was.Component(m.args[0]) != nil {
			return fmt.Errorf("%s is a component; drop-items and drop-attribute remove it from the "+
				"attributes that hold it", m.args[0])
		}
		return err
	}
	m.do(&Prune{Type: was.UID, Rule: PruneAll})
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
		m.edit(was, ValueEdit{Clear: &Clearing{}})
		e := m.catalog.Schemas[was.Owner.UID]
		if f := e.Fields[was.Name]; slices.Contains(e.Indexed, f) {
			m.define.Reordered = map[string][]string{was.Owner.UID: {was.Name}}
			m.then(&DropIndex{e.Number, f, attributeName(was)})
		}
		if m.catalog.HasText(was) {
			m.then(dropText(e.Number, e.Fields[was.Name], was))
		}
	case !was.Mapped:
		m.do(&DropLinks{Type: was.Owner.UID, Attr: was.Name})
		for _, t := range m.is.Types { // the other sides have no links of their own
			for _, a := range slices.Clone(t.Attributes) {
				if a.Mapped && a.Inverse == is {
					remove(a)
				}
			}
		}
	case is.Inverse != nil:
		is.Inverse.Inverse = nil // the relation becomes one-way, from the other side
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
	m.edit(was, ValueEdit{Clear: &Clearing{Component: m.args[1]}})
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
	m.do(&DropLinks{Type: was.Owner.UID, Attr: was.Name})
	return nil
}
