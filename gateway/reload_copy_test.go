package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/gateway/config"
	"lectern/store"
)

// TestCopyThatCannotBeServedIsNotKept replaces the store of a server by a copy, as a replica does that begins anew,
// under definitions that fail. The server must go on with its own store, and close the copy.
func TestCopyThatCannotBeServedIsNotKept(t *testing.T) {
	n := openNode(t, projectOfNotes(t), Options{})
	n.makeKey()
	n.write("kept")
	path := filepath.Join(t.TempDir(), "content.db")
	file, err := os.Create(path)
	n.must(err)
	n.must(n.project.Store().View(func(s *store.Snapshot) error {
		_, err := s.CopyTo(file)
		return err
	}))
	n.must(file.Close())

	var copied *store.Store
	err = n.project.replace(t.Context(), replacement{
		load: func() (*Definition, error) {
			d, err := n.project.load()
			d.extensions = &Extensions{}
			d.extensions.Hooks(documents.Hooks{}, "api::none.none")
			return d, err
		},
		store: func(_ context.Context, _ *store.Store, d *config.Definition) (*store.Store, error) {
			copied, err = store.Open(path, d.Model, store.Options{})
			return copied, err
		},
		copied: true,
	})
	if err == nil || !strings.Contains(err.Error(), "api::none.none") {
		t.Fatalf("replaced: %v", err)
	}
	if err := copied.View(func(*store.Snapshot) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the copy can be read: %v", err)
	}
	again, err := store.Open(path, n.project.Definition().Model, store.Options{})
	if err != nil {
		t.Fatalf("the copy is still open: %v", err)
	}
	n.must(again.Close())
	n.write("later")
	if status, answer := n.ask("GET", "/api/notes", n.key, ""); status != 200 || !strings.Contains(answer, "kept") ||
		!strings.Contains(answer, "later") {
		t.Errorf("%d %s", status, answer)
	}
}
