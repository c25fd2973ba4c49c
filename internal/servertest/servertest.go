// Package servertest serves projects for tests of the complete program.
package servertest

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"lectern/auth"
	"lectern/gateway"
)

// Serve serves the project in dir on an empty store until the test ends, and then checks the store's consistency. It
// fails the test if the server logs an error, since no request may cause one. x may be nil.
func Serve(t testing.TB, dir string, x *gateway.Extensions) gateway.Ready {
	t.Helper()
	ready := make(chan gateway.Ready, 1)
	p, err := gateway.Open(dir, gateway.Options{
		Addr: "127.0.0.1:0", Production: true, Ephemeral: true, Extensions: x,
		Log:   slog.New(slog.NewTextHandler(Failing{t}, &slog.HandlerOptions{Level: slog.LevelError})),
		Ready: func(r gateway.Ready) { ready <- r },
	})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, p, ready)
}

// ServeStored serves the project in dir with its own store until the test ends, and then checks the store's
// consistency. It returns the address and the key of a new full-access token. It fails the test if the server logs an
// error.
func ServeStored(t testing.TB, dir string) (base, key string) {
	t.Helper()
	ready := make(chan gateway.Ready, 1)
	p, err := gateway.Open(dir, gateway.Options{
		Addr: "127.0.0.1:0", NoWatch: true,
		Log:   slog.New(slog.NewTextHandler(Failing{t}, &slog.HandlerOptions{Level: slog.LevelError})),
		Ready: func(r gateway.Ready) { ready <- r },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, key, err = p.CreateToken(t.Context(), auth.Declaration{Name: "test", Kind: auth.FullAccess}); err != nil {
		t.Fatal(err)
	}
	return run(t, p, ready).Base, key
}

// run runs an open project until the test ends, and then checks its store. It returns when the server answers.
func run(t testing.TB, p *gateway.Project, ready <-chan gateway.Ready) gateway.Ready {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, p.Store().Check(), p.Close()); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	select {
	case r := <-ready:
		return r
	case err := <-ended:
		ended <- err
		t.Fatal("the server has ended")
		return gateway.Ready{}
	}
}

// Failing is the destination of a server's log. It fails the test at each line.
type Failing struct{ testing.TB }

func (f Failing) Write(line []byte) (int, error) {
	f.Errorf("the server logs: %s", line)
	return len(line), nil
}
