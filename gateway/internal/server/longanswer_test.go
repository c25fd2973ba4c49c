package server_test

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
)

// afterNothing is a time.After that does not wait.
func afterNothing(time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	fired <- time.Now()
	return fired
}

// TestRefusedBeforeTheHead takes the permissions from a caller whose long answer has not begun yet, since the server
// works for it. The caller must be told so.
func TestRefusedBeforeTheHead(t *testing.T) {
	var lost atomic.Bool
	some, none := permission.NewAccess([]string{"api::note.note.find"}), permission.NewAccess(nil)
	works := func(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
		lost.Store(true)
		<-r.Context().Done()
		return r.Context().Err()
	}
	s, err := server.New(server.Config{After: afterNothing, Log: slog.New(slog.DiscardHandler)}, server.API{
		Routes: []server.Route{{Method: "GET", Path: "/api/long", Scopes: []string{"api::note.note.find"},
			Streams: true, Long: works}},
		Authenticate: func(*http.Request) (auth.Principal, error) {
			if lost.Load() {
				return auth.Principal{Access: none}, nil
			}
			return auth.Principal{Access: some}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, base := serveCounted(t, s)
	res, err := http.Get(base + "/api/long")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text := new(strings.Builder)
	if err := res.Write(text); err != nil || res.StatusCode != http.StatusForbidden ||
		!strings.Contains(text.String(), "your permissions have changed") {
		t.Errorf("%v %s", err, text)
	}
}
