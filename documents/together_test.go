package documents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// ignored is a documents.Show that shows nothing.
func ignored(int, *store.Snapshot, store.Record, error) error { return nil }

// tagged returns operations that create tags with these names.
func (h *heavy) tagged(names ...string) (list []documents.Operation) {
	for _, name := range names {
		list = append(list, documents.Operation{Write: h.write("api::tag.tag", "", fmt.Sprintf(`{"name":%q}`, name), store.Published), Action: documents.CreateAction})
	}
	return list
}

// TestWriteAllIsOneTransaction carries out many operations: one transaction is synced, and the log gets one entry. Operations of which the
// last one fails leave neither.
func TestWriteAllIsOneTransaction(t *testing.T) {
	h := newHeavy(t)
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprint("name ", i)
	}
	for _, last := range []string{"name 0", "name 199"} {
		names[199] = last
		stats, revision, tags := h.st.Stats(), h.st.Revision(), count(t, h.st, h.Model().Type("api::tag.tag"), store.Published)
		err := h.WriteAll(t.Context(), h.tagged(names...), true, ignored)
		made := uint64(1)
		if last == "name 0" {
			made = 0
			var failed *documents.OperationError
			if !errors.As(err, &failed) || failed.Index != 199 {
				t.Errorf("two tags with one name: %v", err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		now := h.st.Stats()
		if commits, entries := now.Commits-stats.Commits, h.st.Revision()-revision; commits != made || entries != made {
			t.Errorf("%d transactions and %d entries of the log, want %d", commits, entries, made)
		}
		if n := count(t, h.st, h.Model().Type("api::tag.tag"), store.Published) - tags; n != int(made)*200 {
			t.Errorf("%d tags were made", n)
		}
	}
}

// TestWriteAllEndsInTime ends the context of operations while they are carried out. Nothing is kept, although some were applied, and writes that
// share the transaction are not harmed.
func TestWriteAllEndsInTime(t *testing.T) {
	h := newHeavy(t)
	revision := h.st.Revision()
	ctx, cancel := context.WithCancel(t.Context())
	list := h.tagged("one", "two", "three", "four")
	err := h.WriteAll(ctx, list, false, func(i int, _ *store.Snapshot, _ store.Record, _ error) error {
		if i == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || h.st.Revision() != revision {
		t.Errorf("%v, and %d entries", err, h.st.Revision()-revision)
	}
	if err := h.WriteAll(t.Context(), h.tagged("one"), false, ignored); err != nil {
		t.Error(err)
	}
}

// TestWriteAllIsBounded makes operations change more than a transaction may.
func TestWriteAllIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	model := storetest.Model(t, storetest.Files(map[string]string{"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes: {text: {type: text}}
`}))
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	note := model.Type("api::note.note")
	var list []documents.Operation
	for range 9 {
		w := documents.Write{Type: note, Data: body(t, `{"text":"`+strings.Repeat("x", 4<<20)+`"}`), Access: permission.FullAccess}
		list = append(list, documents.Operation{Write: w, Action: documents.CreateAction})
	}
	var told *apierror.Error
	if err := svc.WriteAll(t.Context(), list, true, ignored); !errors.As(err, &told) || told.Reason != apierror.Operations || told.Status != 413 {
		t.Errorf("36 MiB: %v", err)
	}
	if n := count(t, st, note, store.Published); n > 0 {
		t.Errorf("%d documents were kept", n)
	}
}
