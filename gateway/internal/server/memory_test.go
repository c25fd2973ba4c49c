package server_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway/internal/server"
	"lectern/internal/budget"
)

// TestMemoryOfCompressors expects an answer to be sent uncompressed if there is no memory for a compressor, and none to
// be reserved before an answer begins.
func TestMemoryOfCompressors(t *testing.T) {
	memory := budget.New(4 << 20)
	text := strings.Repeat("an answer ", 1000)
	before := int64(-1) // bytes that were reserved while the request was at work
	s, err := server.New(server.Config{Compress: true, Memory: memory}, server.API{Routes: []server.Route{
		{Method: "GET", Path: "/text", Open: true,
			Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
				w.Header().Set("Content-Type", "text/plain")
				before = memory.Stats().Reserved
				_, err := io.WriteString(w, text)
				return err
			}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	encoding := func() string {
		r := httptest.NewRequest("GET", "/text", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		return w.Header().Get("Content-Encoding")
	}
	if got := encoding(); got != "gzip" || memory.Stats().Peak < 1<<20 {
		t.Errorf("with memory: %q, %+v", got, memory.Stats())
	}
	if before != 0 || memory.Stats().Reserved != 0 {
		t.Errorf("%d bytes are reserved before the answer, and %d behind it", before, memory.Stats().Reserved)
	}
	others := [2]budget.Reservation{memory.Reservation(), memory.Reservation()}
	if err := errors.Join(others[0].Grow(3<<20), others[1].Grow(1<<19)); err != nil {
		t.Fatal(err)
	}
	if got := encoding(); got != "" {
		t.Errorf("without memory: %q", got)
	}
}
