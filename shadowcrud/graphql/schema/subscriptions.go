package schema

import (
	"lectern/contenttypes"
	"lectern/store"
)

const changesIn = "The locale whose changes are asked for; the default one where none is named, and every one for *."

// subscription is the name of the root type of subscriptions. Where it is not generated, extensions cannot declare it.
const (
	subscription    = "Subscription"
	noSubscriptions = "there are no subscriptions; graphql.config.subscriptions turns them on"
)

// changeKinds are the names of the enum ChangeKind.
var changeKinds = []string{
	store.Created: "CREATE", store.Updated: "UPDATE", store.Deleted: "DELETE", store.PublishedAction: "PUBLISH",
	store.Unpublished: "UNPUBLISH",
}

// ChangeKindOf returns the value of the enum ChangeKind for an action.
func ChangeKindOf(a store.Action) string { return changeKinds[a] }

// fillSubscription makes the fields of Subscription: one for each type whose documents Query lists.
func (b *builder) fillSubscription() {
	if b.Subscription == nil {
		return
	}
	for _, t := range b.shownTypes() {
		if s := b.shapes[&t.Schema]; !t.Internal && s.off.AreQueriesEnabled() && s.off.IsActionEnabled("find") {
			b.changesOf(s)
		}
	}
}

// changesOf adds the field of Subscription for the changes of a type, and the object type of a change.
func (b *builder) changesOf(s *shapes) {
	change := b.object(s.name+"Change", "the changes of "+s.schema.UID)
	text := func(kind Kind, name, scalar string, nonNull bool) {
		b.field(change, &FieldSpec{Kind: kind, Name: name, Scalar: b.Scalar(scalar), NonNull: nonNull})
	}
	b.field(change, &FieldSpec{Kind: ChangeKind, Name: "change", Enum: b.Enum("ChangeKind"), NonNull: true})
	text(ChangeDocumentID, "documentId", "ID", true)
	text(ChangeLocale, "locale", "String", false)
	text(ChangeSeq, "seq", "String", true)
	text(ChangeTime, "at", "DateTime", true)
	b.field(change, &FieldSpec{Kind: ChangeDocument, Name: "document", Type: s.typ, Object: s.object})

	m := &FieldSpec{Kind: Changed, Name: fieldName(s.name) + "Changed", Object: change, NonNull: true}
	if s.typ.Kind == contenttypes.CollectionType {
		m.Filters = s.filters
		m.args = []*argument{{name: "documentId", typ: b.Scalar("ID").GraphQL},
			{name: "filters", typ: s.filters.in.graphql}}
	}
	m.args = append(m.args, b.statusArg())
	b.root(b.Subscription, s, m, "find", changesIn)
}

// checkSubscription reports fields of Subscription that an extension adds or resolves, since only changes in the log
// cause events.
func (b *builder) checkSubscription() {
	if b.Subscription == nil {
		return
	}
	for _, m := range b.Subscription.Fields {
		switch {
		case m.Kind == Custom:
			b.errorf("Subscription.%s: an extension cannot add fields of Subscription", m.Name)
		case m.Resolve != nil:
			b.errorf("resolver of Subscription.%s: fields of Subscription cannot have one; "+
				"a middleware can change what they answer", m.Name)
		}
	}
}
