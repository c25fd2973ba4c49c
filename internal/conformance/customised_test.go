package conformance

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
)

// TestSuitesThroughMiddlewares replays the GraphQL suites with a middleware around each field that changes nothing.
// Responses must be the same, although every value then passes through the resolvers that extensions see, and not
// through the faster printing from rows.
func TestSuitesThroughMiddlewares(t *testing.T) {
	if testing.Short() {
		t.Skip("the requests of TestSuites")
	}
	suites, err := LoadSuites("../../testdata/conformance/suites")
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Int64
	x := &gateway.Extensions{}
	x.GraphQL().Use(aroundAll(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
		ran.Add(1)
		return next(p)
	}))
	var mu sync.Mutex
	var results []Result
	t.Run("suite", func(t *testing.T) {
		for _, s := range suites {
			if !strings.Contains(s.Name, "graphql") {
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				if testing.Short() && s.hashesPasswords() {
					t.Skip("hashing takes minutes under the race detector")
				}
				t.Parallel()
				r := Replay(serve(t, s.ProjectDir(), x), s)
				mu.Lock()
				defer mu.Unlock()
				results = append(results, r...)
			})
		}
	})
	judge(t, results, loadDifferences(t))
	if n := ran.Load(); n < int64(len(results)) {
		t.Errorf("middlewares ran only %d times for %d steps", n, len(results))
	}
}

// TestUncachedFiles replays the suite of files with the reference's header Cache-Control. Every step must match but for
// two, since the header is the only other difference that differences.yaml lists for the suite.
func TestUncachedFiles(t *testing.T) {
	x := &gateway.Extensions{}
	x.Route("GET /uploads/{path:.*}",
		gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Func: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", "max-age=0")
				next.ServeHTTP(w, r)
			})
		}}}})
	suites, err := LoadSuites("../../testdata/conformance/suites")
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"upload with a ref to nothing", "a type that the cover does not allow"}
	i := slices.IndexFunc(suites, func(s *Suite) bool { return s.Name == "rest-content-media" })
	for _, r := range Replay(serve(t, suites[i].ProjectDir(), x), suites[i]) {
		if other := slices.Contains(others, r.Step.Name); r.Strict() == other {
			t.Errorf("as recorded %t: %s", r.Strict(), &r)
		}
	}
}

// aroundAll returns an extension with a middleware around each field of the schema.
func aroundAll(m schema.Middleware) schema.ExtensionFunc {
	return func(b *schema.Builder) (schema.Extension, error) {
		x := schema.Extension{ResolversConfig: map[string]schema.FieldConfig{}}
		seen := map[*schema.Object]bool{}
		var visit func(o *schema.Object)
		visit = func(o *schema.Object) {
			if o == nil || seen[o] {
				return
			}
			seen[o] = true
			for _, f := range o.Fields {
				x.ResolversConfig[o.Name+"."+
					f.Name] = schema.FieldConfig{Middlewares: []schema.MiddlewareUse{{Func: m}}}
				visit(f.Object)
				if f.Union != nil {
					for _, member := range f.Union.Members {
						visit(member)
					}
				}
			}
		}
		visit(b.Schema().Query)
		visit(b.Schema().Mutation)
		return x, nil
	}
}
