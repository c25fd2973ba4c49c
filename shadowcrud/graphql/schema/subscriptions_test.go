package schema_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/shadowcrud/graphql/schema"
)

// TestSubscriptions checks the generated fields of Subscription and which types have none.
func TestSubscriptions(t *testing.T) {
	m := load(t, filepath.Join(projects, "kitchen"))
	var e schema.Extensions
	e.ShadowCRUD("api::menu.menu").DisableQueries()
	e.ShadowCRUD("api::person.person").DisableAction("find")
	e.ShadowCRUD("api::review.review").DisableAction("findOne")
	s := build(t, m, schema.Options{Subscriptions: true, Extensions: &e})
	for _, want := range []string{
		"type Subscription {\n",
		"enum ChangeKind {\n  CREATE\n  UPDATE\n  DELETE\n  PUBLISH\n  UNPUBLISH\n}\n",
		"  reviewChanged(documentId: ID, filters: ReviewFiltersInput, status: PublicationStatus = PUBLISHED): ReviewChange!\n",
		"    status: PublicationStatus = PUBLISHED\n    \"" +
			"The locale whose changes are asked for; the default one where none is named, and every one for *." +
			"\"\n    locale: I18NLocaleCode\n  ): HomepageChange!\n",
		"type RestaurantChange {\n  change: ChangeKind!\n  documentId: ID!\n  locale: String\n  seq: String!\n  at: DateTime!\n  document: Restaurant\n}\n",
	} {
		if !strings.Contains(s.SDL, want) {
			t.Errorf("missing %q", want)
		}
	}
	for _, absent := range []string{"menuChanged", "MenuChange", "personChanged", "scheduleChanged", "TokenChange"} {
		if strings.Contains(s.SDL, absent) {
			t.Errorf("there is %s", absent)
		}
	}
	off := build(t, m, schema.Options{})
	if off.Subscription != nil || strings.Contains(off.SDL, "Subscription") || strings.Contains(off.SDL, "ChangeKind") {
		t.Error("there are subscriptions although they are off")
	}
	var none schema.Extensions
	for _, typ := range m.Types {
		if s.ObjectOf(typ.UID) != nil {
			none.ShadowCRUD(typ.UID).DisableAction("find")
		}
	}
	if empty := build(t, m, schema.Options{Subscriptions: true, Extensions: &none}); empty.Subscription != nil {
		t.Errorf("a Subscription without fields: %v", empty.Subscription.Fields)
	}
}

// TestSubscriptionExtensions checks what extensions may change about subscriptions.
func TestSubscriptionExtensions(t *testing.T) {
	answer := func(graphql.ResolveParams) (any, error) { return nil, nil }
	refuse := func(*schema.PolicyContext, schema.Server) (bool, error) { return false, nil }
	own := graphql.NewObject(
		graphql.ObjectConfig{Name: "Subscription", Fields: graphql.Fields{"x": {Type: graphql.Int, Resolve: answer}}})
	for _, c := range []struct {
		name      string
		extension schema.Extension
		err       string
	}{
		{name: "policies", extension: schema.Extension{ResolversConfig: map[string]schema.FieldConfig{
			"Subscription.articleChanged": {Policies: []schema.PolicyUse{{Func: refuse}}}}}},
		{name: "computed fields of documents", extension: schema.Extension{TypeDefs: "extend type Article { n: Int }",
			Resolvers: schema.Resolvers{"Article": {"n": answer}}}},
		{name: "fields", extension: schema.Extension{TypeDefs: "extend type Subscription { x: Int }",
			Resolvers: schema.Resolvers{"Subscription": {"x": answer}}},
			err: "Subscription.x: an extension cannot add fields of Subscription"},
		{name: "fields in Go", extension: schema.Extension{Types: []graphql.Type{own}},
			err: "Subscription.x: an extension cannot add fields of Subscription"},
		{name: "resolvers", extension: schema.Extension{Resolvers: schema.Resolvers{"Subscription": {"articleChanged": answer}}},
			err: "resolver of Subscription.articleChanged: fields of Subscription cannot have one"},
	} {
		var e schema.Extensions
		e.Use(c.extension)
		_, err := schema.Build(loadFiles(t, blog), schema.Options{Subscriptions: true, Extensions: &e})
		if got := errorText(err); c.err == "" && err != nil || !strings.Contains(got, c.err) {
			t.Errorf("%s: %q, want %q", c.name, got, c.err)
		}
	}
	var e schema.Extensions
	e.Use(schema.Extension{Types: []graphql.Type{own}})
	if _, err := schema.Build(loadFiles(t, blog), schema.Options{Extensions: &e}); !strings.Contains(
		errorText(err), "there are no subscriptions") {
		t.Errorf("a type Subscription where there are none: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
