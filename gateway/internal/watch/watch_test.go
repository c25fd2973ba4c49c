package watch_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"lectern/gateway/internal/watch"
	"lectern/store"
)

// TestChangesAreReloaded changes files of a project. Each change is reloaded, again as long as the definitions are
// locked, and files that a project is not read from change nothing.
func TestChangesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() watch.Digest {
		t.Helper()
		sum, err := watch.DigestOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write("content-types/article.yaml", "one")
	seen := digest()
	write("content-types/notes.txt", "not read")
	write("data/content.yaml", "not read")
	if digest() != seen {
		t.Fatal("files that are not read change the digest")
	}
	problem := errors.New("a problem")
	answers := []error{store.ErrSchemaLocked, problem, nil}
	reloaded := make(chan error)
	w := watch.New(watch.Options{Dir: dir, Seen: seen, Log: slog.New(slog.DiscardHandler),
		Reload: func(context.Context) (err error) {
			err, answers = answers[0], answers[1:]
			return err
		},
		Reloaded: func(err error) { reloaded <- err },
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	write("content-types/article.yaml", "two")
	if err := <-reloaded; !errors.Is(err, problem) {
		t.Errorf("reloaded with %v", err)
	}
	write("config/server.yaml", "new")
	if err := <-reloaded; err != nil {
		t.Errorf("reloaded with %v", err)
	}
	stop()
	<-ended
	if len(answers) != 0 {
		t.Errorf("%d reloads too few", len(answers))
	}
}
