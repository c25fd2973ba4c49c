package documents_test

import (
	"fmt"
	"sync"
	"testing"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// TestManyUIDs creates many documents with the same title at the same time. Each gets a different uid. The last one
// needs hardly more seeks than the first, so the server does not try the numbers of uids one by one.
func TestManyUIDs(t *testing.T) {
	s := newScript(t)
	typ := s.typeOf("label")
	uids := map[string]bool{}
	var mu sync.Mutex
	create := func() error {
		data := jsontree.NewObject()
		data.Set("text", "Same")
		return s.svc.Create(t.Context(), documents.Write{Type: typ, Access: permission.FullAccess, Data: data,
			After: func(_ *store.Snapshot, r store.Record) error {
				mu.Lock()
				defer mu.Unlock()
				uids[string(r.JSON(typ.Attribute("key")))] = true
				return nil
			}})
	}
	seeks := func() uint64 {
		before := s.store.Stats().Seeks
		if err := create(); err != nil {
			t.Fatal(err)
		}
		return s.store.Stats().Seeks - before
	}
	first := seeks()
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 50 {
				if err := create(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	last := seeks()
	if len(uids) != 402 || !uids[`"same"`] || !uids[fmt.Sprintf("%q", "same-401")] {
		t.Errorf("402 documents have %d uids: %v", len(uids), uids)
	}
	if last > first+40 {
		t.Errorf("the first document took %d searches, the last %d", first, last)
	}
}
