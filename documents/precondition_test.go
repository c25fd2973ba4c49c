package documents_test

import (
	"errors"
	"slices"
	"testing"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// TestManyVersionsCostLittle writes with a precondition that names one former version of a document, or thousands. The
// transaction, for which all other writes wait, must not read the log for each of them.
func TestManyVersionsCostLittle(t *testing.T) {
	model := testModel(t)
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	w := documents.Write{Type: model.Type("api::tag.tag"), DocumentID: "a", Data: body(t, `{"name":"x"}`),
		Access: permission.FullAccess}
	if err := svc.Create(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	version := func() (text string) {
		err := st.View(func(s *store.Snapshot) error {
			text = string(svc.AppendVersion(nil, s, w.Type, w.DocumentID, ""))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	old := version()
	if err := svc.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	update := func(versions []string) error {
		w.If = &documents.Precondition{Match: &documents.VersionSet{Versions: versions}}
		return svc.Update(t.Context(), w)
	}
	cost := func(versions []string) float64 {
		return testing.AllocsPerRun(10, func() {
			var told *apierror.Error
			if err := update(versions); !errors.As(err, &told) || told.Status != 412 {
				t.Errorf("%d former versions: %v", len(versions), err)
			}
		})
	}
	const many = 5000
	one, all := cost([]string{old}), cost(slices.Repeat([]string{old}, many))
	if all > one+many/10 {
		t.Errorf("one version takes %.0f allocations, and %d take %.0f", one, many, all)
	}
	if err := update([]string{old, version(), old, "other"}); err != nil {
		t.Errorf("the present version among former ones: %v", err)
	}
}
