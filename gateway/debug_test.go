package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/gateway/admin"
)

// TestDebugRecordsARunningServer records each kind of recording from a running server, over the control socket alone.
func TestDebugRecordsARunningServer(t *testing.T) {
	dir := writeProject(t, nil)
	served, _ := run(t, dir, gateway.Options{}, nil)
	d := gateway.Directory(dir, gateway.Options{})
	for kind, begins := range map[string]string{
		admin.CPUProfile: "\x1f\x8b", admin.HeapProfile: "\x1f\x8b", admin.ExecutionTrace: "go 1.",
		admin.Goroutines: "goroutine ",
	} {
		var got bytes.Buffer
		if err := d.Debug(t.Context(), admin.Recording{Kind: kind, Time: time.Millisecond}, &got); err != nil ||
			!strings.HasPrefix(got.String(), begins) {
			t.Errorf("%s: %.20q, %v", kind, got.String(), err)
		}
		for _, path := range []string{"/debug/", "/debug/pprof/"} {
			if status, _ := get(t, served.Base+path+kind, ""); status != http.StatusNotFound {
				t.Errorf("%s%s over HTTP: %d, want 404", path, kind, status)
			}
		}
	}
	for _, wrong := range []admin.Recording{{Kind: "heaps"}, {Kind: admin.CPUProfile, Time: time.Hour},
		{Kind: admin.CPUProfile, Time: -1}} {
		if err := d.Debug(t.Context(), wrong, io.Discard); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
	other := writeProject(t, nil)
	if err := gateway.Directory(other, gateway.Options{}).Debug(t.Context(), admin.Recording{Kind: admin.Goroutines},
		io.Discard); err == nil || !strings.Contains(err.Error(), "no server answers") {
		t.Errorf("without a server: %v", err)
	}
}

// TestDebugRecordsOneAtATime asks for a second recording while the first is made, and then breaks off the first.
func TestDebugRecordsOneAtATime(t *testing.T) {
	dir := writeProject(t, nil)
	recording := make(chan bool, 10)
	run(t, dir, gateway.Options{Log: onLog(func(line string) {
		if strings.Contains(line, "recording for lectern debug") {
			recording <- true
		}
	})}, nil)
	d := gateway.Directory(dir, gateway.Options{})
	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		first <- d.Debug(ctx, admin.Recording{Kind: admin.CPUProfile, Time: 5 * time.Minute}, io.Discard)
	}()
	<-recording
	second := func() error {
		return d.Debug(t.Context(), admin.Recording{Kind: admin.CPUProfile, Time: time.Millisecond}, io.Discard)
	}
	if err := second(); err == nil || !strings.Contains(err.Error(), "records something else") {
		t.Errorf("a second recording: %v", err)
	}
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the recording that was broken off: %v", err)
	}
	for late := time.Now().Add(10 * time.Second); ; { // until the server has noticed that the client is gone
		err := second()
		if err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("a recording after the first: %v", err)
		}
	}
}
