package schema

import (
	"github.com/graphql-go/graphql"

	"lectern/store"
)

const generated = "every schema"

// declareCommon declares the types that every generated schema uses.
func (b *builder) declareCommon() {
	for _, v := range valueScalars {
		s := b.scalar(newScalar(v.name, v.description, v.kind), generated)
		s.specifiedBy = v.specifiedBy
	}
	b.plainObject("Error",
		&FieldSpec{Kind: ErrorCode, Name: "code", Scalar: b.Scalar("String"), NonNull: true},
		&FieldSpec{Kind: ErrorMessage, Name: "message", Scalar: b.Scalar("String")})
	number := func(kind Kind, name string) *FieldSpec {
		return &FieldSpec{Kind: kind, Name: name, Scalar: b.Scalar("Int"), NonNull: true}
	}
	b.plainObject("Pagination", number(PageTotal, "total"), number(PageNumber, "page"), number(PageSize, "pageSize"), number(PageCount, "pageCount"))
	b.plainObject("DeleteMutationResponse", &FieldSpec{Kind: DeletedID, Name: "documentId", Scalar: b.Scalar("ID"), NonNull: true})

	b.plainEnum("PublicationStatus", "DRAFT", "PUBLISHED")
	var states []string
	for _, p := range publicationStates {
		states = append(states, p.name)
	}
	b.plainEnum("PublicationFilter", states...)
	if b.options.Subscriptions {
		b.plainEnum("ChangeKind", changeKinds...)
	}

	for _, scalar := range []string{"ID", "Boolean", "String", "Int", "Long", "Float", "Date", "Time", "DateTime", "JSON"} {
		b.declareOperators(b.Scalar(scalar))
	}
}

// plainObject declares an object type with its fields.
func (b *builder) plainObject(name string, fields ...*FieldSpec) {
	o := b.object(name, generated)
	for _, m := range fields {
		b.field(o, m)
	}
}

// plainEnum declares an enum in which each name stands for itself.
func (b *builder) plainEnum(name string, names ...string) {
	e := &Enum{Name: name, byName: map[string]string{}, byValue: map[string]string{}}
	for _, n := range names {
		e.add(EnumValue{Name: n, Value: n})
	}
	b.enum(e, generated)
}

// operators are the fields of every scalar's filter, except and, or and not, which come before them.
var operators = []Operator{
	{Name: "eq", Op: store.Eq}, {Name: "eqi", Op: store.EqI}, {Name: "ne", Op: store.Ne}, {Name: "nei", Op: store.NeI},
	{Name: "startsWith", Op: store.StartsWith}, {Name: "endsWith", Op: store.EndsWith},
	{Name: "contains", Op: store.Contains}, {Name: "notContains", Op: store.NotContains},
	{Name: "containsi", Op: store.ContainsI}, {Name: "notContainsi", Op: store.NotContainsI},
	{Name: "gt", Op: store.Gt}, {Name: "gte", Op: store.Gte}, {Name: "lt", Op: store.Lt}, {Name: "lte", Op: store.Lte},
	{Name: "null", Kind: OperatorNull, Op: store.Null}, {Name: "notNull", Kind: OperatorNull, Op: store.NotNull},
	{Name: "in", Kind: OperatorList, Op: store.In}, {Name: "notIn", Kind: OperatorList, Op: store.NotIn},
	{Name: "between", Kind: OperatorList, Op: store.Between},
}

// declareOperators declares the filter of a scalar.
func (b *builder) declareOperators(s *Scalar) {
	o := &Operators{Name: s.Name + "FilterInput", Scalar: s, byName: map[string]*Operator{}}
	o.in = b.input(o.Name, generated)
	b.named(o.Name).operators = o
	add := func(op Operator, t graphql.Input) {
		o.Fields = append(o.Fields, &op)
		o.byName[op.Name] = &op
		o.in.add(op.Name, t)
	}
	list := graphql.NewList(s.GraphQL)
	add(Operator{Name: "and", Kind: OperatorAnd}, list)
	add(Operator{Name: "or", Kind: OperatorOr}, list)
	add(Operator{Name: "not", Kind: OperatorNot}, o.in.graphql)
	for _, op := range operators {
		switch op.Kind {
		case OperatorNull:
			add(op, graphql.Boolean)
		case OperatorList:
			add(op, list)
		default:
			add(op, s.GraphQL)
		}
	}
}

// declarePagination declares the input of the argument pagination.
func (b *builder) declarePagination() {
	in := b.input("PaginationArg", generated)
	for _, name := range []string{"page", "pageSize", "start", "limit"} {
		in.add(name, graphql.Int)
	}
}

// inputNamed returns an input that was declared before.
func (b *builder) inputNamed(name string) graphql.Input { return b.types[name].input.graphql }

// The functions from here to the end of the file make arguments that several fields have in common.

func (b *builder) idArg(name string) *argument {
	return &argument{name: name, typ: graphql.NewNonNull(graphql.ID)}
}

func (b *builder) statusArg() *argument {
	return &argument{name: "status", typ: b.Enum("PublicationStatus").GraphQL, value: "PUBLISHED", literal: "PUBLISHED"}
}

// versionArgs choose the version of a document.
func (b *builder) versionArgs() []*argument {
	return []*argument{b.statusArg(), {name: "hasPublishedVersion", typ: graphql.Boolean},
		{name: "publicationFilter", typ: b.Enum("PublicationFilter").GraphQL}}
}

func (b *builder) pageArgs() []*argument {
	return []*argument{
		{name: "pagination", typ: b.inputNamed("PaginationArg"), value: map[string]any{}, literal: "{}"},
		{name: "sort", typ: graphql.NewList(graphql.String), value: []any{}, literal: "[]"},
	}
}

func (b *builder) localeArg(description string) *argument {
	return &argument{name: "locale", typ: b.Scalar("I18NLocaleCode").GraphQL, description: description}
}

// listArgs returns the arguments of a list whose filters input is f: filters, pagination and sort. It returns none where f is nil.
func (b *builder) listArgs(f *Filters) []*argument {
	if f == nil {
		return nil
	}
	return append([]*argument{{name: "filters", typ: f.in.graphql}}, b.pageArgs()...)
}
