package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"lectern/internal/yamlfile"
	"lectern/store"
)

// watchedDirs are the directories of a project that are watched, with everything below them. The file .env is watched too.
var watchedDirs = []string{"content-types", "components", "config"}

// Changes are collected before the files are read: editors write a file in several steps, and tools write many files.
const (
	quiet   = 40 * time.Millisecond  // how long nothing must change before the files are read
	longest = 300 * time.Millisecond // how long changes are collected at most

	// If the definitions are locked, the reload is tried again after a pause that doubles up to longestPause. The pauses let others lock
	// them.
	pause        = time.Second
	longestPause = 8 * time.Second
)

// A watch reloads a project when its files change. Events of the file system say that files may have changed; a digest of the files
// tells whether they have.
type watch struct {
	project *Project
	events  *fsnotify.Watcher
	seen    fileDigest // digest of the files when they were last read
}

// watches reports whether the project is reloaded when its files change.
func (p *Project) watches() bool {
	return !p.options.Production && !p.options.NoWatch && p.role.FilesDecide()
}

// watch starts watching the project's files. It returns nil if they are not to be watched or cannot be.
func (p *Project) watch() *watch {
	if !p.watches() {
		return nil
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		p.log.Warn("changes of files are taken over at the next start, since they cannot be watched", "error", err)
		return nil
	}
	return &watch{project: p, events: events, seen: p.loaded}
}

// run reloads the project whenever its files change, until ctx ends.
func (w *watch) run(ctx context.Context) {
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
			w.project.log.Warn("watch the project's files", "error", err)
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
func (w *watch) matters(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	name, err := filepath.Rel(w.project.directory.Dir, e.Name)
	first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return err == nil && (first == ".env" || slices.Contains(watchedDirs, first))
}

// look reloads the project if its files have changed. later reports whether to try again.
func (w *watch) look(ctx context.Context) (later bool) {
	w.follow(w.project.directory.Dir, false)
	for _, name := range watchedDirs {
		w.follow(filepath.Join(w.project.directory.Dir, name), true)
	}
	now, err := digestFiles(os.DirFS(w.project.directory.Dir)) // after directories have been added to the watch, so that no change is missed
	if err == nil && now == w.seen {
		return false
	}
	err = w.project.reload(ctx)
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, store.ErrSchemaLocked) {
		w.project.log.Info("changed files are taken over once work is done that takes several steps")
		return true
	}
	w.seen = now
	if err != nil {
		w.project.logFailedReload(err)
	}
	if f := w.project.options.Reloaded; f != nil {
		f(err)
	}
	return false
}

// follow watches a directory, and those below it if below is set. It may be called again for the same directory.
func (w *watch) follow(dir string, below bool) {
	if err := w.events.Add(dir); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.project.log.Warn("changes are taken over at the next start where they cannot be watched", "directory", dir, "error", err)
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

type fileDigest = [sha256.Size]byte

// digestFiles returns a digest of the files that a project is read from.
func digestFiles(project fs.FS) (sum fileDigest, err error) {
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
	return fileDigest(hash.Sum(nil)), errors.Join(errs...)
}

// isDefinitionFile reports whether a project reads a file.
func isDefinitionFile(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
