package documents_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
	"lectern/store"
)

// TestExportRoundTrip exports the content that each script of testdata/writes creates, imports it into an empty store,
// and expects that store to export the same.
func TestExportRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/writes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newScript(t)
			s.run(string(raw))
			first := exported(t, s.store, s.model)
			if bytes.Count(first, []byte("\n")) < 2 {
				t.Fatal("nothing was exported")
			}

			st := storetest.Open(t, s.model)
			svc := documents.NewService(st, s.model, "en")
			for _, into := range []string{"an empty store", "the same store again"} {
				result, err := transfer.Import(context.Background(), svc, bytes.NewReader(first),
					transfer.ImportOptions{})
				if err != nil {
					t.Fatalf("import into %s: %v\n%s", into, err, first)
				}
				if lines := bytes.Count(first, []byte("\n")) - 1; result.Versions != lines {
					t.Errorf("import into %s: %d versions of %d", into, result.Versions, lines)
				}
				second := exported(t, st, s.model)
				if got, want := storetest.ComparableExport(t, second),
					storetest.ComparableExport(t, first); got != want {
					t.Errorf("import into %s: %s", into, storetest.Difference(want, got))
				}
			}
		})
	}
}

// exported returns an export of a store.
func exported(t *testing.T, st *store.Store, model *contenttypes.Model) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := transfer.Export(t.Context(), st, model, &out, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
