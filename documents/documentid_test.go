package documents_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// TestDocumentIDs: generated ids are valid and different. They come in runs of 64, which begin alike, and have nothing
// else in common. They spell no words.
func TestDocumentIDs(t *testing.T) {
	model := testModel(t)
	svc := documents.NewService(storetest.Open(t, model), model, "en")
	typ := model.Type("api::remark.remark")
	var ids []string // in the order in which they were generated: that of the transactions
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 48 {
				if err := svc.Create(t.Context(), documents.Write{Type: typ, Data: body(t, `{"name":"x"}`),
					Access: permission.FullAccess, After: func(_ *store.Snapshot, r store.Record) error {
						ids = append(ids, r.DocumentID())
						return nil
					}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	valid := regexp.MustCompile(`^[b-z][b-z0-9]{23}$`)
	var starts []string
	rests := map[string]bool{}
	for i, id := range ids {
		if !valid.MatchString(id) || strings.ContainsAny(id, "aeiou") {
			t.Fatalf("%q is no documentId", id)
		}
		if start := id[:6]; i%64 == 0 {
			starts = append(starts, start)
		} else if start != starts[len(starts)-1] {
			t.Errorf("the id %d is %q in a run that begins with %q", i, id, starts[len(starts)-1])
		}
		rests[id[6:]] = true
	}
	if slices.Sort(starts); len(slices.Compact(starts)) != 3 {
		t.Errorf("runs begin with %q, want three different texts", starts)
	}
	if len(rests) != len(ids) {
		t.Errorf("%d ids have %d different ends", len(ids), len(rests))
	}
}
