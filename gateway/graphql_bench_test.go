package gateway

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/gateway/internal/server"
)

// nothing is a response writer that drops the answer.
type nothing struct {
	header http.Header
	status int
	bytes  int
}

func (n *nothing) Header() http.Header         { return n.header }
func (n *nothing) WriteHeader(status int)      { n.status = status }
func (n *nothing) Write(p []byte) (int, error) { n.bytes += len(p); return len(p), nil }

// BenchmarkGraphQL measures requests through the whole handler, without the network.
func BenchmarkGraphQL(b *testing.B) {
	p, err := Open("../testdata/conformance/projects/kitchen",
		Options{Ephemeral: true, Production: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	rt, err := p.generation.Load().runtime()
	if err != nil {
		b.Fatal(err)
	}
	server, err := NewServer(server.Config{Log: p.log}, rt)
	if err != nil {
		b.Fatal(err)
	}
	tokens, err := p.ephemeralTokens(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	send := func(query, variables string) func() *nothing {
		text, _ := json.Marshal(query)
		body := fmt.Sprintf(`{"query":%s,"variables":%s}`, text, variables)
		return func() *nothing {
			r := httptest.NewRequest("POST", "/graphql", strings.NewReader(body))
			r.Header["Content-Type"] = []string{"application/json"}
			r.Header["Authorization"] = []string{"Bearer " + tokens["full"]}
			w := &nothing{header: http.Header{}}
			server.Handler().ServeHTTP(w, r)
			return w
		}
	}
	for i := range 30 {
		if w := send(fmt.Sprintf(`mutation{createRestaurant(data:{name:"R %d",slug:"r-%d",seats:%d,price:9.5}){name}}`,
			i, i, i+1), "{}")(); w.status != 200 {
			b.Fatal(w.status)
		}
	}
	for _, bench := range []struct{ name, query, variables string }{
		{"one", `query($n:String){restaurants(filters:{slug:{eq:$n}}){documentId name seats}}`, `{"n":"r-7"}`},
		{"list of 25", `query($p:Int){restaurants(pagination:{page:$p,pageSize:25}){documentId name slug seats price tier createdAt}}`, `{"p":1}`},
		{"typename", `{__typename}`, `null`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			ask := send(bench.query, bench.variables)
			b.ReportAllocs()
			var w *nothing
			for b.Loop() {
				w = ask()
			}
			b.ReportMetric(float64(w.bytes), "bytes")
		})
	}
}
