package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"time"

	"lectern/internal/clock"
)

// A Recording is what Debug records of a running server.
type Recording struct {
	Kind string // CPUProfile, HeapProfile, ExecutionTrace or Goroutines
	// Time is how long a CPU profile or a trace is recorded. The other kinds are recorded at once.
	Time time.Duration
}

// Kinds of recordings.
const (
	CPUProfile     = "cpu"        // where the server spends its time, for `go tool pprof`
	HeapProfile    = "heap"       // what memory is in use and who allocated it, for `go tool pprof`
	ExecutionTrace = "trace"      // when each goroutine ran and why it waited, for `go tool trace`
	Goroutines     = "goroutines" // the stack of each goroutine, as text
)

// maxRecording is the longest time of a recording.
const maxRecording = 10 * time.Minute

// errRecording is the answer to a request for a recording while another one is made.
var errRecording = errors.New("the server records something else for another call; try again when that is done")

// Debug writes a recording of the server that runs on the data directory. The server stops recording when ctx ends.
func (d *Directory) Debug(ctx context.Context, rec Recording, w io.Writer) error {
	r, err := d.running(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.do(ctx, http.MethodGet, "/debug/"+url.PathEscape(rec.Kind)+"?time="+rec.Time.String(), nil, copyTo(w))
}

// debug answers with a recording. One recording is made at a time, since the runtime makes one CPU profile and one
// trace at a time, and each slows the server down.
func (c *Control) debug(w http.ResponseWriter, r *http.Request) {
	rec := Recording{Kind: r.PathValue("kind")}
	var err error
	if rec.Time, err = time.ParseDuration(r.URL.Query().Get("time")); err == nil {
		err = rec.check()
	}
	if err == nil && !c.recording.TryLock() {
		err = errRecording
	}
	if err != nil {
		writeError(w, err)
		return
	}
	defer c.recording.Unlock()
	c.Log.Info("recording for lectern debug", "kind", rec.Kind, "time", rec.Time)
	c.download(w, r, rec.write)
}

func (rec Recording) check() error {
	switch {
	case !slices.Contains([]string{CPUProfile, HeapProfile, ExecutionTrace, Goroutines}, rec.Kind):
		return fmt.Errorf("there is no recording %q", rec.Kind)
	case rec.Time < 0 || rec.Time > maxRecording:
		return fmt.Errorf("a recording takes at most %s, not %s", maxRecording, rec.Time)
	}
	return nil
}

// write makes the recording. When ctx ends it stops, and returns the error of ctx.
func (rec Recording) write(ctx context.Context, w io.Writer) error {
	switch rec.Kind {
	case CPUProfile:
		if err := pprof.StartCPUProfile(w); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		return clock.Sleep(ctx, rec.Time)
	case ExecutionTrace:
		if err := trace.Start(w); err != nil {
			return err
		}
		defer trace.Stop()
		return clock.Sleep(ctx, rec.Time)
	case HeapProfile:
		runtime.GC() // a heap profile describes the heap after the last collection
		return pprof.Lookup("heap").WriteTo(w, 0)
	}
	return pprof.Lookup("goroutine").WriteTo(w, 2)
}
