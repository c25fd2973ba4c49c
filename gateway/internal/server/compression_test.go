package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway/internal/server"
)

// The server compresses long answers for clients that accept that, and sets Vary on answers that may be compressed.
func TestCompression(t *testing.T) {
	long := strings.Repeat("long ", 1000)
	answer := func(path string, header http.Header, body string) server.Route {
		return server.Route{Method: "GET", Path: path, Open: true,
			Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
				for name, values := range header {
					w.Header()[name] = values
				}
				if _, ok := w.(http.Flusher); !ok {
					t.Errorf("%s cannot be flushed", path)
				}
				_, err := io.WriteString(w, body)
				return err
			}}
	}
	s, err := server.New(server.Config{Compress: true}, server.API{Probes: healthy, Routes: []server.Route{
		answer("/long", http.Header{"Content-Length": {strconv.Itoa(len(long))}}, long),
		answer("/untold", nil, long),
		answer("/short", http.Header{"Content-Length": {"5"}}, "short"),
		answer("/picture", http.Header{"Content-Type": {"image/jpeg"}}, long),
		answer("/packed", http.Header{"Content-Encoding": {"gzip"}, "Vary": {"Origin, Accept-Encoding"}}, long),
		answer("/raw", http.Header{"No-Gzip-Compression": {"1"}}, long),
		{Method: "GET", Path: "/unchanged", Open: true,
			Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
				w.Header()["No-Gzip-Compression"] = []string{"1"}
				w.WriteHeader(http.StatusNotModified)
				return nil
			}},
		answer("/varying", http.Header{"Vary": {"Origin", "Accept-Language"}}, long),
	}})
	if err != nil {
		t.Fatal(err)
	}
	const origin, both = "Origin", "Origin, Accept-Encoding"
	for _, c := range []struct{ method, path, accepted, encoding, vary string }{
		{"GET", "/long", "gzip", "gzip", both},
		{"GET", "/long", "gzip, deflate, br, zstd", "zstd", both},
		{"GET", "/long", "", "", both},
		{"HEAD", "/long", "", "", both},
		{"HEAD", "/long", "gzip, zstd", "zstd", both},
		{"HEAD", "/untold", "gzip", "gzip", both},
		{"HEAD", "/short", "gzip", "", origin},
		{"HEAD", "/raw", "gzip", "", origin},
		{"GET", "/untold", "gzip", "gzip", both},
		{"GET", "/untold", "", "", both},
		{"GET", "/short", "gzip", "", origin},
		{"GET", "/short", "", "", origin},
		{"GET", "/picture", "gzip", "", origin},
		{"GET", "/packed", "gzip, zstd", "gzip", both},
		{"GET", "/raw", "gzip", "", origin},
		{"GET", "/raw", "", "", origin},
		{"GET", "/unchanged", "gzip", "", origin},
		{"GET", "/unchanged", "", "", origin},
		{"GET", "/varying", "gzip", "gzip", "Origin, Accept-Language, Accept-Encoding"},
		{"GET", "/_health", "gzip", "", origin},
		{"GET", "/nowhere", "gzip", "", "Origin, Accept"}, // an error may be a problem
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if c.accepted != "" {
			r.Header.Set("Accept-Encoding", c.accepted)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != c.encoding {
			t.Errorf("%s %s, Accept-Encoding %q: encoded as %q, want %q", c.method, c.path, c.accepted, got, c.encoding)
		}
		if w.Header()["No-Gzip-Compression"] != nil {
			t.Errorf("%s %s, Accept-Encoding %q: a header of the server itself is sent", c.method, c.path, c.accepted)
		}
		if got := strings.Join(w.Header()["Vary"], ", "); got != c.vary {
			t.Errorf("%s %s, Accept-Encoding %q: Vary %q, want %q", c.method, c.path, c.accepted, got, c.vary)
		}
		if c.path == "/packed" && w.Body.String() != long {
			t.Errorf("what a handler has compressed is compressed again")
		}
	}
}

// TestCompressionForNode checks that no answer is compressed by zstd for the fetch of @whatwg-node, which asks for zstd
// also where it cannot read it.
func TestCompressionForNode(t *testing.T) {
	s, err := server.New(server.Config{Compress: true}, server.API{Probes: healthy, Routes: []server.Route{{
		Method: "GET", Path: "/long", Open: true,
		Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, err := io.WriteString(w, strings.Repeat("long ", 1000))
			return err
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ client, accepted, encoding string }{
		{"node", "gzip, deflate, br, zstd", "gzip"},
		{"node", "gzip;q=0.5, zstd;q=1", "gzip"},
		{"node", "zstd", ""},
		{"node", "gzip, deflate", "gzip"},
		{"Mozilla/5.0", "gzip, deflate, br, zstd", "zstd"},
		{"", "gzip, deflate, br, zstd", "zstd"},
	} {
		r := httptest.NewRequest("GET", "/long", nil)
		r.Header.Set("User-Agent", c.client)
		r.Header.Set("Accept-Encoding", c.accepted)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != c.encoding || w.Code != 200 {
			t.Errorf("%q, Accept-Encoding %q: %d, encoded as %q, want %q", c.client, c.accepted, w.Code, got,
				c.encoding)
		}
	}
}
