package gateway

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"lectern/gateway/internal/pages"
	"lectern/gateway/internal/server"
)

// TestPagesAndTheirFilesAreRoutes asks for a page, for its files, and for what lies beside them.
func TestPagesAndTheirFilesAreRoutes(t *testing.T) {
	text := func(s string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) })
	}
	const at = "/api/query"
	page := pages.Page{Handler: text("the page"), Files: []pages.File{{Path: "/assets/ide-1.js", Handler: text("a script")}}}
	srv, err := server.New(server.Config{Log: slog.New(slog.DiscardHandler)},
		server.API{Routes: append(fileRoutes(at, page), openRoute(at, page))})
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[[2]string]struct {
		status int
		body   string
	}{
		{"GET", at}:                         {200, "the page"},
		{"GET", "/API/Query"}:               {200, "the page"},
		{"GET", at + "/"}:                   {200, "the page"},
		{"GET", at + "/assets/ide-1.js"}:    {200, "a script"},
		{"POST", at + "/assets/ide-1.js"}:   {status: 405},
		{"GET", at + "/assets"}:             {status: 404},
		{"GET", at + "/assets/"}:            {status: 404},
		{"GET", at + "/assets/ide-0.js"}:    {status: 404},
		{"GET", at + "/assets/../assets/x"}: {status: 404},
		{"GET", "/assets/ide-1.js"}:         {status: 404},
	} {
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, httptest.NewRequest(request[0], request[1], nil))
		if w.Code != want.status || want.body != "" && w.Body.String() != want.body {
			t.Errorf("%v: %d %s, want %v", request, w.Code, w.Body, want)
		}
		if w.Code == 200 && w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%v: %v", request, w.Header())
		}
	}
}
