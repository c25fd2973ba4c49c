package schema

import (
	"lectern/contenttypes"
)

const (
	queryLocale = "The locale that is asked for; the default one where none is named, and every one for *."
	writtenIn   = "The locale that is written; the default one where none is named."
	deletedIn   = "The locale that is deleted; the default one where none is named."
	publishedIn = "The locale that is meant; the default one where none is named."
)

// declareRoots declares Query and Mutation.
func (b *builder) declareRoots() {
	b.Query = b.object("Query", generated)
	b.Mutation = b.object("Mutation", generated)
}

// fillQuery makes the fields of Query.
func (b *builder) fillQuery() {
	for _, t := range b.shownTypes() {
		if t.Internal || !b.shapes[&t.Schema].off.AreQueriesEnabled() {
			continue
		}
		if t.Kind == contenttypes.SingleType {
			b.querySingle(b.shapes[&t.Schema])
		} else {
			b.queryCollection(b.shapes[&t.Schema])
		}
	}
	b.queryMe()
}

func (b *builder) querySingle(s *shapes) {
	if s.off.IsActionEnabled("find") {
		b.root(b.Query, s, &FieldSpec{Kind: RootSingle, Name: fieldName(s.name), Object: s.object, args: b.versionArgs()}, "find", queryLocale)
	}
}

func (b *builder) queryCollection(s *shapes) {
	if s.off.IsActionEnabled("findOne") {
		one := &FieldSpec{Kind: RootOne, Name: fieldName(s.name), Object: s.object}
		one.args = append([]*argument{b.idArg("documentId")}, b.versionArgs()...)
		b.root(b.Query, s, one, "findOne", queryLocale)
	}
	if !s.off.IsActionEnabled("find") {
		return
	}
	many := fieldName(pluralName(s.typ))
	pages := &FieldSpec{Kind: RootConnection, Name: many + "_connection", Object: s.page, Filters: s.filters, Paged: true}
	list := &FieldSpec{Kind: RootList, Name: many, Object: s.object, List: true, NonNull: true, Filters: s.filters, Paged: true}
	for _, m := range []*FieldSpec{pages, list} {
		m.args = append(b.listArgs(s.filters), b.versionArgs()...)
		b.root(b.Query, s, m, "find", queryLocale)
	}
}

// root adds a field of Query or Mutation for the documents of a type.
func (b *builder) root(o *Object, s *shapes, m *FieldSpec, action, locale string) {
	m.Type, m.Scope = s.typ, s.typ.UID+"."+action
	if s.typ.Localized {
		m.Localized = true
		m.args = append(m.args, b.localeArg(locale))
	}
	b.field(o, m)
}

// fillMutation makes the fields of Mutation.
func (b *builder) fillMutation() {
	for _, t := range b.shownTypes() {
		if s := b.shapes[&t.Schema]; !t.BuiltIn && s.off.AreMutationsEnabled() {
			b.mutateDocuments(s)
		}
	}
	b.mutateFiles()
	b.mutateUsers()
}

func (b *builder) mutateDocuments(s *shapes) {
	var id []*argument
	if s.typ.Kind == contenttypes.CollectionType {
		id = []*argument{b.idArg("documentId")}
	}
	add := func(kind Kind, action string, result *Object, locale string, args ...*argument) {
		if !s.off.IsActionEnabled(action) {
			return
		}
		m := &FieldSpec{Kind: kind, Name: mutationName(action, s.name), Object: result, args: args}
		if kind == Create || kind == Update {
			m.Input = s.input
		}
		b.root(b.Mutation, s, m, action, locale)
	}
	writes := func(first ...*argument) []*argument {
		return append(first, b.statusArg(), b.dataArg("data", s.input))
	}
	if s.typ.Kind == contenttypes.CollectionType {
		add(Create, "create", s.object, writtenIn, writes()...)
	}
	add(Update, "update", s.object, writtenIn, writes(id...)...)
	add(Delete, "delete", b.Object("DeleteMutationResponse"), deletedIn, id...)
	if b.options.DocumentActions && s.typ.DraftAndPublish {
		add(Publish, "publish", s.object, publishedIn, id...)
		add(Unpublish, "unpublish", s.object, publishedIn, id...)
		add(DiscardDraft, "discardDraft", s.object, publishedIn, id...)
	}
}

// mutationName names the mutation that carries out an action: createArticle.
func mutationName(action, typ string) string { return action + typ }
