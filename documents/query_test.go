package documents_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// newKitchen returns a service of the project kitchen with a few restaurants.
func newKitchen(t *testing.T) *documents.Service {
	t.Helper()
	model, problems := contenttypes.Load("../testdata/conformance/projects/kitchen", contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	svc := documents.NewService(storetest.Open(t, model), model, "en")
	create := func(uid, data string, draft bool) (id string) {
		w := documents.Write{Type: model.Type(uid), Data: body(t, data), Access: permission.FullAccess,
			After: func(_ *store.Snapshot, r store.Record) error { id = documents.NewRow(r).DocumentID(); return nil }}
		if draft {
			w.Status = store.Draft
		}
		if err := svc.Create(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		return id
	}
	ada, bob := create("api::person.person", `{"firstName":"Ada"}`, false),
		create("api::person.person", `{"firstName":"Bob"}`, false)
	soup, cake := create("api::category.category", `{"name":"Soup","position":1}`, false),
		create("api::category.category", `{"name":"Cake","position":2}`, false)
	for i, data := range []string{
		`"seats":10,"visits":"9007199254740993","rating":4.5,"vegan":true,"openedOn":"2024-01-31","opensAt":"08:30:00","tier":"gold","address":{"city":"Rome","geo":{"lat":41.9}},"owner":"` + ada + `","categories":["` + soup + `"]`,
		`"seats":20,"visits":"12","rating":3.25,"vegan":false,"openedOn":"2025-06-01","opensAt":"11:00:00","tier":"silver","address":{"city":"Bonn"},"owner":"` + bob + `","categories":["` + soup + `","` + cake + `"]`,
		`"seats":30,"inspectedAt":"2026-02-03T04:05:06.000Z","extra":{"a":1}`,
	} {
		create("api::restaurant.restaurant", fmt.Sprintf(`{"name":"R%d",%s}`, i, data), false)
	}
	create("api::restaurant.restaurant", `{"name":"Draft","seats":40}`, true)
	return svc
}

// TestQuery finds restaurants by each kind of condition, with operands of the Go types that an attribute accepts.
func TestQuery(t *testing.T) {
	svc := newKitchen(t)
	type duration int // a named type, as programs define them
	for _, tt := range []struct {
		name string
		when documents.Condition
		want string
	}{
		{"text", documents.Eq("name", "R1"), "R1"},
		{"int", documents.Eq("seats", 10), "R0"},
		{"another integer", documents.Gte("seats", uint8(20)), "R1 R2"},
		{"a type of one's own", documents.Lt("seats", duration(20)), "R0"},
		{"float", documents.Gt("rating", 4), "R0"},
		{"big integer", documents.Eq("visits", int64(9007199254740993)), "R0"},
		{"a text of digits", documents.Lte("visits", "12"), "R1"},
		{"bool", documents.Eq("vegan", true), "R0"},
		{"not equal", documents.Ne("vegan", true), "R1 R2"}, // false by default
		{"date", documents.Eq("openedOn", time.Date(2024, 1, 31, 12, 0, 0, 0, time.UTC)), "R0"},
		{"a date as a text", documents.Gt("openedOn", "2024-12-31"), "R1"},
		{"time", documents.Lt("opensAt", "09:00:00"), "R0"},
		{"datetime in another zone",
			documents.Eq("inspectedAt", time.Date(2026, 2, 3, 5, 5, 6, 0, time.FixedZone("", 3600))), "R2"},
		{"enumeration", documents.In("tier", "gold", "silver"), "R0 R1"},
		{"none of", documents.NotIn("seats", 10, 20), "R2"},
		{"nothing to choose from", documents.In[string]("name"), ""},
		{"between", documents.Between("seats", 10, 20), "R0 R1"},
		{"a text within", documents.Contains("name", "1"), "R1"},
		{"a text within, in another case", documents.Contains("address.city", "OM"), ""},
		{"a text within, in any case", documents.ContainsFold("address.city", "OM"), "R0"},
		{"beginning", documents.StartsWith("address.city", "Ro"), "R0"},
		{"beginning in another case", documents.StartsWith("address.city", "ro"), ""},
		{"beginning in any case", documents.StartsWithFold("name", "r"), "R0 R1 R2"},
		{"end", documents.EndsWith("name", "2"), "R2"},
		{"end in another case", documents.EndsWith("address.city", "ME"), ""},
		{"end in any case", documents.EndsWithFold("address.city", "ME"), "R0"},
		{"case", documents.EqFold("address.city", "rome"), "R0"},
		{"null", documents.Null("rating"), "R2"},
		{"null as a value", documents.Eq("rating", nil), "R2"},
		{"not null", documents.NotNull("rating"), "R0 R1"},
		{"a relation", documents.Eq("owner.firstName", "Bob"), "R1"},
		{"a component in a component", documents.Eq("address.geo.lat", 41.9), "R0"},
		{"several conditions on one target",
			documents.Has("categories", documents.Eq("name", "Soup"), documents.Eq("position", 2)), ""},
		{"on several targets",
			documents.And(documents.Eq("categories.name", "Soup"), documents.Eq("categories.position", 2)), "R1"},
		{"or", documents.Or(documents.Eq("seats", 10), documents.Eq("seats", 30)), "R0 R2"},
		{"not", documents.Not(documents.Eq("seats", 10)), "R1 R2"},
		{"everything", documents.And(), "R0 R1 R2"},
		{"nothing", documents.Or(), ""},

		{"no attribute", documents.Eq("nane", "x"),
			`error: query api::restaurant.restaurant: api::restaurant.restaurant has no attribute "nane"`},
		{"no attribute of a target", documents.Eq("owner.nick", "x"),
			`error: query api::restaurant.restaurant: api::person.person has no attribute "nick"`},
		{"a relation itself", documents.Eq("owner", 1),
			"error: query api::restaurant.restaurant: owner is of the type relation; name an attribute of what it leads to, as owner.id"},
		{"through a scalar", documents.Eq("name.x", 1),
			"error: query api::restaurant.restaurant: name of api::restaurant.restaurant is of the type string, which leads to no one schema"},
		{"a zone", documents.Eq("dz.body", "x"),
			"error: query api::restaurant.restaurant: dz of api::restaurant.restaurant is of the type dynamiczone, which leads to no one schema"},
		{"another type", documents.Eq("seats", "ten"),
			`error: query api::restaurant.restaurant: seats is of the type integer and cannot be compared with "ten"`},
		{"no date", documents.Eq("openedOn", "soon"),
			`error: query api::restaurant.restaurant: openedOn is of the type date and cannot be compared with "soon"`},
		{"not whole", documents.Eq("visits", 1.5),
			"error: query api::restaurant.restaurant: visits is of the type biginteger and cannot be compared with 1.5"},
		{"a password", documents.Eq("secret", "x"),
			"error: query api::restaurant.restaurant: secret is a password, which nothing is compared with"},
		{"another type's filter", documents.Matching(&svc.Model().Type("api::menu.menu").Schema, nil),
			"error: query api::restaurant.restaurant: a filter on api::menu.menu is used for api::restaurant.restaurant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := names(svc.Query("api::restaurant.restaurant").Where(tt.when).All(t.Context())); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func names(rows []*documents.Row, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var list []string
	for _, r := range rows {
		list = append(list, r.Text("name"))
	}
	return strings.Join(list, " ")
}

// TestQueryPages tests the parts of a query other than its conditions: sort, offset and limit, status, and locale.
func TestQueryPages(t *testing.T) {
	svc := newKitchen(t)
	all := func() *documents.Query { return svc.Query("api::restaurant.restaurant") }
	for _, tt := range []struct {
		name  string
		query *documents.Query
		want  string
	}{
		{"order", all().Sort("seats:desc"), "R2 R1 R0"},
		{"order of what a relation leads to", all().Sort("owner.firstName:desc", "name"), "R1 R0 R2"},
		{"a part", all().Sort("name").Offset(1).Limit(1), "R1"},
		{"drafts", all().Status(store.Draft).Where(documents.Gt("seats", 25)), "R2 Draft"},
		{"another locale", all().Locale("fr"), ""},
		{"all locales", all().Locale("*"), "R0 R1 R2"},
		{"no type", svc.Query("api::x.x").Where(documents.Eq("a", 1)).Sort("b"),
			`error: query: there is no content-type "api::x.x"`},
		{"no order", all().Sort("seats:down"),
			`error: query api::restaurant.restaurant: sort "seats:down": the order is asc or desc, not "down"`},
		{"order of a relation", all().Sort("owner"),
			`error: query api::restaurant.restaurant: sort "owner": owner is of the type relation; name an attribute of what it leads to, as owner.id`},
	} {
		if got := names(tt.query.All(t.Context())); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if n, err := all().Where(documents.Gte("seats", 20)).Limit(1).Count(t.Context()); n != 2 || err != nil {
		t.Errorf("%d are counted, %v", n, err)
	}
	first, err := all().Sort("seats").First(t.Context())
	if err != nil || first.Text("name") != "R0" || first.Get("seats") != 10 ||
		first.Get("visits") != int64(9007199254740993) || first.Get("secret") != nil ||
		first.Get("address").(*documents.Row).Text("city") != "Rome" || first.DocumentID() == "" {
		t.Errorf("the first is %v, %v", first, err)
	}
	if none, err := all().Where(documents.Eq("seats", 99)).First(t.Context()); none != nil || err != nil {
		t.Errorf("none is %v, %v", none, err)
	}
}
