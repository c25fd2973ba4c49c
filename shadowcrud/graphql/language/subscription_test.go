package language_test

import (
	"testing"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
)

// openWithSubscriptions is like openWithSDL, for a schema with subscriptions.
func openWithSubscriptions(t testing.TB) (s *language.Schema, sdl string) {
	t.Helper()
	model, problems := contenttypes.Load(recorded+"projects/kitchen", contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	built, err := schema.Build(model, schema.Options{Subscriptions: true})
	if err != nil {
		t.Fatal(err)
	}
	return language.New(built), built.SDL
}

// TestSubscriptions checks the rule that a subscription selects one field.
func TestSubscriptions(t *testing.T) {
	s, _ := openWithSubscriptions(t)
	const (
		one        = "Anonymous Subscription must select only one top level field."
		conditions = "Anonymous Subscription must not use `@skip` or `@include` directives in the top level selection."
		meta       = "Anonymous Subscription must not select an introspection top level field."
	)
	for _, c := range []struct {
		query string
		want  string // the first message
		at    []language.Location
	}{
		{query: "subscription{restaurantChanged{seq}}"},
		{query: "subscription{...F} fragment F on Subscription{restaurantChanged{seq}}"},
		{query: "subscription{restaurantChanged{seq} restaurantChanged{document{name @skip(if:true)}}}"},
		{query: "subscription{restaurantChanged{seq} ...on Subscription{restaurantChanged{at}}}"},
		{query: "query A{__typename} subscription B{menuChanged{seq}}"},
		{query: "subscription{restaurantChanged{seq} menuChanged{seq}}", want: one,
			at: []language.Location{{Line: 1, Column: 37}}},
		{query: "subscription{a:restaurantChanged{seq} b:restaurantChanged{seq} b:restaurantChanged{at}}", want: one,
			at: []language.Location{{Line: 1, Column: 39}, {Line: 1, Column: 64}}},
		{query: "subscription{...F ...F menuChanged{seq}} fragment F on Subscription{restaurantChanged{seq}}",
			want: one,
			at:   []language.Location{{Line: 1, Column: 24}}},
		{query: "subscription Two{restaurantChanged{seq} menuChanged{seq}}",
			want: `Subscription "Two" must select only one top level field.`,
			at:   []language.Location{{Line: 1, Column: 41}}},
		{query: "subscription{__typename}", want: meta, at: []language.Location{{Line: 1, Column: 14}}},
		{query: "subscription S{x:__typename}",
			want: `Subscription "S" must not select an introspection top level field.`,
			at:   []language.Location{{Line: 1, Column: 16}}},
		{query: "subscription{restaurantChanged @include(if:true){seq}}", want: conditions,
			at: []language.Location{{Line: 1, Column: 32}}},
		{query: "subscription($a:Boolean!){...@skip(if:$a){restaurantChanged{seq}}}", want: conditions,
			at: []language.Location{{Line: 1, Column: 30}}},
		{query: "subscription{...F} fragment F on Subscription{...G} fragment G on Subscription{restaurantChanged @skip(if:false){seq}}", want: conditions,
			at: []language.Location{{Line: 1, Column: 98}}},
		{query: "subscription{restaurantChange{seq}}",
			want: `Cannot query field "restaurantChange" on type "Subscription". Did you mean "restaurantChanged"?`,
			at:   []language.Location{{Line: 1, Column: 14}}},
		{query: "subscription{...F} fragment F on Subscription{...F}",
			want: `Cannot spread fragment "F" within itself.`, at: []language.Location{{Line: 1, Column: 47}}},
	} {
		_, errs := s.Parse(c.query, language.DefaultDocumentLimits)
		switch {
		case c.want == "" && errs != nil:
			t.Errorf("%s: %s", c.query, errs[0].Message)
		case c.want == "":
		case len(errs) != 1 || errs[0].Message != c.want:
			t.Errorf("%s: %s, want only %s", c.query, language.AppendErrors(nil, errs), c.want)
		default:
			for i, l := range c.at {
				if i >= len(errs[0].Locations) || errs[0].Locations[i] != l {
					t.Errorf("%s: at %v, want %v", c.query, errs[0].Locations, c.at)
					break
				}
			}
		}
	}
}
