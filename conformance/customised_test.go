package conformance

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
)

// GraphQL must be answered as recorded, too, when a middleware that changes nothing stands around each field of each type: then
// nothing is printed from rows in one go, and every value comes through what programs see of it.
func TestSuitesThroughMiddlewares(t *testing.T) {
	suites, err := LoadSuites("../testdata/conformance/suites")
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
				r := Replay(serveExtended(t, s.ProjectDir(), x), s)
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

// aroundAll is an extension with a middleware around each field that can be reached.
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
				x.ResolversConfig[o.Name+"."+f.Name] = schema.FieldConfig{Middlewares: []schema.MiddlewareUse{{Func: m}}}
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
