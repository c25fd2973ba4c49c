package clients

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
)

// TestEventSource listens to changes with the EventSource of a headless browser while the server is restarted. It needs
// what TestSandbox needs, without the files of the IDE.
func TestEventSource(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser waits three seconds before it connects again")
	}
	chromium := findChromium()
	if chromium == "" {
		lack(t, "no Chromium: install one (apt-get install chromium), or name it by CHROMIUM")
	}
	if err := install(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	s := &restarted{T: t, dir: t.TempDir(), addr: servertest.FreeAddress(t)}
	if err := os.CopyFS(s.dir, os.DirFS("project")); err != nil {
		t.Fatal(err)
	}
	base := s.serve()
	t.Cleanup(func() { s.stop() })
	control := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		s.stop()
		s.serve()
	}))
	defer control.Close()
	runNode(t, "browser/events.test.js", gateway.Ready{Base: base, Tokens: map[string]string{"full": s.key}},
		"CHROMIUM="+chromium, "CONTROL="+control.URL)
}

// A restarted is a server that can be stopped and started again at the same address.
type restarted struct {
	*testing.T
	dir, addr string
	key       string // of a full-access token
	stop      func()
}

// serve starts the server, and returns its base when it answers.
func (s *restarted) serve() (base string) {
	ready, ended := make(chan gateway.Ready, 1), make(chan error, 1)
	p, err := gateway.Open(s.dir, gateway.Options{
		Addr: s.addr, NoWatch: true, Ready: func(r gateway.Ready) { ready <- r },
		Log: slog.New(slog.NewTextHandler(servertest.Failing{TB: s.T}, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err == nil && s.key == "" {
		_, s.key, err = p.CreateToken(s.Context(), auth.Declaration{Name: "test", Kind: auth.FullAccess})
	}
	if err != nil {
		s.Errorf("serve: %v", err)
		return ""
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- p.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := errors.Join(<-ended, p.Store().Check(), p.Close()); err != nil {
			s.Errorf("serve: %v", err)
		}
	}
	select {
	case r := <-ready:
		return r.Base
	case <-time.After(20 * time.Second):
		s.Error("the server does not serve")
		return ""
	}
}
