package documents_test

import (
	"testing"

	"lectern/documents"
	"lectern/store"
)

// TestRestoreMissingLocalization restores a localization that was deleted meanwhile. The values that all localizations
// share become what they were, also those that were empty and are set in the other localizations now.
func TestRestoreMissingLocalization(t *testing.T) {
	s := newScript(t)
	call := func(line, want string) {
		t.Helper()
		if got := s.call(line); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	const shown = " draft title rank day mood cover box"
	call(`create file {"name":"f.png","hash":"f","mime":"image/png","size":1,"url":"/f.png","provider":"local"} as f`,
		"ok, row 1")
	call(`create article draft {"title":"Krua"} as r`, "ok, row 1")
	call(`update r fr draft {"title":"FR","rank":3}`, "ok, row 2")
	var then store.Position
	if err := s.store.View(
		func(snap *store.Snapshot) (err error) { then, err = snap.Position(); return err }); err != nil {
		t.Fatal(err)
	}
	call(`delete r fr`, "ok")
	call(`update r draft {"rank":5,"day":"2026-01-01","mood":"wild","cover":"$f","box":{"title":"b"}}`, "ok, row 1")
	if err := s.svc.Restore(t.Context(), documents.Write{Type: s.types["r"], DocumentID: s.vars["r"], Locale: "fr"},
		documents.PastVersion{Position: then, Status: store.Draft}); err != nil {
		t.Fatal(err)
	}
	call("show r fr"+shown, `{"title":"FR","rank":3,"day":null,"mood":"calm","cover":null,"box":null}`)
	call("show r en"+shown, `{"title":"Krua","rank":3,"day":null,"mood":"calm","cover":null,"box":null}`)
}
