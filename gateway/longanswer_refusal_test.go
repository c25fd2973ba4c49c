package gateway

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
)

// A firedClock fires each timer at once.
type firedClock struct{}

func (firedClock) Now() time.Time { return time.Now() }

func (firedClock) After(time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	fired <- time.Now()
	return fired
}

// TestRefusedBeforeTheHead takes the permissions from a caller whose long answer has not begun yet, since the server works for it. The caller must be
// told so.
func TestRefusedBeforeTheHead(t *testing.T) {
	var lost atomic.Bool
	some, none := permission.NewAccess([]string{"api::note.note.find"}), permission.NewAccess(nil)
	works := func(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
		lost.Store(true)
		<-r.Context().Done()
		return r.Context().Err()
	}
	s, err := server.New(server.Config{After: firedClock{}.After, Log: slog.New(slog.DiscardHandler)}, server.API{
		Routes: []server.Route{{Method: "GET", Path: "/api/long", Scopes: []string{"api::note.note.find"}, Streams: true, Long: works}},
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
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	(&node{T: t}).background(func(ctx context.Context) {
		if err := s.Serve(ctx, ln); err != nil {
			t.Error(err)
		}
	})
	res, err := http.Get("http://" + ln.Addr().String() + "/api/long")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text := new(strings.Builder)
	if err := res.Write(text); err != nil || res.StatusCode != http.StatusForbidden || !strings.Contains(text.String(), server.ErrAccessChanged.Message) {
		t.Errorf("%v %s", err, text)
	}
}
