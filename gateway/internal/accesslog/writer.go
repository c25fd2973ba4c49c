package accesslog

import (
	"io"
	"sync"
	"time"
)

// Delay is how long a line of a request waits for others at most. A process that is killed loses the lines that wait.
const Delay = 100 * time.Millisecond

// maxWaiting is how many bytes wait at most: the line that would exceed it is written at once, with those before it.
const maxWaiting = 64 << 10

// A writer writes a log. Only lines of requests wait: Write, by which all else is logged, returns when its line and the
// ones before it are written. It is safe for concurrent use.
type writer struct {
	out     io.Writer
	writing sync.Mutex // held while something is written, before mu
	mu      sync.Mutex
	waiting []byte
	written []byte      // the memory of the lines that were written last
	timer   *time.Timer // nil before the first line has waited
	armed   bool        // the timer runs
}

// Write implements io.Writer. It writes what waits, and p after that.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.waiting = append(w.waiting, p...)
	w.mu.Unlock()
	return len(p), w.flush()
}

// later writes p within Delay.
func (w *writer) later(p []byte) {
	w.mu.Lock()
	w.waiting = append(w.waiting, p...)
	full := len(w.waiting) >= maxWaiting
	switch {
	case full || w.armed: // is written below, or by the timer
	case w.timer == nil:
		w.timer, w.armed = time.AfterFunc(Delay, w.elapsed), true
	default:
		w.timer.Reset(Delay)
		w.armed = true
	}
	w.mu.Unlock()
	if full {
		_ = w.flush() // nobody can be told that the log cannot be written
	}
}

// elapsed writes what has waited for Delay.
func (w *writer) elapsed() {
	w.mu.Lock()
	w.armed = false
	w.mu.Unlock()
	_ = w.flush() // nobody can be told that the log cannot be written
}

// flush writes what waits.
func (w *writer) flush() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	lines := w.waiting
	w.waiting = w.written[:0]
	w.mu.Unlock()
	if len(lines) == 0 {
		w.written = nil
		return nil
	}
	_, err := w.out.Write(lines)
	w.written = lines
	return err
}

// A laterWriter is a writer whose lines may wait.
type laterWriter struct{ *writer }

func (w laterWriter) Write(p []byte) (int, error) {
	w.later(p)
	return len(p), nil
}
