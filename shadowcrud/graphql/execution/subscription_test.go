package execution_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
	"lectern/documents/changes"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// subscribe subscribes to an operation and fails the test if it is refused.
func (s *server) subscribe(engine *execution.Engine, r *execution.Request) *execution.Subscription {
	s.t.Helper()
	sub, refusal := engine.Subscribe(context.Background(), r)
	if sub == nil {
		s.t.Fatalf("%s: refused: %+v", r.Query, refusal)
	}
	return sub
}

// event returns the answer to a change.
func (s *server) event(sub *execution.Subscription, c *execution.Change) string {
	s.t.Helper()
	answer, err := sub.Answer(context.Background(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Release()
	return strings.TrimSuffix(string(answer.Body), "\n")
}

// changeOf returns a change of a restaurant.
func changeOf(action store.Action, documentID, locale string) *execution.Change {
	at := time.Date(2026, 11, 22, 12, 0, 0, 5e6, time.UTC)
	return &execution.Change{Change: changes.Change{Action: action, DocumentID: documentID, Locale: locale, Time: at},
		Seq: "a-1"}
}

func TestSubscriptionAnswers(t *testing.T) {
	s := newServer(t, limits.Operation{})
	id := s.fill(2)
	limited := permission.NewAccess([]string{"api::restaurant.restaurant.find"})
	for _, c := range []struct {
		name, query, variables string
		access                 *permission.Access
		action                 store.Action
		locale                 string
		want                   string
	}{
		{name: "all fields",
			query:  `subscription{restaurantChanged{__typename change documentId locale seq at document{name owner{firstName}}}}`,
			action: store.Updated, locale: "en",
			want: `{"data":{"restaurantChanged":{"__typename":"RestaurantChange","change":"UPDATE","documentId":"` +
				id +
				`","locale":"en","seq":"a-1","at":"2026-11-22T12:00:00.005Z","document":{"name":"Restaurant 1","owner":{"firstName":"P1"}}}}}`},
		{name: "aliases", query: `subscription{r:restaurantChanged{k:change x:document{name} y:document{seats}}}`,
			action: store.Created, locale: "en",
			want: `{"data":{"r":{"k":"CREATE","x":{"name":"Restaurant 1"},"y":{"seats":2}}}}`},
		{name: "a deletion", query: `subscription{restaurantChanged{change documentId document{name}}}`,
			action: store.Deleted, locale: "en",
			want: `{"data":{"restaurantChanged":{"change":"DELETE","documentId":"` + id + `","document":null}}}`},
		{name: "a draft of what was unpublished",
			query:  `subscription{restaurantChanged(status:DRAFT){change document{publishedAt}}}`,
			action: store.Unpublished,
			locale: "en", want: `{"data":{"restaurantChanged":{"change":"UNPUBLISH","document":{"publishedAt":null}}}}`},
		{name: "a version that is gone", query: `subscription{restaurantChanged{change document{name}}}`,
			action: store.Updated, locale: "fr",
			want: `{"data":{"restaurantChanged":{"change":"DELETE","document":null}}}`},
		{name: "matches", query: `subscription($n:String){restaurantChanged(filters:{name:{eq:$n}}){change document{seats}}}`, variables: `{"n":"Restaurant 1"}`,
			action: store.Updated, locale: "en",
			want: `{"data":{"restaurantChanged":{"change":"UPDATE","document":{"seats":2}}}}`},
		{name: "matches no longer",
			query:     `subscription($n:String){restaurantChanged(filters:{name:{eq:$n}}){change document{seats}}}`,
			variables: `{"n":"x"}`,
			action:    store.Updated, locale: "en",
			want: `{"data":{"restaurantChanged":{"change":"DELETE","document":null}}}`},
		{name: "a filter through a relation",
			query:  `subscription{restaurantChanged(filters:{owner:{firstName:{eq:"P1"}}}){change}}`,
			action: store.Updated, locale: "en", want: `{"data":{"restaurantChanged":{"change":"UPDATE"}}}`},
		{name: "a relation that is hidden", query: `subscription{restaurantChanged{document{name owner{firstName}}}}`,
			access: limited,
			action: store.Updated, locale: "en",
			want: `{"errors":[{"message":"Forbidden access","path":["restaurantChanged","document","owner"],"extensions":{"code":"FORBIDDEN","error":{"name":"ForbiddenError","message":"Forbidden access","details":{}}}}],` +
				`"data":{"restaurantChanged":{"document":{"name":"Restaurant 1","owner":null}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &execution.Request{Query: c.query, Access: permission.FullAccess, QueriesOnly: true}
			if c.access != nil {
				r.Access = c.access
			}
			if c.variables != "" {
				r.Variables = object(t, c.variables)
			}
			sub := s.subscribe(s.engine, r)
			for range 2 { // the second time with the bindings of the first
				if got := s.event(sub, changeOf(c.action, id, c.locale)); got != c.want {
					t.Errorf("%s\nwant %s", got, c.want)
				}
			}
		})
	}
}

// TestSubscribe checks which changes a subscription asks for, and which operations are refused.
func TestSubscribe(t *testing.T) {
	s := newServer(t, limits.Operation{})
	sub := s.subscribe(s.engine, &execution.Request{Access: permission.FullAccess,
		Query: `subscription{restaurantChanged(documentId:"abc", status:DRAFT, locale:"fr"){seq}}`})
	if !reflect.DeepEqual(
		sub.Filter, changes.Filter{Types: []*contenttypes.ContentType{s.model.Type("api::restaurant.restaurant")},
			Status: store.Draft, Locales: []string{"fr"}}) ||
		!sub.Concerns("abc") || sub.Concerns("abd") || sub.Access != permission.FullAccess {
		t.Errorf("%+v", sub)
	}
	if sub = s.subscribe(s.engine, &execution.Request{Access: permission.FullAccess,
		Query: `subscription{restaurantChanged(locale:"*"){seq}}`}); sub.Filter.Locales != nil || !sub.Concerns("abc") {
		t.Errorf("all locales: %+v", sub.Filter)
	}
	if sub, refusal := s.engine.Subscribe(t.Context(), &execution.Request{Query: "{__typename}"}); sub != nil ||
		refusal != nil {
		t.Errorf("a query: %v, %v", sub, refusal)
	}
	for _, c := range []struct {
		name, query, want string
		deletions         bool // whether the caller may be told of those
	}{
		{"invalid", "subscription{x}", `Cannot query field \"x\" on type \"Subscription\".`, false},
		{"no permission", "subscription{menuChanged{seq}}", `Forbidden access`, true},
		{"a filter on what is hidden", `subscription{restaurantChanged(filters:{owner:{firstName:{eq:"P1"}}}){seq}}`,
			`Invalid key`, false},
	} {
		sub, refusal := s.engine.Subscribe(t.Context(), &execution.Request{Query: c.query,
			Access: permission.NewAccess([]string{"api::restaurant.restaurant.find"})})
		if (sub != nil) != c.deletions || refusal == nil || !strings.Contains(string(refusal.Body), c.want) ||
			strings.Contains(string(refusal.Body), `"data"`) {
			t.Errorf("%s: %v, %+v", c.name, sub, refusal)
		}
	}
	limited := permission.NewAccess(nil)
	lost, _ := s.engine.Subscribe(t.Context(),
		&execution.Request{Query: `subscription{restaurantChanged{change document{name}}}`, Access: limited})
	if lost == nil || lost.Access != limited {
		t.Fatalf("without permission: %+v", lost)
	}
	if got := s.event(lost, changeOf(store.Updated, s.fill(1),
		"en")); got != `{"data":{"restaurantChanged":{"change":"DELETE","document":null}}}` {
		t.Errorf("without permission, a change is reported as %s", got)
	}
	answer, err := s.engine.Execute(
		t.Context(), &execution.Request{Query: "subscription{menuChanged{seq}}", Access: permission.FullAccess})
	if err != nil || answer.Status != 406 || !strings.Contains(string(answer.Body), "text/event-stream") {
		t.Errorf("without a stream: %+v, %v", answer, err)
	}
}

// TestSubscriptionRunsCode subscribes with policies, middlewares and resolvers of a program.
func TestSubscriptionRunsCode(t *testing.T) {
	allow, change := true, false
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs: "extend type Restaurant { shout: String }",
		Resolvers: schema.Resolvers{"Restaurant": {"shout": func(p graphql.ResolveParams) (any, error) {
			return strings.ToUpper(p.Source.(*schema.Row).Get("name").(string)), nil
		}}},
		ResolversConfig: map[string]schema.FieldConfig{"Subscription.restaurantChanged": {
			Policies: []schema.PolicyUse{{Func: func(*schema.PolicyContext, schema.Server) (bool,
				error) {
				return allow, nil
			}}},
			Middlewares: []schema.MiddlewareUse{{Func: func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any,
				error) {
				if change {
					p.Args = map[string]any{"status": "DRAFT"}
				}
				v, err := next(p)
				if m, ok := v.(map[string]any); ok {
					m["seq"] = "seen " + m["change"].(string)
				}
				return v, err
			}}},
		}},
	})
	s := newExtended(t, limits.Operation{}, &e)
	id := s.fill(1)
	r := &execution.Request{Query: `subscription{restaurantChanged{change seq at document{name shout owner{firstName}}}}`, Access: permission.FullAccess}
	sub := s.subscribe(s.engine, r)
	const want = `{"data":{"restaurantChanged":{"change":"UPDATE","seq":"seen UPDATE","at":"2026-11-22T12:00:00.005Z","document":{"name":"Restaurant 0","shout":"RESTAURANT 0","owner":{"firstName":"P0"}}}}}`
	if got := s.event(sub, changeOf(store.Updated, id, "en")); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	const gone = `{"data":{"restaurantChanged":{"change":"DELETE","seq":"seen DELETE","at":"2026-11-22T12:00:00.005Z","document":null}}}`
	if got := s.event(sub, changeOf(store.Deleted, id, "en")); got != gone {
		t.Errorf("%s\nwant %s", got, gone)
	}
	change = true
	if got := s.event(sub, changeOf(store.Updated, id, "en")); !strings.Contains(got, "Internal Server Error") ||
		!strings.Contains(s.log.String(), "changed arguments") {
		t.Errorf("a middleware that changes arguments: %s", got)
	}
	allow = false
	if sub, refusal := s.engine.Subscribe(t.Context(), r); sub != nil ||
		!strings.Contains(string(refusal.Body), "Policy Failed") {
		t.Errorf("a policy that refuses: %v, %+v", sub, refusal)
	}
}
