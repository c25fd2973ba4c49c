package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"lectern/gateway"
)

// serve serves a project on an empty store until the test ends, and then checks the store's consistency.
func serve(t testing.TB, dir string) *Target { t.Helper(); return serveExtended(t, dir, nil) }

// serveExtended does what serve does, with extensions.
func serveExtended(t testing.TB, dir string, x *gateway.Extensions) *Target {
	t.Helper()
	ready := make(chan gateway.Ready, 1)
	p, err := gateway.Open(dir, gateway.Options{
		Addr: "127.0.0.1:0", Production: true, Ephemeral: true, Extensions: x,
		Log:   slog.New(faultlessLog{t}),
		Ready: func(r gateway.Ready) { ready <- r },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := p.Store().Check(); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	select {
	case r := <-ready:
		return &Target{Base: r.Base, Tokens: r.Tokens}
	case err := <-ended:
		ended <- err
		t.Fatal("the server has ended")
		return nil
	}
}

// A faultlessLog fails the test when the server logs an error, since no request may cause one.
type faultlessLog struct{ t testing.TB }

func (faultlessLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (l faultlessLog) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	l.t.Errorf("the server logs: %s", text)
	return nil
}

func (l faultlessLog) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l faultlessLog) WithGroup(string) slog.Handler      { return l }
