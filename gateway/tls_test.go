package gateway_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// tlsClient returns a client that trusts a certificate. It has connections of its own.
func tlsClient(t *testing.T, trusted *x509.Certificate, http2 bool) *http.Client {
	t.Helper()
	return &http.Client{Transport: servertest.TLSTransport(t, trusted, http2), Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func tlsProject(t *testing.T, server string) (dir string, certificate *x509.Certificate) {
	t.Helper()
	dir = writeProject(t, map[string]string{
		"content-types/note.yaml": noteFile("size: {type: integer}"),
		"config/server.yaml":      "tls: {certificate: cert.pem, key: key.pem, redirect: \"127.0.0.1:0\"}\n" + server,
	})
	return dir, servertest.WriteCertificate(t, dir, 1)
}

// TestStreamsWorkOverTLS listens to changes, and reads a list as lines, by both versions of HTTP.
func TestStreamsWorkOverTLS(t *testing.T) {
	dir, certificate := tlsProject(t, "")
	if err := os.WriteFile(filepath.Join(dir, "config/plugins.yaml"),
		[]byte("graphql: {config: {subscriptions: true}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	ready := servertest.Serve(t, dir, nil)
	for _, version := range []struct {
		name  string
		http2 bool
	}{{"HTTP/1.1", false}, {"HTTP/2", true}} {
		t.Run(version.name, func(t *testing.T) {
			a := &api{t: t, Ready: ready, client: *tlsClient(t, certificate, version.http2)}
			feed := a.listenTo("since=now", "full")
			subscription := a.subscribe("subscription{noteChanged{change documentId}}", "full")
			for range 3 {
				id := a.create("notes", "one")
				feed.tells("create note.note " + id)
				subscription.want(`{"data":{"noteChanged":{"change":"CREATE","documentId":"` + id + `"}}}`)
			}
			want := a.listed("/api/notes?status=draft", "full")
			if got := a.lines("/api/notes?status=draft", "full"); got.err != nil || len(want) < 3 ||
				!slices.Equal(got.lines, want) {
				t.Errorf("a list as lines: %v, %q; want %q", got.err, got.lines, want)
			}
		})
	}
}

// TestServerSpeaksTLS sends requests over TLS by both versions of HTTP.
func TestServerSpeaksTLS(t *testing.T) {
	dir, certificate := tlsProject(t, "")
	ready := servertest.Serve(t, dir, nil)
	if !strings.HasPrefix(ready.Base, "https://") {
		t.Fatalf("the server is at %s", ready.Base)
	}
	long := strings.Repeat("a long text ", 20_000)
	for _, tt := range []struct {
		name  string
		http2 bool
		major int
	}{{"HTTP/1.1", false, 1}, {"HTTP/2", true, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			client := tlsClient(t, certificate, tt.http2)
			do := func(method, path, contentType string, body io.Reader) (*http.Response, string) {
				t.Helper()
				r, err := http.NewRequest(method, ready.Base+path, body)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+ready.Tokens["full"])
				r.Header.Set("Content-Type", contentType)
				answer, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				return answer, string(text)
			}
			if answer, text := do("POST", "/api/notes", "application/json",
				strings.NewReader(fmt.Sprintf(`{"data":{"title":"a","size":7,"body":%q}}`,
					long))); answer.StatusCode != 201 || answer.ProtoMajor != tt.major {
				t.Errorf("a write: %d %s %.200s", answer.StatusCode, answer.Proto, text)
			}
			answer, text := do("GET", "/api/notes", "", nil)
			if answer.StatusCode != 200 || answer.ProtoMajor != tt.major || !strings.Contains(text, long) {
				t.Errorf("a list: %d %s, %d bytes", answer.StatusCode, answer.Proto, len(text))
			}
			if answer.Header.Get("Strict-Transport-Security") == "" {
				t.Error("Strict-Transport-Security is missing")
			}
			if answer, text := do("POST", "/graphql", "application/json",
				strings.NewReader(`{"query":"{notes{size}}"}`)); answer.StatusCode != 200 ||
				!strings.Contains(text, `{"size":7}`) {
				t.Errorf("GraphQL: %d %s", answer.StatusCode, text)
			}
			var form bytes.Buffer
			parts := multipart.NewWriter(&form)
			part, err := parts.CreateFormFile("files", "a.txt")
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(part, long)
			parts.Close()
			answer, text = do("POST", "/api/upload", parts.FormDataContentType(), &form)
			if answer.StatusCode != 201 {
				t.Fatalf("an upload: %d %s", answer.StatusCode, text)
			}
			_, url, _ := strings.Cut(text, `"url":"`)
			url, _, _ = strings.Cut(url, `"`)
			if answer, text := do("GET", url, "", nil); answer.StatusCode != 200 || text != long {
				t.Errorf("the uploaded file: %d, %d bytes", answer.StatusCode, len(text))
			}
		})
	}
}

// TestStreamsHoldNoPlace sends the bodies of more requests by halves than the server works on at a time, all over one
// connection of HTTP/2. Other requests must be answered meanwhile, and the halves must be answered when they are whole.
func TestStreamsHoldNoPlace(t *testing.T) {
	dir, certificate := tlsProject(t, "limits: {concurrent: 2}")
	ready := servertest.Serve(t, dir, nil)
	slow, honest := tlsClient(t, certificate, true), tlsClient(t, certificate, true)
	const streams = 8
	answers := make(chan error, streams)
	var bodies []*io.PipeWriter
	for range streams {
		body, send := io.Pipe()
		bodies = append(bodies, send)
		go func() {
			r, _ := http.NewRequest("POST", ready.Base+"/api/notes", body)
			r.Header.Set("Authorization", "Bearer "+ready.Tokens["full"])
			r.Header.Set("Content-Type", "application/json")
			answer, err := slow.Do(r)
			if err == nil {
				answer.Body.Close()
				if answer.StatusCode != 201 {
					err = fmt.Errorf("%d", answer.StatusCode)
				}
			}
			answers <- err
		}()
	}
	for _, send := range bodies {
		if _, err := io.WriteString(
			send, `{"data":{"title":"a","size"`); err != nil { // returns when the transport has taken it
			t.Fatal(err)
		}
	}
	for range 20 {
		r, _ := http.NewRequest("GET", ready.Base+"/api/notes", nil)
		r.Header.Set("Authorization", "Bearer "+ready.Tokens["full"])
		answer, err := honest.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 200 {
			t.Errorf("a request beside slow ones: %d", answer.StatusCode)
		}
	}
	for _, send := range bodies {
		if _, err := io.WriteString(send, `:3}}`); err != nil {
			t.Fatal(err)
		}
		send.Close()
		if err := <-answers; err != nil {
			t.Errorf("a body that came by halves: %v", err)
		}
	}
}

// TestSlowStreamIsAnsweredInTime sends half a body and no more. The server must answer when timeouts.read is over.
func TestSlowStreamIsAnsweredInTime(t *testing.T) {
	dir, certificate := tlsProject(t, "timeouts: {read: 200ms}")
	ready := servertest.Serve(t, dir, nil)
	body, send := io.Pipe()
	defer send.Close()
	go io.WriteString(send, `{"data":{"title"`)
	r, _ := http.NewRequest("POST", ready.Base+"/api/notes", body)
	r.Header.Set("Authorization", "Bearer "+ready.Tokens["full"])
	r.Header.Set("Content-Type", "application/json")
	answer, err := tlsClient(t, certificate, true).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != 408 || answer.ProtoMajor != 2 {
		t.Errorf("half a body: %s %d %s", answer.Proto, answer.StatusCode, text)
	}
}

// TestRenewedCertificateIsServed replaces the files of a certificate while the server runs: first by files that do not
// fit, then by a new pair.
func TestRenewedCertificateIsServed(t *testing.T) {
	dir, _ := tlsProject(t, "")
	logged := make(chan string, 100)
	ready := make(chan gateway.Ready, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- gateway.Serve(ctx, dir, gateway.Options{
			Addr: "127.0.0.1:0", Production: true, Ready: func(r gateway.Ready) { ready <- r },
			Log: onLog(func(line string) {
				if strings.Contains(line, "certificate") {
					logged <- line
				}
			}),
		})
	}()
	var base string
	select {
	case r := <-ready:
		base = r.Base
	case err := <-ended:
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", strings.TrimPrefix(base, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the log tells of the broken key", func() bool {
		if n := serial(); n != 1 {
			t.Fatalf("certificate %d is used", n)
		}
		select {
		case line := <-logged:
			return strings.Contains(line, "the former certificate is still used")
		default:
			return false
		}
	})
	servertest.WriteCertificate(t, dir, 2)
	until(t, "the new certificate is used", func() bool { return serial() == 2 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestUnusableCertificateIsRefused starts servers with certificates that cannot work.
func TestUnusableCertificateIsRefused(t *testing.T) {
	other := t.TempDir()
	servertest.WriteCertificate(t, other, 3)
	for name, tt := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"no file": {func(dir string) error { return os.Remove(filepath.Join(dir, "cert.pem")) }, "no such file"},
		"another's key": {func(dir string) error {
			return os.Rename(filepath.Join(other, "key.pem"), filepath.Join(dir, "key.pem"))
		}, "private key does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := tlsProject(t, "")
			if err := tt.spoil(dir); err != nil {
				t.Fatal(err)
			}
			err := gateway.Serve(t.Context(), dir,
				gateway.Options{Addr: "127.0.0.1:0", Production: true, Log: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "config/server.yaml") {
				t.Errorf("the server says %v", err)
			}
		})
	}
}
