package execution_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/store"
)

// FuzzExecute checks that every query, and every event of a subscription, gets an answer that is valid JSON and within
// the limits, that a second run gives the same answer, and that a caller with fewer permissions sees less. Middlewares
// that change nothing around every field must not change any of this.
func FuzzExecute(f *testing.F) {
	files, err := filepath.Glob("../../../testdata/conformance/suites/graphql-query-*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no recorded suites", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var s struct {
			Steps []struct {
				Request struct {
					GraphQL *struct {
						Query     string
						Variables json.RawMessage
					}
				}
			}
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			f.Fatal(err)
		}
		for _, step := range s.Steps {
			if g := step.Request.GraphQL; g != nil && !strings.HasPrefix(strings.TrimSpace(g.Query), "mutation") {
				f.Add(g.Query, string(g.Variables))
			}
		}
	}
	f.Add(nestedQuery, `{"p":1}`)
	f.Add(`{uploadFiles{related{__typename}} restaurants{localizations{name} gallery{related{...on Restaurant{name}}}}}`, "")
	f.Add(`subscription($n:String){r:restaurantChanged(filters:{name:{eq:$n}}){change document{name owner{firstName}}}}`, `{"n":"Restaurant 3"}`)
	f.Add(`subscription{...F} fragment F on Subscription{restaurantChanged(locale:"*"){__typename seq at locale document{localizations{name}}}}`, "")
	s := newServer(f, limits.Operation{})
	change := changeOf(store.Updated, s.fill(4), "en")
	around := s.extended(limits.Operation{}, everywhere(f))
	some := permission.NewAccess([]string{"api::restaurant.restaurant.find", "api::category.category.find"})
	f.Fuzz(func(t *testing.T, query, variables string) {
		var vars *jsontree.Object
		if v, err := jsontree.Parse([]byte(variables), 100); err == nil {
			vars, _ = v.(*jsontree.Object)
		}
		answer := func(engine *execution.Engine, access *permission.Access) string {
			r := &execution.Request{Query: query, Variables: vars, Access: access, QueriesOnly: true,
				Time: 5 * time.Second}
			sub, a := engine.Subscribe(context.Background(), r)
			var err error
			switch {
			case sub != nil && a != nil: // the caller lacks the permission, and may be told of deletions
				lost, err := sub.Answer(context.Background(), change)
				if err != nil {
					t.Fatalf("%q with %s: %v", query, variables, err)
				}
				if strings.Contains(string(lost.Body), `"UPDATE"`) && !strings.Contains(query+variables, "UPDATE") {
					t.Errorf("%q with %s tells a caller without permission %s", query, variables, lost.Body)
				}
				lost.Release()
			case sub != nil:
				a, err = sub.Answer(context.Background(), change)
			case a == nil:
				a, err = engine.Execute(context.Background(), r)
			}
			if err != nil {
				t.Fatalf("%q with %s: %v", query, variables, err)
			}
			defer a.Release()
			text := string(a.Body)
			v, err := jsontree.Parse(a.Body, 500)
			if err != nil {
				t.Fatalf("%q with %s: %v in %s", query, variables, err, text)
			}
			if o, ok := v.(*jsontree.Object); !ok || len(o.Keys) == 0 {
				t.Fatalf("%q with %s answers %s", query, variables, text)
			}
			return text
		}
		first := answer(s.engine, permission.FullAccess)
		if again := answer(s.engine, permission.FullAccess); again != first {
			t.Errorf("%q with %s answers %s and then %s", query, variables, first, again)
		}
		for _, access := range []*permission.Access{permission.FullAccess, some} {
			if plain, through := answer(s.engine, access), answer(around, access); through != plain {
				t.Errorf("%q with %s answers %s and through middlewares %s", query, variables, plain, through)
			}
		}
		if hidden := answer(s.engine, some); strings.Contains(hidden, `"P0"`) &&
			!strings.Contains(query+variables, "P0") {
			t.Errorf("%q with %s shows %s", query, variables, hidden)
		}
	})
}
