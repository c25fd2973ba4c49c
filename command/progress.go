package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// A progress prints the progress of a command to the standard error. On a terminal it rewrites a single line; otherwise
// it prints a line from time to time.
type progress struct {
	w        io.Writer
	terminal bool
	every    time.Duration
	last     time.Time
	shown    string // what show has printed last; "" if something else was printed since
	open     bool   // the cursor is on the line that show rewrites
	lines    int
	bytes    int64
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, every: 5 * time.Second, last: time.Now()}
	if isTerminal(w) {
		p.terminal, p.every = true, 200*time.Millisecond
	}
	return p
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// show prints the progress, unless it did so a moment ago, or nothing has changed since.
func (p *progress) show(format string, args ...any) {
	if time.Since(p.last) < p.every {
		return
	}
	text := fmt.Sprintf(format, args...)
	if text == p.shown {
		return
	}
	p.last, p.shown = time.Now(), text
	if p.terminal {
		p.open = true
		fmt.Fprint(p.w, "\r\x1b[K"+text)
		return
	}
	fmt.Fprintln(p.w, text)
}

// A pace tells how fast a phase of a command goes on, and when it will be done.
type pace struct {
	phase string
	began time.Time
	first int // what was done when the phase began
}

// text describes how far a phase is. total is 0 if it is not known.
func (c *pace) text(phase string, done, total int) string {
	if phase != c.phase {
		*c = pace{phase, time.Now(), done}
	}
	if done == 0 && total == 0 {
		return phase
	}
	text := fmt.Sprintf("%s: %d", phase, done)
	if total > 0 {
		text += fmt.Sprintf(" of %d", total)
	}
	seconds := time.Since(c.began).Seconds()
	rate := float64(done-c.first) / seconds
	if seconds < 1 || rate <= 0 {
		return text
	}
	text += fmt.Sprintf(", %.0f/s", rate)
	if total > 0 {
		left := time.Duration(float64(total-done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// clear erases the line that show rewrites.
func (p *progress) clear() {
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open, p.shown = false, ""
	}
}

// done prints the result.
func (p *progress) done(format string, args ...any) {
	p.clear()
	p.shown = ""
	fmt.Fprintf(p.w, format+"\n", args...)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func (p *progress) countLines(w io.Writer) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		n, err := w.Write(b)
		p.lines += bytes.Count(b[:n], []byte("\n"))
		p.show("%d lines", p.lines)
		return n, err
	})
}

func (p *progress) countBytes(w io.Writer) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		n, err := w.Write(b)
		p.addBytes(n)
		return n, err
	})
}

func (p *progress) readBytes(r io.Reader) io.Reader {
	return readerFunc(func(b []byte) (int, error) {
		n, err := r.Read(b)
		p.addBytes(n)
		return n, err
	})
}

func (p *progress) addBytes(n int) {
	p.bytes += int64(n)
	p.show("%s", megabytes(p.bytes))
}

func megabytes(n int64) string {
	switch {
	case n < 1e6:
		return fmt.Sprintf("%d kB", (n+999)/1000)
	case n >= 1e10:
		return fmt.Sprintf("%.0f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
