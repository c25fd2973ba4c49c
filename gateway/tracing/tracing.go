// Package tracing sends OpenTelemetry traces to a collector, by OTLP over HTTP. It alone imports the SDK of
// OpenTelemetry.
//
// Spans contain routes, statuses and counts. They never contain queries, bodies, credentials, names or content.
package tracing

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"lectern/internal/span"
)

// Options are the settings of a Tracer.
type Options struct {
	Endpoint string            // the URL of the collector, with or without tracesPath
	Headers  map[string]string // sent to the collector; they may hold a credential
	Sample   float64           // the share of requests that is traced
	// TrustParent continues the trace that a request names in its header traceparent, whose sender then decides whether
	// it is recorded.
	TrustParent bool
	Version     string
	// Failed is called when spans could not be sent, at most once in failedEvery.
	Failed func(error)
}

// tracesPath is the path at which collectors take traces.
const tracesPath = "/v1/traces"

const (
	failedEvery   = 10 * time.Second
	shutdownLimit = 2 * time.Second
)

// A Tracer traces requests. It sends spans in the background from a queue of bounded length. When the queue is full,
// since the collector is slow or gone, it drops spans.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	trust    bool
	failed   func(error)
}

// New returns a Tracer. The environment variables of OpenTelemetry for the exporter, the batches and the resource are
// heeded where o says nothing, except OTEL_EXPORTER_OTLP_PROTOCOL: the protocol is always http/protobuf. New does not
// connect to the collector. It fails, so that the server does not start, if a certificate that the environment names
// (OTEL_EXPORTER_OTLP_CERTIFICATE) cannot be used, be it that the endpoint is not https.
func New(o Options) (*Tracer, error) {
	endpoint, err := url.JoinPath(strings.TrimSuffix(o.Endpoint, tracesPath), tracesPath)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	upload, err := newUploader(endpoint, o.Headers)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	exporter, err := otlptrace.New(context.Background(), upload)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	about, err := resource.New(context.Background(), resource.WithAttributes(
		attribute.String("service.name", "lectern"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	sampler := sdk.TraceIDRatioBased(o.Sample)
	if o.TrustParent {
		sampler = sdk.ParentBased(sampler)
	}
	reports := &reporting{SpanExporter: exporter, failed: o.Failed, calls: rate.Sometimes{Interval: failedEvery}}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(reports), sdk.WithResource(about), sdk.WithSampler(sampler))
	return &Tracer{provider: provider, tracer: provider.Tracer("lectern"), trust: o.TrustParent, failed: o.Failed}, nil
}

// Shutdown sends the spans that are queued, for at most shutdownLimit. Spans that it cannot send are lost. t may be
// nil.
func (t *Tracer) Shutdown() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil && t.failed != nil {
		t.failed(fmt.Errorf("send the last traces: %w", err))
	}
}

// Start begins the span of a request, which its context then carries. The span is nil if the request is not sampled.
func (t *Tracer) Start(r *http.Request, method, route string, began time.Time) (context.Context, span.Span) {
	ctx := r.Context()
	if t.trust {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	ctx, s := t.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(began),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
	if !s.IsRecording() {
		return r.Context(), nil
	}
	root := &recorded{tracer: t.tracer, span: s}
	return span.With(ctx, root), root
}

// A recorded is a span of the SDK.
type recorded struct {
	tracer trace.Tracer
	span   trace.Span
}

var _ span.Span = (*recorded)(nil)

// Child implements span.Span.
func (r *recorded) Child(name string, began time.Time) span.Span {
	_, child := r.tracer.Start(trace.ContextWithSpan(context.Background(), r.span), name, trace.WithTimestamp(began))
	return &recorded{r.tracer, child}
}

// SetInt implements span.Span.
func (r *recorded) SetInt(key string, value int64) { r.span.SetAttributes(attribute.Int64(key, value)) }

// SetText implements span.Span.
func (r *recorded) SetText(key, value string) { r.span.SetAttributes(attribute.String(key, value)) }

// End implements span.Span.
func (r *recorded) End(at time.Time, err error) {
	if err != nil {
		r.span.SetStatus(codes.Error, "")
	}
	r.span.End(trace.WithTimestamp(at))
}

// A reporting exporter reports its errors to failed, instead of to the handler that the whole process shares.
type reporting struct {
	sdk.SpanExporter
	failed func(error)
	calls  rate.Sometimes // bounds how often failed is called
}

// ExportSpans implements sdk.SpanExporter.
func (e *reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil && e.failed != nil {
		e.calls.Do(func() { e.failed(fmt.Errorf("send traces: %w", err)) })
	}
	return nil
}
