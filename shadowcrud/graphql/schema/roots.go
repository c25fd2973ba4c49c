package schema

import (
	"slices"

	"lectern/contenttypes"
	"lectern/documents/permission"
)

const (
	queryLocale = "The locale that is asked for; the default one where none is named, and every one for *."
	writtenIn   = "The locale that is written; the default one where none is named."
	deletedIn   = "The locale that is deleted; the default one where none is named."
	publishedIn = "The locale that is meant; the default one where none is named."
)

// scheduledAt describes the arguments that schedule a publication.
var scheduledAt = map[string]string{
	"publishAt":   "When to publish; at once where no time is given.",
	"unpublishAt": "When to unpublish.",
}

// declareRoots declares Query, Mutation and Subscription.
func (b *builder) declareRoots() {
	b.Query = b.object("Query", generated)
	b.Mutation = b.object("Mutation", generated)
	if b.options.Subscriptions {
		b.Subscription = b.object(subscription, generated)
	}
}

// fillQuery makes the fields of Query.
func (b *builder) fillQuery() {
	for _, t := range b.shownTypes() {
		if t.UID == contenttypes.ScheduleUID {
			b.querySchedules(b.shapes[&t.Schema])
		}
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
		b.root(b.Query, s, &FieldSpec{Kind: RootSingle, Name: fieldName(s.name), Object: s.object,
			args: b.versionArgs()}, "find", queryLocale)
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
	pages := &FieldSpec{Kind: RootConnection, Name: many + "_connection", Object: s.page, Filters: s.filters,
		Paged: true}
	list := &FieldSpec{Kind: RootList, Name: many, Object: s.object, List: true, NonNull: true, Filters: s.filters,
		Paged: true}
	for _, m := range []*FieldSpec{pages, list} {
		m.args = append(b.listArgs(s.filters), b.versionArgs()...)
		b.root(b.Query, s, m, "find", queryLocale)
	}
}

// querySchedules adds the fields that list schedules. They need no permission of their own: callers see the schedules
// whose action they may use themselves.
func (b *builder) querySchedules(s *shapes) {
	if !s.off.AreQueriesEnabled() || !s.off.IsActionEnabled("find") {
		return
	}
	many := fieldName(pluralName(s.typ))
	for _, m := range []*FieldSpec{
		{Kind: RootConnection, Name: many + "_connection", Object: s.page},
		{Kind: RootList, Name: many, Object: s.object, List: true, NonNull: true},
	} {
		m.Type, m.Filters, m.Paged, m.args = s.typ, s.filters, true, b.listArgs(s.filters)
		b.field(b.Query, m)
	}
}

// root adds a field of Query or Mutation for the documents of a type.
func (b *builder) root(o *Object, s *shapes, m *FieldSpec, action, locale string) {
	m.Type, m.Scope = s.typ, permission.ActionOn(s.typ.UID, action)
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
	b.cancelSchedules()
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
		add(Publish, "publish", s.object, publishedIn, slices.Concat(id, b.timeArgs("publishAt", "unpublishAt"))...)
		add(Unpublish, "unpublish", s.object, publishedIn, slices.Concat(id, b.timeArgs("unpublishAt"))...)
		add(DiscardDraft, "discardDraft", s.object, publishedIn, id...)
	}
}

// timeArgs returns the arguments that schedule a publication.
func (b *builder) timeArgs(names ...string) (args []*argument) {
	for _, name := range names {
		args = append(args, &argument{name: name, typ: b.Scalar("DateTime").GraphQL, description: scheduledAt[name]})
	}
	return args
}

// cancelSchedules adds the field of Mutation that cancels a schedule.
func (b *builder) cancelSchedules() {
	t := b.Model.Type(contenttypes.ScheduleUID)
	if t == nil || b.shapes[&t.Schema] == nil {
		return
	}
	if s := b.shapes[&t.Schema]; s.off.allows("delete") {
		b.field(b.Mutation, &FieldSpec{Kind: CancelSchedule, Name: mutationName("cancel", s.name), Type: t,
			Object: b.Object("DeleteMutationResponse"), args: []*argument{b.idArg("documentId")}})
	}
}

// mutationName names the mutation that carries out an action: createArticle.
func mutationName(action, typ string) string { return action + typ }
