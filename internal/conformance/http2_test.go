package conformance

import (
	"errors"
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

var allOverHTTP2 = flag.Bool("conformance.http2", false, "replay all suites over HTTP/2, not only those about HTTP")

// suitesOverHTTP2 are the suites that depend most on how requests and answers are transported.
var suitesOverHTTP2 = []string{"rest-crud-http", "rest-content-upload", "graphql-query-transport",
	"graphql-query-accept"}

// TestSuitesOverHTTP2 replays suites over TLS by HTTP/2. Answers must be the same.
func TestSuitesOverHTTP2(t *testing.T) {
	suites, err := LoadSuites("../../testdata/conformance/suites")
	if err != nil {
		t.Fatal(err)
	}
	d := loadDifferences(t)
	var mu sync.Mutex
	var results []Result
	t.Run("suite", func(t *testing.T) {
		for _, s := range suites {
			if !*allOverHTTP2 && !slices.Contains(suitesOverHTTP2, s.Name) {
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				r := Replay(serveTLS(t, s.ProjectDir(), nil), s)
				mu.Lock()
				defer mu.Unlock()
				for _, x := range r {
					if unsendable(x.Step) {
						d.Suites = slices.DeleteFunc(d.Suites,
							func(listed Difference) bool { return listed.Suite == x.Suite && listed.Step == x.Key })
					} else {
						results = append(results, x)
					}
				}
			})
		}
	})
	if len(results) < 100 {
		t.Errorf("only %d steps were replayed", len(results))
	}
	judge(t, results, d)
}

// unsendable reports whether the path of a step is not valid in HTTP/2. net/http answers such a request before any
// handler sees it, and its client repeats the request without end.
func unsendable(s *Step) bool {
	return s.Request.Path != "" && !sendable(requestTarget(s.Request.Path))
}

func sendable(target string) bool {
	_, err := url.ParseRequestURI(target)
	return err == nil
}

// A validTransport fails for requests that HTTP/2 cannot carry.
type validTransport struct{ *http.Transport }

func (v validTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !sendable(r.URL.Opaque) {
		return nil, errors.New("no valid path in HTTP/2")
	}
	return v.Transport.RoundTrip(r)
}

// serveTLS serves a copy of a project over TLS, and returns a target that HTTP/2 reaches.
func serveTLS(t *testing.T, project string, x *gateway.Extensions) *Target {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config/server.yaml"),
		[]byte("tls: {certificate: cert.pem, key: key.pem}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate := servertest.WriteCertificate(t, dir, 1)
	target := serve(t, dir, x)
	target.transport = validTransport{servertest.TLSTransport(t, certificate, true)}
	return target
}
