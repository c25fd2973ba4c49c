package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/store"
)

// TestLogSaysWhoDidWhat writes over REST and GraphQL, as tokens, as the public and by the server itself. The log of
// changes says who did what. A restored store begins a new epoch, and its log goes on.
func TestLogSaysWhoDidWhat(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", "Soup")
	id := strings.TrimPrefix(path, "/api/articles/")
	p.want(200, "POST", path+"/actions/publish", "editor", nil)
	if r := p.graphql("full", `mutation {unpublishArticle(documentId: "`+id+`") {title}}`); r.status != 200 ||
		strings.Contains(r.text, "errors") {
		t.Fatal(r.text)
	}
	p.want(400, "POST", "/api/auth/local/register", "", object{"username": "x"}) // refused: it leaves no entry
	p.want(204, "DELETE", path, "full", nil)
	p.stop()

	project, closeProject := openProject(t, p.dir, gateway.Options{})
	var got []string
	at := positionOf(t, project.Store(), func(s *store.Snapshot, e *store.Entry) {
		for _, key := range p.keys {
			if strings.Contains(e.By.Name, key) {
				t.Errorf("the log has a key: %v", e.By)
			}
		}
		for _, c := range s.Changes(e) {
			if c.DocumentID == id {
				got = append(got, fmt.Sprintf("%s %s: %s", e.By.Kind, e.By.Name, c.Action))
			}
		}
	})
	want := []string{
		fmt.Sprint("token full: ", store.Created), fmt.Sprint("token editor: ", store.PublishedAction),
		fmt.Sprint("token full: ", store.Unpublished), fmt.Sprint("token full: ", store.Deleted),
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log says %q, want %q", got, want)
	}
	var backup bytes.Buffer
	if err := project.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	closeProject()

	if _, err := gateway.Directory(p.dir, gateway.Options{}).Restore(&backup); err != nil {
		t.Fatal(err)
	}
	project, closeProject = openProject(t, p.dir, gateway.Options{})
	defer closeProject()
	var last store.EntryKind
	now := positionOf(t, project.Store(), func(_ *store.Snapshot, e *store.Entry) { last = e.Kind })
	if now.Epoch == at.Epoch || now.Sequence != at.Sequence+1 || last != store.EpochEntry {
		t.Errorf("after a restore the log is at %s, and was at %s", now, at)
	}
	if err := project.Store().View(func(s *store.Snapshot) error { _, err := s.Entries(at); return err }); !errors.Is(
		err, store.ErrOtherEpoch) {
		t.Errorf("after the position before the restore: %v", err)
	}
}

// positionOf returns the position of a store, after it has called f with each entry of the log.
func positionOf(t *testing.T, st *store.Store, f func(*store.Snapshot, *store.Entry)) (at store.Position) {
	t.Helper()
	if err := st.View(func(s *store.Snapshot) error {
		since, err := s.OldestPosition()
		if err != nil {
			return err
		}
		log, err := s.Entries(since)
		if err != nil {
			return err
		}
		for e, err := range log {
			if err != nil {
				return err
			}
			f(s, e)
		}
		at, err = s.Position()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return at
}
