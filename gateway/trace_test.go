package gateway_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"lectern/auth"
	"lectern/gateway"
)

// A traceCollector is a collector of OTLP over HTTP.
type traceCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
	all   strings.Builder // every request as text
	keys  []string        // the header Api-Key of each request
}

func newTraceCollector(t *testing.T) *traceCollector {
	c := new(traceCollector)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.keys = append(c.keys, r.Header.Get("Api-Key"))
		c.all.WriteString(sent.String())
		for _, resource := range sent.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// tree returns the spans below a parent, each as "name(spans below it)", in the order in which they ended.
func (c *traceCollector) tree(parent []byte) string {
	var names []string
	for _, s := range c.spans {
		if string(s.ParentSpanId) != string(parent) {
			continue
		}
		name := s.Name
		if below := c.tree(s.SpanId); below != "" {
			name += "(" + below + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func (c *traceCollector) attributes(name string) string {
	for _, s := range c.spans {
		if s.Name == name {
			return fmt.Sprint(s.Attributes)
		}
	}
	return ""
}

const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestTracesShowThePartsOfARequest serves a project that sends traces, and compares the spans of a read, a GraphQL
// query, a write and a refused request. Nothing that a client sends may be in them.
func TestTracesShowThePartsOfARequest(t *testing.T) {
	for _, trusts := range []bool{false, true} {
		t.Run(fmt.Sprintf("trustParent=%t", trusts), func(t *testing.T) {
			c := newTraceCollector(t)
			dir := writeProject(t, map[string]string{
				"content-types/note.yaml": noteFile(),
				"config/server.yaml": fmt.Sprintf(
					"tracing: {endpoint: %q, headers: {Api-Key: secret-collector}, trustParent: %t}", c.URL, trusts),
			})
			var key string
			served, stop := run(t, dir, gateway.Options{}, func(p *gateway.Project) {
				var err error
				if _, key, err = p.CreateToken(
					t.Context(), auth.Declaration{Name: "secret-token", Kind: auth.FullAccess}); err != nil {
					t.Fatal(err)
				}
			})
			for _, ask := range []struct {
				method, path, body string
				status             int
			}{
				{"POST", "/api/notes?fields=title", `{"data":{"title":"secret-title"}}`, 201},
				{"GET", "/api/notes?filters[title]=secret-title", "", 200},
				{"POST", "/graphql", `{"query":"{ notes(filters: {title: {eq: \"secret-title\"}}) { title } }"}`, 200},
				{"GET", "/api/notes/secret-id", "", 404},
				{"GET", "/secret-path", "", 404},
				{"GET", "/_ready", "", 200},
			} {
				r, err := http.NewRequest(ask.method, served.Base+ask.path, strings.NewReader(ask.body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"},
					"Traceparent": {traceParent}, "User-Agent": {"secret-agent"}}
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != ask.status {
					t.Errorf("%s %s: %d, want %d", ask.method, ask.path, res.StatusCode, ask.status)
				}
			}
			stop() // it sends the spans that are queued

			parent, _ := hex.DecodeString("b7ad6b7169203331")
			roots, others := parent, []byte(nil)
			if !trusts {
				roots, others = others, roots
			}
			const want = "POST /api/notes(store.write(store.wait store.apply store.commit)) GET /api/notes(plan store.view) POST /graphql(plan store.view) GET /api/notes/{documentId}(plan store.view) GET none"
			if got := c.tree(roots); got != want {
				t.Errorf("the spans are\n%s, want\n%s", got, want)
			}
			if got := c.tree(others); got != "" {
				t.Errorf("spans with another parent: %s", got)
			}
			if got := c.attributes("GET /api/notes"); !strings.Contains(got, `"token"`) ||
				!strings.Contains(got, "int_value:200") {
				t.Errorf("attributes of a request: %s", got)
			}
			if got := c.attributes("store.view"); !strings.Contains(got, "lectern.rows") ||
				!strings.Contains(got, "lectern.queries.") {
				t.Errorf("attributes of a view: %s", got)
			}
			if all := c.all.String(); strings.Contains(all, "secret") || strings.Contains(all, key) ||
				strings.Contains(all, "fields=") {
				t.Errorf("a secret is sent: %s", all)
			}
			for _, k := range c.keys {
				if k != "secret-collector" {
					t.Errorf("the collector is sent the key %q", k)
				}
			}
		})
	}
}

// TestDeadCollectorDelaysNobody sends many more requests than the queue of spans holds, while the collector does not
// answer.
func TestDeadCollectorDelaysNobody(t *testing.T) {
	end := make(chan bool)
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	defer dead.Close()
	defer close(end)
	dir := writeProject(t, map[string]string{"config/server.yaml": fmt.Sprintf("tracing: {endpoint: %q}", dead.URL)})
	served, stop := run(t, dir, gateway.Options{}, nil)
	for range 3000 { // the queue holds 2048
		if status, body := get(t, served.Base+"/api/nothing", ""); status != 404 {
			t.Fatal(status, body)
		}
	}
	began := time.Now()
	stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("stopped after %s", took)
	}
}
