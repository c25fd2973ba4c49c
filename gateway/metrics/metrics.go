// Package metrics has the metrics of a server in the format of Prometheus. It alone knows the Prometheus client.
//
// Two kinds of metrics need different code. Events that need a histogram or labels are counted when they happen:
// Request, Operation and Committed do this, and are called only if metrics are on. All other work is counted by the
// packages that do it; a Reading holds their counters at the moment of a scrape (readings.go).
package metrics

import (
	"cmp"
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"lectern/store"
)

// Metrics are the metrics of one server. All methods may be called by any number of goroutines.
type Metrics struct {
	registry *prometheus.Registry

	requests, responseBytes *prometheus.CounterVec
	durations               *prometheus.HistogramVec
	refusals                *prometheus.CounterVec
	series                  atomic.Pointer[map[seriesKey]*series] // those of requests so far; replaced when one is added
	adding                  sync.Mutex                            // held while series is replaced

	operations, operationRefusals *prometheus.CounterVec
	usual                         map[operationKey]prometheus.Counter // those of operations by the usual types and outcomes

	commitDurations, syncDurations, commitWrites prometheus.Histogram
}

// Buckets of histograms. Most requests take less than a millisecond, and most commits a few.
var (
	requestBuckets = [...]float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	commitBuckets  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	writeBuckets   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
)

// New returns the metrics of a server of this version. read returns what the server has counted until now; each scrape
// calls it once.
func New(version string, read func() Reading) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counters("lectern_http_requests_total", "Requests that were answered, by route, method and status.",
			"route", "method", "status"),
		responseBytes: counters("lectern_http_response_bytes_total",
			"Bytes of the bodies of answers before compression, by route.", "route"),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lectern_http_request_duration_seconds",
			Help:    "Time from the head of a request until its handler was done, by route and method.",
			Buckets: requestBuckets[:],
		}, []string{"route", "method"}),
		refusals: counters("lectern_http_refusals_total",
			"Requests that were refused with 400, 401, 403, 413, 429, 503 or 507, by status and reason.",
			"status", "reason"),
		operations: counters("lectern_graphql_operations_total",
			"GraphQL operations, by type and outcome: ok, errors (some fields failed) or refused (nothing was run).",
			"type", "outcome"),
		usual: map[operationKey]prometheus.Counter{},
		operationRefusals: counters("lectern_graphql_refusals_total",
			"Errors of GraphQL operations that exceed a limit or lack a permission, by reason.", "reason"),
		commitDurations: histogram("lectern_store_commit_duration_seconds",
			"Time of a transaction that committed writes, from its beginning until it was durable.", commitBuckets),
		syncDurations: histogram("lectern_store_sync_duration_seconds",
			"Part of the time of a commit in which pages were written to the file and synced.", commitBuckets),
		commitWrites: histogram("lectern_store_commit_writes", "Writes that shared a commit and its syncs.",
			writeBuckets),
	}
	m.series.Store(&map[seriesKey]*series{})
	build := prometheus.NewGauge(
		prometheus.GaugeOpts{Name: "lectern_build_info", Help: "The version of Lectern and of Go; always 1.",
			ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()}})
	build.Set(1)
	for _, kind := range []string{"query", "mutation", "subscription", noOperation} {
		for _, outcome := range []string{"ok", "errors", "refused"} {
			m.usual[operationKey{kind, outcome}] = m.operations.WithLabelValues(kind, outcome)
		}
	}
	m.registry.MustRegister(m.requests, m.responseBytes, m.durations, m.refusals, m.operations, m.operationRefusals,
		m.commitDurations, m.syncDurations, m.commitWrites, build, readings{read},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// A Request is a request that was answered. Its texts become labels, so they must be of a bounded set.
type Request struct {
	Route, Method string
	Status        int
	Bytes         int64
	Took          time.Duration
	Refusal       string // "" unless the request was refused
}

// Request counts a request.
func (m *Metrics) Request(r Request) {
	key := seriesKey{r.Route, r.Method, statusText(r.Status)}
	of := (*m.series.Load())[key]
	if of == nil {
		of = m.addSeries(key)
	}
	of.requests.Inc()
	of.durations.Observe(r.Took.Seconds())
	of.bytes.Add(float64(r.Bytes))
	if r.Refusal != "" {
		m.refusals.WithLabelValues(key.status, r.Refusal).Inc()
	}
}

// A series holds the metrics that requests of one route, method and status change. Finding them together takes one
// look-up for each request instead of three, each of which would hash and compare the labels.
type series struct {
	requests, bytes prometheus.Counter
	durations       prometheus.Observer
}

type seriesKey struct{ route, method, status string }

// addSeries adds the series of a key, unless another request just did, and returns it.
func (m *Metrics) addSeries(key seriesKey) *series {
	m.adding.Lock()
	defer m.adding.Unlock()
	known := *m.series.Load()
	if of := known[key]; of != nil {
		return of
	}
	of := &series{
		requests:  m.requests.WithLabelValues(key.route, key.method, key.status),
		bytes:     m.responseBytes.WithLabelValues(key.route),
		durations: m.durations.WithLabelValues(key.route, key.method),
	}
	more := maps.Clone(known)
	more[key] = of
	m.series.Store(&more)
	return of
}

// statusTexts holds the numbers of the statuses of HTTP as text, so that a request allocates none.
var statusTexts = func() (texts [600]string) {
	for status := range texts {
		texts[status] = strconv.Itoa(status)
	}
	return texts
}()

// statusText returns a status as text, or "other" for one that HTTP does not allow.
func statusText(status int) string {
	if status < http.StatusContinue || status >= len(statusTexts) {
		return "other"
	}
	return statusTexts[status]
}

type operationKey struct{ kind, outcome string }

// noOperation is the type of the operation of a document that is not valid.
const noOperation = "none"

// Operation counts a GraphQL operation. kind is its type, "" if the document is not valid.
func (m *Metrics) Operation(kind, outcome string) {
	kind = cmp.Or(kind, noOperation)
	counter := m.usual[operationKey{kind, outcome}] // faster than WithLabelValues, which hashes and compares the labels
	if counter == nil {
		counter = m.operations.WithLabelValues(kind, outcome)
	}
	counter.Inc()
}

// OperationRefused counts an error of a GraphQL operation by its reason.
func (m *Metrics) OperationRefused(reason string) { m.operationRefusals.WithLabelValues(reason).Inc() }

// Committed counts a commit of the store.
func (m *Metrics) Committed(c store.Commit) {
	m.commitDurations.Observe(c.Took.Seconds())
	m.syncDurations.Observe(c.Synced.Seconds())
	m.commitWrites.Observe(float64(c.Writes))
}

// maxScrapes is how many scrapes are answered at a time; more are answered 503.
const maxScrapes = 4

// Handler returns the handler of scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(
		m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: 10 * time.Second})
}
