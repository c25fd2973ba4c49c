package schema

import (
	"slices"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
)

// shapes are the GraphQL types of a content-type or component that the schema shows.
type shapes struct {
	name    string
	schema  *contenttypes.Schema
	typ     *contenttypes.ContentType // nil for components
	comp    *contenttypes.Component   // nil for content-types
	off     *TypeOptions              // the options that leave parts out
	enums   map[*contenttypes.Attribute]*Enum
	zones   map[*contenttypes.Attribute]*Union
	object  *Object
	filters *Filters
	input   *Input

	page     *Object // <Name>EntityResponseCollection; nil for components and single types
	relation *Object // <Name>RelationResponseCollection; nil for components
	response *Object // <Name>EntityResponse; nil for all but users
}

// builtIns are the built-in types that the schema always shows, in order.
var builtIns = []string{contenttypes.FileUID, contenttypes.LocaleUID, contenttypes.PermissionUID, contenttypes.RoleUID,
	contenttypes.UserUID}

// shownTypes returns the content-types that the schema shows, in order.
func (b *builder) shownTypes() (types []*contenttypes.ContentType) {
	for _, uid := range builtIns {
		if t := b.Model.Type(uid); t != nil && b.shadow.of(uid).IsEnabled() {
			types = append(types, t)
		}
	}
	if t := b.Model.Type(contenttypes.ScheduleUID); t != nil && b.options.DocumentActions &&
		b.shadow.of(t.UID).IsEnabled() {
		types = append(types, t)
	}
	for _, t := range b.Model.Types {
		if !t.BuiltIn && b.shadow.of(t.UID).IsEnabled() {
			types = append(types, t)
		}
	}
	return types
}

// declareTypes declares the types of all components and content-types.
func (b *builder) declareTypes() {
	for _, c := range slices.Backward(b.Model.Components) { // introspection lists components in reverse order
		if b.shadow.of(c.UID).IsEnabled() {
			b.declareShapes(&shapes{name: componentName(c), schema: &c.Schema, comp: c})
		}
	}
	for _, t := range b.shownTypes() {
		b.declareShapes(&shapes{name: typeName(t), schema: &t.Schema, typ: t})
	}
	b.morph = b.union("GenericMorph", generated)
	b.fileInfo()
	b.scalar(newScalar("I18NLocaleCode", localeDescription, LocaleScalar), generated)
}

// declareShapes declares the types of one component or content-type.
func (b *builder) declareShapes(s *shapes) {
	uid := s.schema.UID
	s.off = b.shadow.of(uid)
	s.enums, s.zones = map[*contenttypes.Attribute]*Enum{}, map[*contenttypes.Attribute]*Union{}
	b.shapes[s.schema] = s
	for _, a := range s.schema.Attributes {
		if a.Type == contenttypes.Enumeration {
			s.enums[a] = b.enumOf(s, a)
		}
	}
	for _, a := range s.schema.Attributes {
		if a.Type == contenttypes.DynamicZone {
			s.zones[a] = b.zoneOf(s, a)
		}
	}
	s.filters = &Filters{Name: s.name + "FiltersInput", Schema: s.schema, byName: map[string]*FilterField{}}
	s.filters.in = b.input(s.filters.Name, uid)
	b.named(s.filters.Name).filters = s.filters
	s.input = b.newInput(s.name+"Input", uid)
	s.input.Schema = s.schema

	s.object = b.object(s.name, uid)
	s.object.Schema, s.object.Type, s.object.Component = s.schema, s.typ, s.comp
	b.byUID[uid] = s.object
	if s.typ == nil {
		return
	}
	if uid == contenttypes.UserUID {
		s.response = b.object(s.name+"EntityResponse", uid)
	}
	if s.typ.Kind == contenttypes.CollectionType {
		s.page = b.object(s.name+"EntityResponseCollection", uid)
	}
	s.relation = b.object(s.name+"RelationResponseCollection", uid)
}

// enumOf makes the enum of an enumeration. Attributes with the same enumName and values share one.
func (b *builder) enumOf(s *shapes, a *contenttypes.Attribute) *Enum {
	e := newEnum(enumName(s.name, a), a.Enum)
	if first := b.types[e.Name]; first != nil && first.enum != nil && a.EnumName() != "" {
		if slices.Equal(first.enum.Values, e.Values) {
			return first.enum
		}
		b.errorf("the GraphQL enum %s has other values at %s than at %s of %s; give one of them another enumName",
			e.Name, first.owner, a.Name, s.schema.UID)
		return first.enum
	}
	return b.enum(e, a.Name+" of "+s.schema.UID)
}

// zoneOf makes the union of the components of a dynamic zone, and the scalar that inputs use for its items.
func (b *builder) zoneOf(s *shapes, a *contenttypes.Attribute) *Union {
	name, owner := zoneName(s.name, a), a.Name+" of "+s.schema.UID
	u := b.union(name, owner)
	u.Attr = a
	u.Input = newScalar(name+"Input", "", ZoneScalar)
	u.Input.Zone = u
	b.scalar(u.Input, owner)
	return u
}

// fillTypes fills the declared types.
func (b *builder) fillTypes() {
	for _, c := range slices.Backward(b.Model.Components) {
		if s := b.shapes[&c.Schema]; s != nil {
			b.fillShapes(s)
			b.morph.member(s.object)
		}
	}
	for _, t := range b.shownTypes() {
		s := b.shapes[&t.Schema]
		b.fillShapes(s)
		if t.UID != contenttypes.ScheduleUID { // nothing can refer to a schedule
			b.morph.member(s.object)
		}
	}
}

func (b *builder) fillShapes(s *shapes) {
	for _, a := range s.schema.Attributes {
		if u := s.zones[a]; u != nil {
			b.fillZone(u)
		}
		b.output(s, a)
	}
	if len(s.object.Fields) == 0 {
		b.errorf("no field of %s is shown in GraphQL; leave it one, or disable it altogether", s.schema.UID)
	}
	b.fillFilters(s)
	b.fillInput(s)
	nodes := func() *FieldSpec {
		return &FieldSpec{Kind: Nodes, Name: "nodes", Type: s.typ, Object: s.object, List: true, NonNull: true,
			NonNulls: true}
	}
	if s.response != nil {
		b.field(s.response, &FieldSpec{Kind: UserData, Name: "data", Type: s.typ, Object: s.object})
	}
	if s.page != nil {
		b.field(s.page, nodes())
		b.field(s.page, &FieldSpec{Kind: PageInfo, Name: "pageInfo", Object: b.Object("Pagination"), NonNull: true})
	}
	if s.relation != nil {
		b.field(s.relation, nodes())
	}
}

// fillZone adds the members of a zone.
func (b *builder) fillZone(u *Union) {
	for _, c := range u.Attr.Components {
		if s := b.shapes[&c.Schema]; s != nil {
			u.member(s.object)
		}
	}
	u.member(b.Object("Error"))
}

// target returns the types of the content-type or component that an attribute refers to, nil if the schema does not
// show it.
func (b *builder) target(a *contenttypes.Attribute) *shapes {
	return b.shapes[a.TargetSchema()]
}

// output adds the fields that show an attribute.
func (b *builder) output(s *shapes, a *contenttypes.Attribute) {
	if a.Private || !s.off.field(a.Name).HasOutputEnabled() {
		return
	}
	m := &FieldSpec{Name: a.Name, Attr: a, NonNull: a.Required || a.Type == contenttypes.DocumentID ||
		a.Type == contenttypes.ID}
	switch {
	case a.Type == contenttypes.ID && s.typ != nil: // documents show their documentId instead
	case a.IsMorph():
		b.outputMorph(s, m)
	case a.IsRelation():
		b.outputRelation(s, m)
	case a.Type == contenttypes.ComponentType:
		b.outputComponent(s, m)
	case a.Type == contenttypes.DynamicZone:
		m.Kind, m.Union, m.List = Zone, s.zones[a], true
		b.field(s.object, m)
	default:
		m.Kind, m.Enum, m.Password = Value, s.enums[a], a.Type == contenttypes.Password
		if m.Enum == nil {
			m.Scalar = b.Scalar(a.Type.GraphQL())
		}
		b.field(s.object, m)
	}
}

// outputMorph adds the field of a relation to any type. The schema does not show the other side of such a relation
// (morphOne, morphMany).
func (b *builder) outputMorph(s *shapes, m *FieldSpec) {
	switch a := m.Attr; {
	case s.schema.UID == contenttypes.FileUID && a.Name == "related":
		m.Kind = Related
	case a.Relation == contenttypes.MorphToOne:
		m.Kind = MorphOne
	case a.Relation == contenttypes.MorphToMany:
		m.Kind = MorphList
	default:
		return
	}
	m.Union, m.List = b.morph, m.Kind != MorphOne
	b.field(s.object, m)
}

// outputRelation adds the fields of a relation or media attribute.
func (b *builder) outputRelation(s *shapes, m *FieldSpec) {
	a := m.Attr
	to := b.target(a)
	if to == nil {
		return
	}
	one, list, connection := Relation, RelationList, RelationConnection
	if a.Type == contenttypes.Media {
		one, list, connection = File, FileList, FileConnection
	}
	m.Type, m.Object = to.typ, to.object
	if !a.ToMany() {
		m.Kind = one
		b.field(s.object, m)
		return
	}
	if to.typ.Kind == contenttypes.CollectionType {
		m.Filters, m.Paged, m.args = to.filters, true, b.listArgs(to.filters)
	}
	pages := *m
	pages.Kind, pages.Name, pages.Object = connection, m.Name+"_connection", to.relation
	m.Kind, m.List, m.NonNull = list, true, true
	b.field(s.object, &pages)
	b.field(s.object, m)
}

// outputComponent adds the field of a component attribute.
func (b *builder) outputComponent(s *shapes, m *FieldSpec) {
	to := b.target(m.Attr)
	if to == nil {
		return
	}
	m.Kind, m.Component, m.Object = ComponentOne, to.comp, to.object
	if m.Attr.Repeatable {
		m.Kind, m.List, m.Filters, m.Paged, m.args = ComponentList, true, to.filters, true, b.listArgs(to.filters)
	}
	b.field(s.object, m)
}

// fillFilters adds a field for each attribute to the filters input of a type.
func (b *builder) fillFilters(s *shapes) {
	f := s.filters
	add := func(field *FilterField, t graphql.Input) {
		f.Fields = append(f.Fields, field)
		f.byName[field.Name] = field
		f.in.add(field.Name, t)
	}
	for _, a := range s.schema.Attributes {
		if a.Private || !s.off.field(a.Name).HasFiltersEnabled() {
			continue
		}
		switch {
		case a.Type == contenttypes.ID, a.Type == contenttypes.DocumentID && s.typ.Kind == contenttypes.SingleType:
		case a.Type == contenttypes.Media, a.Type == contenttypes.DynamicZone, a.IsMorph():
		case a.IsScalar():
			operators := b.Operators(a.Type.GraphQL() + "FilterInput")
			add(&FilterField{Kind: FilterValue, Name: a.Name, Attr: a, Operators: operators}, operators.in.graphql)
		default:
			if to := b.target(a); to != nil {
				add(&FilterField{Kind: FilterThrough, Name: a.Name, Attr: a, Filters: to.filters},
					to.filters.in.graphql)
			}
		}
	}
	own := f.in.graphql
	add(&FilterField{Kind: FilterAnd, Name: "and", Filters: f}, graphql.NewList(own))
	add(&FilterField{Kind: FilterOr, Name: "or", Filters: f}, graphql.NewList(own))
	add(&FilterField{Kind: FilterNot, Name: "not", Filters: f}, own)
}
