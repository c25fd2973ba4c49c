package answers

import "testing"

// TestHistoriesShowSharedValues publishes a localization, and with it a value that another one shares. The published
// version of the other one keeps its updatedAt, since its draft is modified, but the value in it is another one: the
// history says so, even if nobody may see the value.
func TestHistoriesShowSharedValues(t *testing.T) {
	text := func(s string) func(*sharedModel) Field {
		return func(m *sharedModel) Field { return Field{Attr: m.secret, Value: same(s)} }
	}
	password := func(s string) func(*sharedModel) Field {
		return func(m *sharedModel) Field { return Field{Attr: m.code, Value: same(s)} }
	}
	part := func(number, topic int) func(*sharedModel) Field {
		return func(m *sharedModel) Field {
			link := Field{Attr: m.about, Value: &Edit{Form: "set", Set: []Target{{Number: topic}}}}
			return Field{Attr: m.parts,
				Value: []*NewItem{{Number: number, Component: m.parts.Component, Fields: []Field{link}}}}
		}
	}
	for _, c := range []struct {
		name          string
		before, after func(*sharedModel) Field
	}{
		{"a password", password("first"), password("second")},
		{"the same password again", password("first"), password("first")},
		{"a private text", text("first"), text("second")},
		{"the same private text again", text("first"), text("first")},
		{"a link in a component", part(1, 2), part(2, 3)},
		{"the same link in a component", part(1, 2), part(2, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newSharedModel()
			write := func(kind, locale, status, title string, more ...Field) *Operation {
				data := append([]Field{{Attr: m.title, Value: same(title)}}, more...)
				return &Operation{Kind: kind, Type: m.page, Number: 1, Locale: locale, Status: status, Data: data}
			}
			server := serveLectern(t, m.model)
			err := NewRun(1, Quirks{}, m.model, server).Remembering().Replay([]*Operation{
				{Kind: "create", Type: m.topic, Number: 2},
				{Kind: "create", Type: m.topic, Number: 3},
				write("create", "en", published, "one", c.before(m)),
				write("update", "fr", published, "un"),
				write("update", "fr", draft, "deux"),
				write("update", "en", published, "two", c.after(m)),
				{Kind: "history", Type: m.page, Number: 1},
			})
			if err != nil {
				t.Error(err)
			}
			if err := server.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRestoredDraftTakesSharedValues restores a localization that is gone, as it was before an attribute was added that
// the localizations share. It gets the value of the other draft, not that of the published version: a draft that is
// brought back does not undo what was written to the others.
func TestRestoredDraftTakesSharedValues(t *testing.T) {
	m := newSharedModel()
	added := &Attribute{Name: "added", Type: "string"}
	write := func(kind, locale, status string, data ...Field) *Operation {
		return &Operation{Kind: kind, Type: m.page, Number: 1, Locale: locale, Status: status, Data: data}
	}
	server := serveLectern(t, m.model)
	err := NewRun(1, Quirks{}, m.model, server).Remembering().Replay([]*Operation{
		write("create", "en", published, Field{Attr: m.title, Value: same("one")}),
		{Kind: "redefine", Redefinition: &Redefinition{Type: m.page, Attr: added}},
		write("update", "fr", published, Field{Attr: added, Value: same("first")}),
		write("update", "fr", draft, Field{Attr: added, Value: same("second")}),
		{Kind: "delete", Type: m.page, Number: 1, Locale: "en"},
		{Kind: "restore", Type: m.page, Number: 1, Locale: "en", Status: published, Moment: 0},
	})
	if err != nil {
		t.Error(err)
	}
	if err := server.end(); err != nil {
		t.Error(err)
	}
}

// A sharedModel has a localized type with drafts. All its attributes but the title are shared between localizations.
type sharedModel struct {
	model                             *Model
	page, topic                       *Type
	title, secret, code, parts, about *Attribute
}

func newSharedModel() *sharedModel {
	m := &sharedModel{
		title:  &Attribute{Name: "title", Type: "string", Localized: true},
		secret: &Attribute{Name: "secret", Type: "string", Private: true},
		code:   &Attribute{Name: "code", Type: "password"},
	}
	m.topic = &Type{Schema: Schema{UID: "api::topic.topic", Attributes: []*Attribute{{Name: "name", Type: "string"}}},
		Singular: "topic", Plural: "topics"}
	m.about = &Attribute{Name: "about", Type: "relation", Relation: "manyToMany", Target: m.topic}
	part := &Component{Schema: Schema{UID: "page.part", Attributes: []*Attribute{m.about}}, Category: "page",
		Name: "part"}
	m.parts = &Attribute{Name: "parts", Type: "component", Component: part, Repeatable: true}
	m.page = &Type{Schema: Schema{UID: "api::page.page", Attributes: []*Attribute{m.title, m.secret, m.code, m.parts}},
		Singular: "page", Plural: "pages", Drafts: true, Localized: true}
	m.model = &Model{Types: []*Type{m.page, m.topic}, Components: []*Component{part}, Locales: []string{"en", "fr"},
		DefaultLimit: 10, MaxLimit: -1}
	(&modelGenerator{model: m.model}).system()
	return m
}
