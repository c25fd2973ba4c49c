//go:build linux

package clusters

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A steppedClock is the clock of a node, which is wrong by what the file of that name says. The test changes the file
// while the node runs.
type steppedClock string

func (c steppedClock) Now() time.Time {
	text, err := os.ReadFile(string(c))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Now()
	}
	by, parseErr := time.ParseDuration(string(text))
	if err := errors.Join(err, parseErr); err != nil {
		panic(err)
	}
	return time.Now().Add(by)
}

func (c steppedClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (n *node) clock() string { return filepath.Join(n.dir, "clock") }

// stepClock has the clock of a node be wrong by some time.
func (n *node) stepClock(by time.Duration) error {
	next := n.clock() + ".next"
	if err := os.WriteFile(next, []byte(by.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, n.clock())
}
