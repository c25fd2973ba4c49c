//go:build unix

package command_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/command"
)

// TestServeTellsTheServiceManagerWhenItIsReady plays the service manager, which learns from a server when it answers
// requests.
func TestServeTellsTheServiceManagerWhenItIsReady(t *testing.T) {
	dir := t.TempDir()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify")})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "notify"))
	stop, exit := startServe(t, io.Discard)
	message := make([]byte, 100)
	manager.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, err := manager.Read(message)
	if got := string(message[:n]); err != nil || got != "READY=1" {
		t.Errorf("got %q, %v", got, err)
	}
	stop()
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestServeOnlyWarnsWithoutItsServiceManager holds that a server serves and warns when the service manager cannot be
// told.
func TestServeOnlyWarnsWithoutItsServiceManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	warning := make(chan struct{})
	stop, exit := startServe(t, writerFunc(func(b []byte) (int, error) {
		if strings.Contains(string(b), "notify the service manager") {
			close(warning)
		}
		return len(b), nil
	}))
	select {
	case <-warning:
	case <-time.After(20 * time.Second):
		t.Error("there was no warning")
	}
	stop()
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// startServe starts an ephemeral server of an example project in this process.
func startServe(t *testing.T, stderr io.Writer) (stop context.CancelFunc, exit <-chan int) {
	dir := filepath.Join(t.TempDir(), "blog")
	if code := command.Main(t.Context(), []string{"init", dir}, command.Program{Stdout: io.Discard}); code != 0 {
		t.Fatalf("init exits with %d", code)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		done <- command.Main(ctx, []string{"serve", dir, "--ephemeral", "--port", "0"},
			command.Program{Stdout: io.Discard, Stderr: stderr})
	}()
	return stop, done
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
