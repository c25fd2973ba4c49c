package metrics_test

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lectern/gateway/metrics"
	"lectern/internal/admission"
	"lectern/internal/budget"
	"lectern/internal/lru"
	"lectern/store"
	"lectern/webhooks"
)

// scrape returns the samples of Lectern's own metrics by name and labels, as they are printed.
func scrape(t *testing.T, m *metrics.Metrics) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	samples := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if at := strings.LastIndexByte(line, ' '); strings.HasPrefix(line, "lectern_") {
			samples[line[:at]] = strings.TrimSpace(line[at+1:])
		}
	}
	return samples
}

func expect(t *testing.T, samples, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if samples[name] != value {
			t.Errorf("%s is %q, want %q", name, samples[name], value)
		}
	}
}

func TestScrapeShowsTheEventsSoFar(t *testing.T) {
	m := metrics.New("v1.2.3", func() metrics.Reading { return metrics.Reading{} })
	m.Request(metrics.Request{Route: "/api/notes", Method: "GET", Status: 200, Bytes: 10, Took: time.Millisecond})
	m.Request(metrics.Request{Route: "/api/notes", Method: "GET", Status: 200, Bytes: 5, Took: 20 * time.Second})
	m.Request(metrics.Request{Route: "/api/notes", Method: "POST", Status: 413, Bytes: 1, Refusal: "body"})
	m.Request(metrics.Request{Route: "none", Method: "GET", Status: 999})
	m.Operation("query", "ok")
	m.Operation("query", "ok")
	m.Operation("", "refused")
	m.Operation("subscription", "closed")
	m.OperationRefused("depth")
	m.Committed(store.Commit{Writes: 3, Took: 2 * time.Millisecond, Synced: time.Millisecond})
	samples := scrape(t, m)
	expect(t, samples, map[string]string{
		`lectern_http_requests_total{method="GET",route="/api/notes",status="200"}`:                "2",
		`lectern_http_requests_total{method="POST",route="/api/notes",status="413"}`:               "1",
		`lectern_http_requests_total{method="GET",route="none",status="other"}`:                    "1",
		`lectern_http_response_bytes_total{route="/api/notes"}`:                                    "16",
		`lectern_http_refusals_total{reason="body",status="413"}`:                                  "1",
		`lectern_http_request_duration_seconds_count{method="GET",route="/api/notes"}`:             "2",
		`lectern_http_request_duration_seconds_bucket{method="GET",route="/api/notes",le="0.001"}`: "1",
		`lectern_http_request_duration_seconds_bucket{method="GET",route="/api/notes",le="10"}`:    "1",
		`lectern_http_request_duration_seconds_bucket{method="GET",route="/api/notes",le="30"}`:    "2",
		`lectern_graphql_operations_total{outcome="ok",type="query"}`:                              "2",
		`lectern_graphql_operations_total{outcome="ok",type="mutation"}`:                           "0", // is there from the start
		`lectern_graphql_operations_total{outcome="refused",type="none"}`:                          "1",
		`lectern_graphql_operations_total{outcome="closed",type="subscription"}`:                   "1",
		`lectern_graphql_refusals_total{reason="depth"}`:                                           "1",
		`lectern_store_commit_duration_seconds_sum`:                                                "0.002",
		`lectern_store_sync_duration_seconds_sum`:                                                  "0.001",
		`lectern_store_commit_writes_bucket{le="2"}`:                                               "0",
		`lectern_store_commit_writes_bucket{le="4"}`:                                               "1",
	})
	build := ""
	for name := range samples {
		if strings.HasPrefix(name, "lectern_build_info{") {
			build = name
		}
	}
	if !strings.Contains(build, `version="v1.2.3"`) {
		t.Errorf("the build is %s", build)
	}
}

func TestScrapeReadsTheCountersOnce(t *testing.T) {
	reads := 0
	m := metrics.New("", func() metrics.Reading {
		reads++
		return metrics.Reading{
			Store: store.Stats{Rows: 1, Entries: 2, Links: 3, Seeks: 4, Writes: 5, Commits: 6, Fsyncs: 7,
				RelationHits: 8, RelationMisses: 9},
			State: store.Damaged,
			Places: map[string]metrics.Places{"requests": {Stats: admission.Stats{Held: 1, Waiting: 2, Refused: 3},
				Limit: 4}},
			Budgets: map[string]budget.Stats{"bodies": {Limit: 1, Reserved: 2, Waiting: 3, Denied: 4, Refused: 5}},
			Caches:  map[string]lru.Stats{"plans": {Entries: 1, Bytes: 2, Hits: 3, Misses: 4}},
			Webhooks: map[string]webhooks.Status{"site": {Dead: 1, Waiting: 2, Unread: 3}, "down": {Down: true},
				"stopped": {Stopped: "x"}},
			Reloads: 1, FailedReloads: 2,
			LastBackup: time.UnixMilli(1500),
		}
	})
	samples := scrape(t, m)
	if reads != 1 {
		t.Errorf("a scrape reads %d times", reads)
	}
	expect(t, samples, map[string]string{
		`lectern_store_rows_read_total`:                  "1",
		`lectern_store_index_entries_read_total`:         "2",
		`lectern_store_links_read_total`:                 "3",
		`lectern_store_seeks_total`:                      "4",
		`lectern_store_writes_total`:                     "5",
		`lectern_store_commits_total`:                    "6",
		`lectern_store_fsyncs_total`:                     "7",
		`lectern_store_state{state="damaged"}`:           "1",
		`lectern_store_state{state="sound"}`:             "0",
		`lectern_places{of="requests"}`:                  "1",
		`lectern_places_waiting{of="requests"}`:          "2",
		`lectern_places_refused_total{of="requests"}`:    "3",
		`lectern_places_limit{of="requests"}`:            "4",
		`lectern_memory_limit_bytes{budget="bodies"}`:    "1",
		`lectern_memory_reserved_bytes{budget="bodies"}`: "2",
		`lectern_memory_waiting{budget="bodies"}`:        "3",
		`lectern_memory_denied_total{budget="bodies"}`:   "4",
		`lectern_memory_refused_total{budget="bodies"}`:  "5",
		`lectern_cache_entries{cache="plans"}`:           "1",
		`lectern_cache_bytes{cache="plans"}`:             "2",
		`lectern_cache_hits_total{cache="plans"}`:        "3",
		`lectern_cache_misses_total{cache="plans"}`:      "4",
		`lectern_cache_hits_total{cache="relations"}`:    "8",
		`lectern_cache_misses_total{cache="relations"}`:  "9",
		`lectern_webhook_dead_letters{webhook="site"}`:   "1",
		`lectern_webhook_waiting{webhook="site"}`:        "2",
		`lectern_webhook_unread_entries{webhook="site"}`: "3",
		`lectern_webhook_up{webhook="site"}`:             "1",
		`lectern_webhook_up{webhook="down"}`:             "0",
		`lectern_webhook_up{webhook="stopped"}`:          "0",
		`lectern_webhook_lag_seconds{webhook="site"}`:    "0",
		`lectern_reloads_total{result="served"}`:         "1",
		`lectern_reloads_total{result="failed"}`:         "2",
		`lectern_last_backup_timestamp_seconds`:          "1.5",
	})
}

func TestOnlyNodesAndReplicasHaveTheMetricsOfOne(t *testing.T) {
	of := func(r metrics.Reading) map[string]string {
		return scrape(t, metrics.New("", func() metrics.Reading { return r }))
	}
	for name := range of(metrics.Reading{}) {
		if strings.HasPrefix(name, "lectern_cluster_") || strings.HasPrefix(name, "lectern_replica_") {
			t.Errorf("a single server has %s", name)
		}
	}
	expect(t, of(metrics.Reading{Replica: &metrics.Replica{InStep: true, Age: math.NaN()}}), map[string]string{
		"lectern_replica_in_step": "1", "lectern_replica_age_seconds": "NaN",
	})
	for contact, want := range map[time.Duration]string{0: "0", 1500 * time.Millisecond: "1.5", -time.Hour: "-1"} {
		expect(t, of(metrics.Reading{Cluster: &metrics.Cluster{Leads: true, Term: 7, LastContact: contact}}),
			map[string]string{
				"lectern_cluster_leader": "1", "lectern_cluster_term": "7",
				"lectern_cluster_last_contact_seconds": want,
			})
	}
}

// TestManyRequestsMakeTheirSeriesOnce also lets the race detector look at it.
func TestManyRequestsMakeTheirSeriesOnce(t *testing.T) {
	m := metrics.New("", func() metrics.Reading { return metrics.Reading{} })
	done := make(chan bool)
	for range 8 {
		go func() {
			for status := range 50 {
				m.Request(metrics.Request{Route: "/r", Method: "GET", Status: 200 + status, Bytes: 1})
			}
			done <- true
		}()
	}
	for range 8 {
		<-done
	}
	expect(t, scrape(t, m), map[string]string{
		`lectern_http_requests_total{method="GET",route="/r",status="249"}`: "8",
		`lectern_http_response_bytes_total{route="/r"}`:                     "400",
	})
	r := metrics.Request{Route: "/r", Method: "GET", Status: 200, Bytes: 1}
	if n := testing.AllocsPerRun(100, func() { m.Request(r) }); n != 0 {
		t.Errorf("a request allocates %v times", n)
	}
}
