package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"lectern/internal/backoff"
)

const protobuf = "application/x-protobuf"

const (
	uploadTimeout = 10 * time.Second // of one attempt, unless the environment names another
	uploadLimit   = time.Minute      // of a batch, after which it is not sent again
	maxAnswer     = 64 << 10         // bytes that are read of an answer
)

// An uploader sends spans to a collector by OTLP over HTTP, with protocol buffers. (OpenTelemetry's own, otlptracehttp,
// brings all of gRPC into the program, whose pages for debugging keep the linker from leaving out methods that nothing
// calls.)
type uploader struct {
	endpoint string
	headers  http.Header
	gzip     bool
	client   *http.Client
	stopped  context.Context // ends with Stop
	stop     context.CancelFunc
}

var _ otlptrace.Client = (*uploader)(nil)

// newUploader returns an uploader to an endpoint. Where headers is empty, and for all that Options do not have, it
// heeds the environment variables of OpenTelemetry for exporters. It fails if a certificate that these name cannot be
// used.
func newUploader(endpoint string, headers map[string]string) (*uploader, error) {
	u := &uploader{endpoint: endpoint, headers: http.Header{}, gzip: environment("COMPRESSION") == "gzip"}
	if len(headers) == 0 {
		headers = headersOf(environment("HEADERS"))
	}
	for name, value := range headers {
		u.headers.Set(name, value)
	}
	config, err := tlsOf(environment("CERTIFICATE"), environment("CLIENT_CERTIFICATE"), environment("CLIENT_KEY"))
	if err != nil {
		return nil, err
	}
	if config != nil && !strings.HasPrefix(endpoint, "https:") {
		return nil, errors.New("the environment names a certificate, but the endpoint is not https")
	}
	u.client = &http.Client{Timeout: uploadTimeout, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
	}}
	if ms, err := strconv.Atoi(environment("TIMEOUT")); err == nil && ms > 0 {
		u.client.Timeout = time.Duration(ms) * time.Millisecond
	}
	u.stopped, u.stop = context.WithCancel(context.Background())
	return u, nil
}

// environment returns the value of an environment variable for exporters of traces, or else that for all exporters.
func environment(name string) string {
	if value := strings.TrimSpace(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name)); value != "" {
		return value
	}
	return strings.TrimSpace(os.Getenv("OTEL_EXPORTER_OTLP_" + name))
}

// headersOf parses headers as the environment has them: name=value,name=value, with values that are escaped as in URLs.
// It skips what cannot be sent.
func headersOf(text string) map[string]string {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if found && err == nil && httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value) {
			headers[name] = value
		}
	}
	return headers
}

// tlsOf returns the configuration for the authorities, the certificate and the key in these files; nil if there are
// none.
func tlsOf(authorities, certificate, key string) (*tls.Config, error) {
	if authorities == "" && certificate == "" {
		return nil, nil
	}
	c := new(tls.Config)
	if authorities != "" {
		text, err := os.ReadFile(authorities)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM", authorities)
		}
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Start implements otlptrace.Client. The first batch connects.
func (u *uploader) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. It ends the uploads that are under way.
func (u *uploader) Stop(context.Context) error {
	u.stop()
	u.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries again after timeouts and temporary errors of the network, and
// after the statuses 429, 502, 503 and 504, until ctx, the uploader or uploadLimit ends. It returns other errors at
// once, and also these if the collector asks for a longer wait than is left.
func (u *uploader) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	body, err := proto.Marshal(
		&otlp.TracesData{ResourceSpans: spans}) // on the wire the same as the collector's ExportTraceServiceRequest
	if err != nil {
		return err
	}
	if u.gzip {
		body = compressed(body)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.stopped, cancel)()
	limit, end := context.WithTimeout(ctx, uploadLimit) // bounds the waits; each attempt has its timeout
	defer end()
	for b := backoff.New(); ; {
		err := u.send(ctx, body)
		later, ok := errors.AsType[*laterError](err)
		if !ok {
			return err
		}
		if waited := later.wait(limit, b); waited != nil {
			return errors.Join(err, waited)
		}
	}
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(body) // neither fails, as a buffer does not
	w.Close()
	return b.Bytes()
}

// A laterError says that the spans may be sent again.
type laterError struct {
	error
	after time.Duration // that the collector asks for; 0 if it says nothing
}

// wait waits as long as the collector asks for or as b says, whichever is longer. It fails at once if ctx ends before
// the collector's time.
func (l *laterError) wait(ctx context.Context, b *backoff.Backoff) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < l.after {
		return context.DeadlineExceeded
	}
	asked := time.NewTimer(l.after)
	defer asked.Stop()
	if err := b.Wait(ctx); err != nil {
		return err
	}
	select {
	case <-asked.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter returns the wait that a header Retry-After asks for, in seconds or until a date.
func retryAfter(value string) time.Duration {
	seconds, err := strconv.ParseUint(value, 10, 16) // the largest stands for all that are too large
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return time.Until(at)
	}
	return 0
}

// send sends a body once. A laterError means that it may be sent again.
func (u *uploader) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = u.headers.Clone()
	r.Header.Set("Content-Type", protobuf)
	if u.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	res, err := u.client.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok && (failed.Timeout() || failed.Temporary()) {
			return &laterError{error: err}
		}
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case res.StatusCode/100 == 2:
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == protobuf {
			return rejection(answer)
		}
		return nil
	}
	err = fmt.Errorf("%s answers %s: %q", u.endpoint, res.Status, bytes.TrimSpace(answer))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &laterError{err, retryAfter(res.Header.Get("Retry-After"))}
	}
	return err
}

// rejection returns an error if a collector has taken only a part of the spans, as the ExportTraceServiceResponse in
// its answer says: field 1 is the partial success, in which field 1 is the number of spans that were rejected, and
// field 2 says why.
func rejection(answer []byte) error {
	partial, _, err := field(answer, 1)
	if err != nil {
		return err
	}
	_, rejected, err := field(partial, 1)
	if err != nil {
		return err
	}
	why, _, err := field(partial, 2)
	if err != nil || rejected == 0 && len(why) == 0 {
		return err
	}
	return fmt.Errorf("the collector rejects %d spans: %s", rejected, why)
}

// field returns the value of a field of a message, if it has it as bytes or as an integer.
func field(m []byte, want protowire.Number) (text []byte, number uint64, err error) {
	for len(m) > 0 {
		n, kind, size := protowire.ConsumeField(m)
		if size < 0 {
			return nil, 0, fmt.Errorf("the collector gives a malformed answer: %w", protowire.ParseError(size))
		}
		_, _, tag := protowire.ConsumeTag(m)
		value := m[tag:size]
		switch {
		case n != want:
		case kind == protowire.BytesType:
			text, _ = protowire.ConsumeBytes(value)
		case kind == protowire.VarintType:
			number, _ = protowire.ConsumeVarint(value)
		}
		m = m[size:]
	}
	return text, number, nil
}
