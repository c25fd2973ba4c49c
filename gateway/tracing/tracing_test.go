package tracing_test

import (
	"compress/gzip"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"lectern/gateway/tracing"
	"lectern/internal/span"
)

// An upload is what a collector was sent.
type upload struct {
	path   string
	header http.Header
	traces otlp.TracesData
}

// collect starts a collector that gives each upload to the channel that it returns, and then answers by answer.
func collect(t *testing.T, answer http.HandlerFunc) (*httptest.Server, chan *upload) {
	t.Helper()
	uploads := make(chan *upload, 16)
	c := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Error(err)
				return
			}
		}
		u := &upload{path: r.URL.Path, header: r.Header}
		if text, err := io.ReadAll(body); err != nil || proto.Unmarshal(text, &u.traces) != nil {
			t.Errorf("no traces: %q, %v", text, err)
		}
		uploads <- u
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(c.Close)
	return c, uploads
}

// trace records one request with a child, and ends the tracer. It returns the errors that were reported.
func trace(t *testing.T, o tracing.Options, header http.Header) (errs []error) {
	t.Helper()
	o.Failed = func(err error) { errs = append(errs, err) }
	tracer, err := tracing.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/api/notes?secret=1", nil)
	if header != nil {
		r.Header = header
	}
	began := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	ctx, root := tracer.Start(r, "GET", "/api/notes", began)
	if root != nil {
		if span.From(ctx) != root {
			t.Error("the context does not carry the span")
		}
		child := root.Child("store.view", began.Add(time.Millisecond))
		child.SetInt("lectern.rows", 7)
		child.End(began.Add(2*time.Millisecond), errors.New("secret"))
		root.SetText("lectern.principal", "public")
		root.End(began.Add(3*time.Millisecond), nil)
	}
	tracer.Shutdown()
	return errs
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpansArriveWithTheirTimesAndAttributes(t *testing.T) {
	c, uploads := collect(t, nil)
	c.Start()
	if errs := trace(t, tracing.Options{Endpoint: c.URL, Headers: map[string]string{"Api-Key": "k"}, Sample: 1,
		Version: "v1.2.3"}, nil); errs != nil {
		t.Fatal(errs)
	}
	u := <-uploads
	if u.path != "/v1/traces" || u.header.Get("Api-Key") != "k" ||
		u.header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %v", u.path, u.header)
	}
	resource := u.traces.ResourceSpans[0]
	if text := resource.Resource.String(); !strings.Contains(text, "v1.2.3") || !strings.Contains(text, `"lectern"`) {
		t.Errorf("the resource is %s", text)
	}
	spans := resource.ScopeSpans[0].Spans
	if len(spans) != 2 {
		t.Fatalf("%d spans: %v", len(spans), spans)
	}
	child, root := spans[0], spans[1]
	if root.Name != "GET /api/notes" || root.Kind != otlp.Span_SPAN_KIND_SERVER || len(root.ParentSpanId) != 0 {
		t.Errorf("the request is %v", root)
	}
	if child.Name != "store.view" || string(child.ParentSpanId) != string(root.SpanId) ||
		child.Status.Code != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("the child is %v", child)
	}
	if took := root.EndTimeUnixNano - root.StartTimeUnixNano; took != 3e6 ||
		child.StartTimeUnixNano-root.StartTimeUnixNano != 1e6 {
		t.Errorf("the request took %d ns", took)
	}
	all := u.traces.String()
	for _, want := range []string{"lectern.rows", "int_value:7", "lectern.principal", `"public"`, "http.route"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in %s", want, all)
		}
	}
	if strings.Contains(all, "secret") {
		t.Errorf("content is sent: %s", all)
	}
}

func TestSamplingFollowsTheParentOnlyIfItIsTrusted(t *testing.T) {
	for _, test := range []struct {
		name   string
		sample float64
		trust  bool
		header http.Header
		want   string // the trace that is recorded: its own, that of the parent, or none
	}{
		{"all", 1, false, nil, "own"},
		{"none", 0, false, nil, "none"},
		{"all, with a parent that is not trusted", 1, false, http.Header{"Traceparent": {parent}}, "own"},
		{"none, with a parent that is not trusted", 0, false, http.Header{"Traceparent": {parent}}, "none"},
		{"none, with a parent that is trusted", 0, true, http.Header{"Traceparent": {parent}}, "parent's"},
		{"all, with a parent that is trusted and is not recorded", 1, true,
			http.Header{"Traceparent": {strings.TrimSuffix(parent, "1") + "0"}}, "none"},
		{"all, with no parent", 1, true, nil, "own"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, uploads := collect(t, nil)
			c.Start()
			trace(t, tracing.Options{Endpoint: c.URL + "/v1/traces", Sample: test.sample, TrustParent: test.trust},
				test.header)
			got := "none"
			select {
			case u := <-uploads:
				got = "own"
				root := u.traces.ResourceSpans[0].ScopeSpans[0].Spans[1]
				if len(root.ParentSpanId) > 0 {
					got = "parent's"
				}
			default: // Shutdown has sent what there was
			}
			if got != test.want {
				t.Errorf("%s trace is recorded, want %s", got, test.want)
			}
		})
	}
}

// message returns an answer in protocol buffers.
func message(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.Write([]byte(text))
	}
}

func TestCollectorMayAskForAPauseOrReject(t *testing.T) {
	for _, test := range []struct {
		name   string
		first  func(http.ResponseWriter) // answers the first upload; the others are taken
		sent   int
		failed string
	}{
		{"taken", func(w http.ResponseWriter) {}, 1, ""},
		{"busy", func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 2, ""},
		{"too many", func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 2, ""},
		{"refused", func(w http.ResponseWriter) { http.Error(w, "no such key", http.StatusUnauthorized) }, 1,
			"401 Unauthorized: \"no such key\""},
		{"an error of its own", func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, 1,
			"500"},
		{"a part rejected", message("\x0a\x0c\x08\x02\x12\x08too long"), 1,
			"the collector rejects 2 spans: too long"},
		{"nothing rejected", message("\x0a\x00"), 1, ""},
		{"an empty message", message(""), 1, ""},
		{"a malformed message", message("<html>"), 1, "malformed answer"},
		{"a message with a malformed part", message("\x0a\x01\x08"), 1, "malformed answer"},
		{"an answer of another type", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte("\x0a\x0c\x08\x02\x12\x08too long"))
		}, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			first := true
			c, uploads := collect(t, func(w http.ResponseWriter, _ *http.Request) {
				if first {
					first = false
					test.first(w)
				}
			})
			c.Start()
			errs := trace(t, tracing.Options{Endpoint: c.URL, Sample: 1}, nil)
			if len(uploads) != test.sent {
				t.Errorf("%d uploads, want %d", len(uploads), test.sent)
			}
			switch err := errors.Join(errs...); {
			case test.failed == "" && err != nil:
				t.Error(err)
			case test.failed != "" && (err == nil || !strings.Contains(err.Error(), test.failed)):
				t.Errorf("%v, want %s", err, test.failed)
			}
		})
	}
}

// authorityOf returns a file with the certificate of a collector.
func authorityOf(t *testing.T, c *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEnvironmentAppliesWhereOptionsSayNothing(t *testing.T) {
	c, uploads := collect(t, nil)
	c.StartTLS()
	file := authorityOf(t, c)
	if errs := trace(t, tracing.Options{Endpoint: c.URL, Sample: 1}, nil); len(errs) != 1 {
		t.Errorf("a collector with a certificate of an unknown authority is sent to: %v", errs)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", file)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=of%20all, other=1")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "api-key=of%20traces")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=tests")
	for _, test := range []struct {
		headers map[string]string
		want    string
	}{{nil, "of traces"}, {map[string]string{"Api-Key": "set"}, "set"}} {
		if errs := trace(t, tracing.Options{Endpoint: c.URL, Headers: test.headers, Sample: 1}, nil); errs != nil {
			t.Fatal(errs)
		}
		u := <-uploads
		if got := u.header.Get("Api-Key"); got != test.want || u.header.Get("Other") != "" ||
			u.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("the headers are %v", u.header)
		}
		if about := u.traces.ResourceSpans[0].Resource.String(); !strings.Contains(about, "deployment.environment") {
			t.Errorf("the resource is %s", about)
		}
	}
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	c, _ := collect(t, nil)
	c.StartTLS()
	authority := authorityOf(t, c)
	for _, test := range []struct{ name, endpoint, certificate, want string }{
		{"no URL", "http://[::1", "", "missing ']'"},
		{"no file", "https://127.0.0.1:1", "nowhere.pem", "nowhere.pem"},
		{"no certificate", "https://127.0.0.1:1", os.DevNull, "has no certificate in PEM"},
		{"a certificate without TLS", "http://127.0.0.1:1", authority, "endpoint is not https"},
		{"a certificate without TLS, in capitals", "HTTP://127.0.0.1:1", authority, "endpoint is not https"},
		{"a certificate with TLS", "HTTPS://127.0.0.1:1", authority, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", test.certificate)
			tracer, err := tracing.New(tracing.Options{Endpoint: test.endpoint})
			tracer.Shutdown()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A wrapped transport is what a program that extends the server may put into http.DefaultTransport.
type wrapped struct{ http.RoundTripper }

func TestDefaultTransportMayBeAnother(t *testing.T) {
	standard := http.DefaultTransport
	defer func() { http.DefaultTransport = standard }()
	for name, other := range map[string]http.RoundTripper{"wrapped": wrapped{standard}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			http.DefaultTransport = other
			c, uploads := collect(t, nil)
			c.Start()
			if errs := trace(t, tracing.Options{Endpoint: c.URL, Sample: 1}, nil); errs != nil || len(uploads) != 1 {
				t.Errorf("%d uploads, %v", len(uploads), errs)
			}
		})
	}
}

func TestNilTracerShutsDown(t *testing.T) { (*tracing.Tracer)(nil).Shutdown() }
