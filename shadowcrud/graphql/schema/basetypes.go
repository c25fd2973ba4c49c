package schema

// generated is the owner of the types that every generated schema has, for messages about names that are taken.
const generated = "every schema"

// declareBaseTypes declares the types that every generated schema uses.
func (b *builder) declareBaseTypes() {
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
	b.plainObject("Pagination", number(PageTotal, "total"), number(PageNumber, "page"), number(PageSize, "pageSize"),
		number(PageCount, "pageCount"))
	b.plainObject("DeleteMutationResponse", &FieldSpec{Kind: DeletedID, Name: "documentId", Scalar: b.Scalar("ID"),
		NonNull: true})

	b.plainEnum("PublicationStatus", "DRAFT", "PUBLISHED")
	var states []string
	for _, p := range publicationStates {
		states = append(states, p.name)
	}
	b.plainEnum("PublicationFilter", states...)
	if b.options.Subscriptions {
		b.plainEnum("ChangeKind", changeKinds...)
	}

	for _, scalar := range []string{"ID", "Boolean", "String", "Int", "Long", "Float", "Date", "Time", "DateTime",
		"JSON"} {
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
