// Package watch reloads a project when its files change. Events of the file system say that files may have changed; a
// digest of the files tells whether they have.
package watch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"lectern/internal/yamlfile"
	"lectern/store"
)

// watchedDirs are the directories of a project that are watched, with everything below them. The file .env is watched
// too.
var watchedDirs = []string{"content-types", "components", "config"}

// Changes are collected before the files are read: editors write a file in several steps, and tools write many files.
const (
	quiet   = 40 * time.Millisecond  // how long nothing must change before the files are read
	longest = 300 * time.Millisecond // how long changes are collected at most

	// If the definitions are locked, the reload is tried again after a pause that doubles up to longestPause. The
	// pauses let others lock them.
	pause        = time.Second
	longestPause = 8 * time.Second
)

// Options are what a Watch is made of.
type Options struct {
	Dir  string // of the project
	Seen Digest // of the files when they were last read
	// Reload reads the files and serves them. It is called again after a pause if its error is store.ErrSchemaLocked.
	Reload func(context.Context) error
	// Reloaded is called after Reload with its error, unless Reload is to be called again.
	Reloaded func(error)
	Log      *slog.Logger
}

// A Watch reloads a project when its files change.
type Watch struct {
	Options
	events *fsnotify.Watcher
}

// New begins to watch the files of a project; Run then looks at them. It returns nil if they cannot be watched, and
// logs why.
func New(o Options) *Watch {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		o.Log.Warn("changes of files are taken over at the next start, since they cannot be watched", "error", err)
		return nil
	}
	return &Watch{o, events}
}

// Run reloads the project whenever its files change, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	defer w.events.Close()
	due := time.NewTimer(0) // for changes since the project was opened
	var since time.Time     // when the first of the collected changes came; zero if there is none
	wait := pause
	changed := func() {
		if since.IsZero() {
			since = time.Now()
		}
		due.Reset(max(0, min(quiet, time.Until(since.Add(longest)))))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.events.Events:
			if w.matters(e) {
				changed()
			}
		case err := <-w.events.Errors: // some events may be lost
			w.Log.Warn("watch the project's files", "error", err)
			changed()
		case <-due.C:
			since = time.Time{}
			if !w.look(ctx) {
				wait = pause
				continue
			}
			due.Reset(wait)
			wait = min(2*wait, longestPause)
		}
	}
}

// matters reports whether an event is about a file that the project may read.
func (w *Watch) matters(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	name, err := filepath.Rel(w.Dir, e.Name)
	first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return err == nil && (first == ".env" || slices.Contains(watchedDirs, first))
}

// look reloads the project if its files have changed. later reports whether to try again.
func (w *Watch) look(ctx context.Context) (later bool) {
	w.follow(w.Dir, false)
	for _, name := range watchedDirs {
		w.follow(filepath.Join(w.Dir, name), true)
	}
	now, err := DigestOf(w.Dir) // after directories have been added to the watch, so that no change is missed
	if err == nil && now == w.Seen {
		return false
	}
	err = w.Reload(ctx)
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, store.ErrSchemaLocked) {
		w.Log.Info("changed files are taken over once work is done that takes several steps")
		return true
	}
	w.Seen = now
	w.Reloaded(err)
	return false
}

// follow watches a directory, and those below it if below is set. It may be called again for the same directory.
func (w *Watch) follow(dir string, below bool) {
	if err := w.events.Add(dir); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.Log.Warn("changes are taken over at the next start where they cannot be watched", "directory", dir,
				"error", err)
		}
		return
	}
	if !below {
		return
	}
	entries, _ := os.ReadDir(dir) // reading the files reports this error
	for _, e := range entries {
		if e.IsDir() {
			w.follow(filepath.Join(dir, e.Name()), true)
		}
	}
}

// A Digest tells whether files have changed.
type Digest = [sha256.Size]byte

// DigestOf returns a digest of the files that the project in a directory is read from.
func DigestOf(dir string) (sum Digest, err error) {
	project := os.DirFS(dir)
	hash := sha256.New()
	add := func(name string) error {
		text, err := yamlfile.ReadFile(project, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, part := range [][]byte{[]byte(name), text} {
			hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			hash.Write(part)
		}
		return err
	}
	errs := []error{add(".env")}
	for _, dir := range watchedDirs {
		errs = append(errs, fs.WalkDir(project, dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !isDefinitionFile(name) {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			return add(name)
		}))
	}
	return Digest(hash.Sum(nil)), errors.Join(errs...)
}

// isDefinitionFile reports whether a project reads a file.
func isDefinitionFile(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
