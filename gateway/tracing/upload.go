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
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"lectern/internal/backoff"
)

const (
	uploadTimeout = 10 * time.Second // of one attempt, unless the environment names another
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
// heeds the environment variables of OpenTelemetry for exporters.
func newUploader(endpoint string, headers map[string]string) (*uploader, error) {
	u := &uploader{endpoint: endpoint, headers: http.Header{}, gzip: environment("COMPRESSION") == "gzip"}
	if len(headers) == 0 {
		headers = headersOf(environment("HEADERS"))
	}
	for name, value := range headers {
		u.headers.Set(name, value)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	var err error
	if transport.TLSClientConfig, err = tlsOf(environment("CERTIFICATE"), environment("CLIENT_CERTIFICATE"),
		environment("CLIENT_KEY")); err != nil {
		return nil, err
	}
	u.client = &http.Client{Transport: transport, Timeout: uploadTimeout}
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
func headersOf(text string) map[string]string {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); name != "" && err == nil {
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

// UploadTraces implements otlptrace.Client. It tries again until ctx or the uploader ends, as long as the collector
// does not answer or says that it may take the spans later.
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
	for b := backoff.New(); ; {
		err := u.send(ctx, body)
		var later *laterError
		if !errors.As(err, &later) {
			return err
		}
		if waited := later.wait(ctx, b); waited != nil {
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

// wait waits as long as the collector asks for, and in any case as b says.
func (l *laterError) wait(ctx context.Context, b *backoff.Backoff) error {
	select {
	case <-time.After(l.after):
		return b.Wait(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a body once. A laterError means that it may be sent again.
func (u *uploader) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = u.headers.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if u.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	res, err := u.client.Do(r)
	if err != nil {
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
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
		return rejection(answer)
	}
	err = fmt.Errorf("%s answers %s: %q", u.endpoint, res.Status, bytes.TrimSpace(answer))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16)
		return &laterError{err, time.Duration(seconds) * time.Second}
	}
	return err
}

// rejection returns an error if a collector has taken only a part of the spans, as the ExportTraceServiceResponse in
// its answer says: field 1 is the partial success, in which field 1 is the number of spans that were rejected, and
// field 2 says why.
func rejection(answer []byte) error {
	partial, _ := field(answer, 1)
	_, rejected := field(partial, 1)
	why, _ := field(partial, 2)
	if rejected == 0 && len(why) == 0 {
		return nil
	}
	return fmt.Errorf("the collector rejects %d spans: %s", rejected, why)
}

// field returns the value of a field of a message, if it has it as bytes or as an integer. In what is no message there
// is none.
func field(m []byte, want protowire.Number) (text []byte, number uint64) {
	for len(m) > 0 {
		n, kind, tag := protowire.ConsumeTag(m)
		if tag < 0 {
			return nil, 0
		}
		m = m[tag:]
		size := protowire.ConsumeFieldValue(n, kind, m)
		switch {
		case size < 0:
			return nil, 0
		case n != want:
		case kind == protowire.BytesType:
			text, _ = protowire.ConsumeBytes(m)
		case kind == protowire.VarintType:
			number, _ = protowire.ConsumeVarint(m)
		}
		m = m[size:]
	}
	return text, number
}
