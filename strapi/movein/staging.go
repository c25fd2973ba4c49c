package movein

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lectern/gateway/admin"
	"lectern/internal/durable"
)

// A staging is the directory in which a project is built. It lies beside the directory that the project will have, in
// the same file system, so that a rename puts the complete project there.
type staging struct {
	dir     string // where the project will be
	path    string
	lock    *admin.DataDir
	journal journal
}

// A journal says what of the work is done, for the run that goes on after a kill.
type journal struct {
	Format int    `json:"format"`
	Source string `json:"source"` // identity of the source
	Done   phase  `json:"done"`   // the last finished phase
	Report Report `json:"report"` // as far as it is known
	// Files are the uploaded files that documents name.
	Files map[string]fileSize `json:"files"`
}

const journalFormat = 1

// A phase is a part of the work that is not repeated once it is finished.
type phase int

const (
	nothingDone phase = iota
	contentRead       // the files of the project and the lines of its content are written
	filesCopied
	contentImported
	allChecked
)

// Names in the staging directory.
const (
	journalName = "journal.json"
	projectName = "project"
	spoolName   = "content.jsonl"
)

// stagingPath returns the path of the staging directory for a project's directory.
func stagingPath(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".move-in")
}

// openStaging locks the staging directory for dir, and makes it if there is none.
func openStaging(dir string) (*staging, error) {
	lock, err := admin.Lock(stagingPath(dir))
	if errors.Is(err, admin.ErrBusy) {
		return nil, fmt.Errorf("another move-in into %s is at work; wait until it has ended", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("make a directory to work in: %w", err)
	}
	s := &staging{dir: dir, path: lock.Path, lock: lock}
	return s, s.readJournal()
}

func (s *staging) join(name string) string { return filepath.Join(s.path, name) }

// close gives the staging directory up and leaves it as it is.
func (s *staging) close() error { return s.lock.Release() }

// remove removes the staging directory.
func (s *staging) remove() error { return errors.Join(os.RemoveAll(s.path), s.lock.Release()) }

func (s *staging) readJournal() error {
	text, err := os.ReadFile(s.join(journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &s.journal); err != nil || s.journal.Format != journalFormat {
		s.journal = journal{} // of another release: begin anew
	}
	return nil
}

// begin prepares the staging directory for a source. Unless an earlier run left work on the same source, it removes
// everything.
func (s *staging) begin(source string) error {
	if s.journal.Source == source && s.journal.Done > nothingDone {
		return s.clearTemporary()
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(s.join(e.Name())); err != nil {
			return err
		}
	}
	s.journal = journal{Format: journalFormat, Source: source}
	return s.writeJournal()
}

// clearTemporary removes what archive.Open has unpacked for a run that was killed.
func (s *staging) clearTemporary() error {
	old, err := filepath.Glob(s.join("archive-*"))
	for _, path := range old {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// finish notes that a phase is finished.
func (s *staging) finish(p phase) error {
	s.journal.Done = p
	return s.writeJournal()
}

func (s *staging) writeJournal() error {
	return writeJSON(s.join(journalName), &s.journal)
}

// writeJSON writes a value to a file that has either the old content or the new one after a crash.
func writeJSON(path string, v any) error {
	return admin.WriteFile(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}

// place puts the project where it belongs. The directory there must be empty or missing.
func (s *staging) place() error {
	if err := checkVacant(s.dir); err != nil {
		return err
	}
	if err := os.Remove(s.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put the project in place: %w", err)
	}
	if err := os.Rename(s.join(projectName), s.dir); err != nil {
		return fmt.Errorf("put the project in place: %w", err)
	}
	return durable.SyncDir(filepath.Dir(s.dir))
}

// placed reports whether an earlier run has put the project in place and was killed before it removed the staging
// directory.
func (s *staging) placed() bool {
	_, err := os.Stat(s.join(projectName))
	return s.journal.Done == allChecked && errors.Is(err, fs.ErrNotExist)
}

// checkVacant returns an error unless dir is an empty directory or missing.
func checkVacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty; name a new directory, or say --into to add to the project there", dir)
	}
	here, err := os.Getwd()
	if err == nil && here == dir {
		return fmt.Errorf("%s is the working directory, which the new project replaces; start from another one", dir)
	}
	return nil
}

// syncTree makes everything below a directory durable.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return durable.SyncDir(path) // fsync takes files too
	})
}
