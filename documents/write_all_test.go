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
		list = append(list, documents.Operation{Write: h.write("api::tag.tag", "", fmt.Sprintf(`{"name":%q}`, name),
			store.Published), Action: documents.CreateAction})
	}
	return list
}

// TestWriteAllIsOneTransaction carries out many operations: one transaction is synced, and the log gets one entry.
// Operations of which the last one fails leave neither.
func TestWriteAllIsOneTransaction(t *testing.T) {
	h := newHeavy(t)
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprint("name ", i)
	}
	for _, last := range []string{"name 0", "name 199"} {
		names[199] = last
		stats, revision, tags := h.st.Stats(), h.st.Revision(),
			count(t, h.st, h.Model().Type("api::tag.tag"), store.Published)
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

// TestWriteAllEndsInTime ends the context of operations while they are carried out. Nothing is kept, although some were
// applied, and writes that share the transaction are not harmed.
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

// TestWriteAllIsBounded makes operations change more than a transaction may: what they write and what they remove
// counts.
func TestWriteAllIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	model := storetest.Model(t, storetest.Files(map[string]string{"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
pluginOptions: {i18n: {localized: true}}
attributes: {text: {type: text, pluginOptions: {i18n: {localized: true}}}}
`}))
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	note := model.Type("api::note.note")
	locales := []string{"en", "de", "fr", "it", "es", "pt", "nl", "da", "sv"}
	operations := func(action documents.Action, text string) (list []documents.Operation) {
		for i := range locales {
			w := documents.Write{Type: note, DocumentID: fmt.Sprint("note", i), Data: body(t, `{"text":"`+text+`"}`),
				Access: permission.FullAccess}
			list = append(list, documents.Operation{Write: w, Action: action})
		}
		return list
	}
	refused := func(what string, err error, left int) {
		t.Helper()
		var told *apierror.Error
		if !errors.As(err, &told) || told.Reason != apierror.Operations || told.Status != 413 {
			t.Errorf("36 MiB %s: %v", what, err)
		}
		if n := count(t, st, note, store.Published); n != left {
			t.Errorf("36 MiB %s: %d documents, want %d", what, n, left)
		}
	}
	long := strings.Repeat("x", 4<<20)
	refused("created", svc.WriteAll(t.Context(), operations(documents.CreateAction, long), true, ignored), 0)
	for _, o := range operations(documents.CreateAction, long) {
		if err := svc.Create(t.Context(), o.Write); err != nil {
			t.Fatal(err)
		}
	}
	refused("replaced", svc.WriteAll(t.Context(), operations(documents.UpdateAction, ""), true, ignored), len(locales))
	refused("deleted", svc.WriteAll(t.Context(), operations(documents.DeleteAction, ""), true, ignored), len(locales))

	one := operations(documents.UpdateAction, long)[0].Write
	for _, one.Locale = range locales {
		if err := svc.Update(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	all := 2*len(locales) - 1
	refused("deleted by locale", svc.DeleteEach(t.Context(), one, locales), all)
	one.Locale = "*"
	gone := []documents.Operation{{Write: one, Action: documents.DeleteAction}}
	if err := svc.WriteAll(t.Context(), gone, true, ignored); err != nil { // as large as it may be by itself
		t.Errorf("36 MiB of one document deleted: %v", err)
	}
	if n := count(t, st, note, store.Published); n != len(locales)-1 {
		t.Errorf("%d documents", n)
	}
}
