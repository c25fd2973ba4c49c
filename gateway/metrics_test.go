package gateway_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"lectern/gateway"
	"lectern/gateway/metrics"
	"lectern/internal/servertest"
)

const metricsToken = "secret-token-of-metrics"

// withMetrics returns files of a project that serves metrics at /_metrics.
func withMetrics(files map[string]string) map[string]string {
	all := map[string]string{"config/server.yaml": "metrics: {token: " + metricsToken + "}\n"}
	maps.Copy(all, files)
	return all
}

// A scraped holds the metrics of a scrape by name.
type scraped map[string]*dto.MetricFamily

// scrape reads the metrics of a server.
func (a *api) scrape() scraped {
	a.t.Helper()
	r := a.want(200, "GET", "/_metrics", metricsToken, nil)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(r.text))
	if err != nil {
		a.t.Fatalf("%v in\n%s", err, r.text)
	}
	return families
}

// value returns the value of a metric with these labels, given as pairs; that of a histogram is its count. It is 0 if
// there is none.
func (s scraped) value(name string, labels ...string) float64 {
	for _, m := range s[name].GetMetric() {
		want := map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			want[labels[i]] = labels[i+1]
		}
		for _, pair := range m.Label {
			if want[pair.GetName()] == pair.GetValue() {
				delete(want, pair.GetName())
			}
		}
		if len(want) > 0 {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue()
		case m.Gauge != nil:
			return m.Gauge.GetValue()
		}
		return float64(m.Histogram.GetSampleCount())
	}
	return 0
}

// TestMetricsAreServedWhereTheyAreOn asks for metrics where they are on, off, and at an address of their own.
func TestMetricsAreServedWhereTheyAreOn(t *testing.T) {
	listen := "metrics: {listen: \"127.0.0.1:0\"}"
	for _, test := range []struct {
		name, settings, path, key string
		own                       bool // at the address of metrics
		status                    int
	}{
		{"off", "", "/_metrics", metricsToken, false, 404},
		{"off, with full access", "", "/_metrics", "full", false, 404},
		{"token", "metrics: {token: " + metricsToken + "}", "/_metrics", metricsToken, false, 200},
		{"wrong token", "metrics: {token: " + metricsToken + "}", "/_metrics", metricsToken + "x", false, 401},
		{"no token", "metrics: {token: " + metricsToken + "}", "/_metrics", "", false, 401},
		{"an API token", "metrics: {token: " + metricsToken + "}", "/_metrics", "full", false, 401},
		{"own address", listen, "/metrics", "", true, 200},
		{"own address, other path", listen, "/api/articles", "", true, 404},
		{"own address, main port", listen, "/_metrics", "", false, 404},
		{"own address with a token", strings.Replace(listen, "}", ", token: "+metricsToken+"}", 1), "/metrics",
			metricsToken, true, 200},
		{"own address without its token", strings.Replace(listen, "}", ", token: "+metricsToken+"}", 1), "/metrics", "",
			true, 401},
		{"own address with a token, main port", strings.Replace(listen, "}", ", token: "+metricsToken+"}", 1),
			"/_metrics", metricsToken, false, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log lineLog
			files := with(map[string]string{"config/server.yaml": test.settings})
			ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, LogTo: &log}, nil)
			if test.own {
				ready.Base = regexp.MustCompile(`url=(http://[^/]+)/metrics`).FindStringSubmatch(log.String())[1]
			}
			r := newAPI(t, ready).do("GET", test.path, test.key, nil)
			if r.status != test.status || (r.status == 200) != strings.Contains(r.text, "lectern_build_info") {
				t.Errorf("%d %.200s, want %d", r.status, r.text, test.status)
			}
		})
	}
}

// TestMetricsCountEachRequest carries out requests of each kind and expects the metrics to grow by them.
func TestMetricsCountEachRequest(t *testing.T) {
	a := serve(t, withMetrics(nil))
	before := a.scrape()
	graphql := func(query string) { a.do("POST", "/graphql", "full", object{"query": query}) }
	for i := range 3 {
		a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": fmt.Sprint("a", i)}})
	}
	id := a.want(200, "GET", "/api/articles?sort=title", "full", nil).at("data")
	first, _ := id.([]any)[0].(object)["documentId"].(string)
	a.want(200, "GET", "/api/articles/"+first, "", nil)
	a.want(404, "GET", "/api/articles/none", "", nil)
	a.want(404, "GET", "/nowhere", "", nil)
	a.want(200, "GET", "/api/articles?filters[title][$contains]=a", "full", nil)
	a.want(401, "GET", "/api/articles", "wrong", nil)
	a.want(403, "POST", "/api/articles", "", object{"data": object{}})
	a.want(413, "POST", "/api/articles", "full", strings.Repeat(" ", 2<<20))
	for range 2 {
		graphql(`{ articles { title } }`)
	}
	graphql(`mutation { createArticle(data: {title: "g"}) { title } }`)
	graphql(`{ nonsense }`)
	graphql(`{ articles` + strings.Repeat(` { related`, 11) + `{ title }` + strings.Repeat(` }`, 11) + ` }`)
	graphql(`{ ` + strings.Repeat(`a: __typename `, 600) + `}`)
	a.want(200, "POST", "/graphql", "", object{"query": `mutation { createArticle(data: {}) { title } }`})
	after := a.scrape()
	for _, test := range []struct {
		name   string
		labels []string
		grows  float64
	}{
		{"lectern_http_requests_total", []string{"route", "/api/articles", "method", "POST", "status", "201"}, 3},
		{"lectern_http_requests_total", []string{"route", "/api/articles/{documentId}", "method", "GET", "status",
			"200"}, 1},
		{"lectern_http_requests_total", []string{"route", "/api/articles/{documentId}", "method", "GET", "status",
			"404"}, 1},
		{"lectern_http_requests_total", []string{"route", "none", "method", "GET", "status", "404"}, 1},
		{"lectern_http_requests_total", []string{"route", "/_metrics", "method", "GET", "status", "200"}, 1},
		{"lectern_http_request_duration_seconds", []string{"route", "/api/articles", "method", "POST"}, 5},
		{"lectern_http_refusals_total", []string{"status", "401", "reason", "credential"}, 1},
		{"lectern_http_refusals_total", []string{"status", "403", "reason", "permission"}, 1},
		{"lectern_http_refusals_total", []string{"status", "413", "reason", "body_size"}, 1},
		{"lectern_graphql_operations_total", []string{"type", "query", "outcome", "ok"}, 2},
		{"lectern_graphql_operations_total", []string{"type", "mutation", "outcome", "ok"}, 1},
		{"lectern_graphql_operations_total", []string{"type", "mutation", "outcome", "errors"}, 1},
		{"lectern_graphql_operations_total", []string{"type", "none", "outcome", "refused"}, 3},
		{"lectern_graphql_refusals_total", []string{"reason", "depth"}, 1},
		{"lectern_graphql_refusals_total", []string{"reason", "aliases"}, 1},
		{"lectern_graphql_refusals_total", []string{"reason", "permission"}, 1},
		{"lectern_store_commit_writes", nil, 4},
		{"lectern_store_commit_duration_seconds", nil, 4},
		{"lectern_store_sync_duration_seconds", nil, 4},
		{"lectern_store_writes_total", nil, 4},
		{"lectern_store_commits_total", nil, 4},
		{"lectern_store_fsyncs_total", nil, 8},
		// The queries of other plans are not counted here: the server itself makes some in the background after its
		// start.
		{"lectern_store_queries_total", []string{"plan", "cheapest_source"}, 1},
		{"lectern_cache_hits_total", []string{"cache", "plans"}, 1},
	} {
		if got := after.value(test.name, test.labels...) - before.value(test.name, test.labels...); got != test.grows {
			t.Errorf("%s%v grows by %v, want %v", test.name, test.labels, got, test.grows)
		}
	}
	for _, test := range []struct {
		name   string
		labels []string
	}{
		{"lectern_store_size_bytes", nil}, {"lectern_store_free_bytes", nil},
		{"lectern_store_state", []string{"state", "sound"}},
		{"lectern_memory_limit_bytes", []string{"budget", "requests"}},
		{"lectern_memory_limit_bytes", []string{"budget", "bodies"}},
		{"lectern_places_limit", []string{"of", "requests"}}, {"lectern_places", []string{"of", "connections"}},
		{"lectern_places_limit", []string{"of", "passwords"}},
		{"lectern_store_rows_read_total", nil}, {"lectern_uploads_writable", nil}, {"lectern_build_info", nil},
		{"go_goroutines", nil}, {"process_open_fds", nil},
	} {
		if after.value(test.name, test.labels...) <= 0 {
			t.Errorf("%s%v is %v", test.name, test.labels, after.value(test.name, test.labels...))
		}
	}
}

// TestMetricsCountListeners listens to changes and to a subscription, up to the limit, and then closes one of both.
func TestMetricsCountListeners(t *testing.T) {
	files := maps.Clone(noteFiles)
	files["config/server.yaml"] = "metrics: {token: " + metricsToken +
		"}\nlimits: {listeners: 3, listenersPerAddress: 2}\n"
	a := serve(t, files)
	feed := a.listenTo("since=now", "full")
	a.subscribe("subscription{noteChanged{seq}}", "")
	a.want(503, "GET", "/api/_changes?feed=longpoll", "full", nil)
	s := a.scrape()
	for name, want := range map[string]float64{"lectern_places": 2, "lectern_places_limit": 3,
		"lectern_places_refused_total": 1} {
		if got := s.value(name, "of", "listeners"); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	feed.close()
	servertest.Until(t, "a listener that is gone is not counted", func() bool {
		return a.scrape().value("lectern_places", "of", "listeners") == 1
	})
}

// TestMetricsAreBounded sends requests with random paths, methods, queries and credentials, which must not add a label,
// and must not be seen in the metrics.
func TestMetricsAreBounded(t *testing.T) {
	a := serve(t, withMetrics(nil))
	send := func(n int) {
		for i := range n {
			x := fmt.Sprint("secret", i)
			a.do("GET", "/"+x, "", nil)
			a.do("GET", "/api/articles/"+x+"?"+x, x, nil)
			a.do("GET", "/uploads/"+x, "", nil)
			a.do("PUT", "/api/articles/"+x+"/"+x, "", object{"data": object{"title": x}})
			a.do("SECRET"+fmt.Sprint(i), "/api/articles", "", nil)
			a.do("POST", "/graphql", "", object{"query": "query " + x + " { " + x + " }", "operationName": x})
		}
	}
	series := func() (n int) {
		for _, f := range a.scrape() {
			n += len(f.Metric)
		}
		return n
	}
	send(1)
	a.scrape()
	first := series()
	send(30)
	if now := series(); now != first {
		t.Errorf("%d series, and %d after 180 more requests", first, now)
	}
	if text := a.want(200, "GET", "/_metrics", metricsToken, nil).text; strings.Contains(strings.ToLower(text),
		"secret") {
		t.Errorf("the metrics tell what a client sent:\n%s", text)
	}
}

var metricRow = regexp.MustCompile("(?m)^\\| `(lectern_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\| [^|]+ \\|$")

// TestMetricsPageListsAllMetrics compares the table of metrics in docs/metrics.md with a scrape: names, types and
// labels.
func TestMetricsPageListsAllMetrics(t *testing.T) {
	a := serve(t, withMetrics(map[string]string{"config/webhooks.yaml": `webhooks: [{name: a, url: "http://127.0.0.1:9"}]`}))
	a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": "a"}})
	a.want(401, "GET", "/api/articles", "wrong", nil)
	a.do("POST", "/graphql", "full", object{"query": "{ " + strings.Repeat("a: __typename ", 600) + "}"})
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		said[row[1]] = strings.TrimSpace(row[2] + " " + strings.NewReplacer("`", "", ",", "").Replace(row[3]))
	}
	served := map[string]string{}
	for name, family := range a.scrape() {
		if !strings.HasPrefix(name, "lectern_") {
			continue
		}
		labels := []string{strings.ToLower(family.GetType().String())}
		for _, pair := range family.Metric[0].Label {
			labels = append(labels, pair.GetName())
		}
		served[name] = strings.Join(labels, " ")
	}
	for name, family := range scrapeOthers(t) {
		switch of := strings.HasPrefix(name, "lectern_cluster_") || strings.HasPrefix(name, "lectern_replica_"); {
		case of && served[name] == "":
			served[name] = strings.ToLower(family.GetType().String())
		case of:
			t.Errorf("a server that is neither a node of a cluster nor a replica has the metric %s", name)
		}
	}
	sorted := func(all map[string]string) {
		for name, text := range all {
			words := strings.Fields(text)
			slices.Sort(words[1:])
			all[name] = strings.Join(words, " ")
		}
	}
	sorted(said)
	sorted(served)
	if diff := cmp.Diff(served, said); diff != "" {
		t.Errorf("docs/metrics.md differs from a scrape:\n%s", diff)
	}
}

// scrapeOthers returns the metrics of a server that is what others are not: a node that leads a cluster, and a replica.
func scrapeOthers(t *testing.T) scraped {
	t.Helper()
	m := metrics.New("", func() metrics.Reading {
		return metrics.Reading{
			Cluster: &metrics.Cluster{Leads: true, Nodes: 3, Voters: 2, LastContact: time.Second},
			Replica: &metrics.Replica{Age: 7},
		}
	})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	s := scraped(families)
	for name, want := range map[string]float64{
		"cluster_leader": 1, "cluster_nodes": 3, "cluster_voters": 2, "cluster_last_contact_seconds": 1,
		"replica_in_step": 0, "replica_age_seconds": 7,
	} {
		if got := s.value("lectern_" + name); got != want {
			t.Errorf("lectern_%s is %v, want %v", name, got, want)
		}
	}
	return s
}

// TestReasonsPageListsAllReasons expects each reason of a refusal in docs/metrics.md.
func TestReasonsPageListsAllReasons(t *testing.T) {
	source, err := os.ReadFile("../documents/apierror/reason.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`Reason = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(reasons) < 20 {
		t.Errorf("only %d reasons", len(reasons))
	}
	for _, reason := range reasons {
		if !strings.Contains(string(page), "`"+reason[1]+"`") {
			t.Errorf("docs/metrics.md does not have the reason %s", reason[1])
		}
	}
}
