package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/store"
	"lectern/store/evolve"
)

// modelOf loads definitions given by file.
func modelOf(t *testing.T, opts contenttypes.Options, files map[string]string) *contenttypes.Model {
	t.Helper()
	project := fstest.MapFS{}
	for name, text := range files {
		project[name] = &fstest.MapFile{Data: []byte(text)}
	}
	m, problems := contenttypes.LoadFS(project, opts)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return m
}

const itemFile = "content-types/item.yaml"

func itemType(attributes string) map[string]string {
	return map[string]string{itemFile: "kind: collectionType\ninfo: {singularName: item, pluralName: items, displayName: Item}\nattributes: {" + attributes + "}\n"}
}

func openModel(t *testing.T, path string, m *contenttypes.Model, opts store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(path, m, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fillItems writes n documents.
func fillItems(t *testing.T, s *store.Store, n int) {
	t.Helper()
	item := s.Model().Type("api::item.item")
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range n {
			b.PutRow(newRow(tx, item, tx.NewDoc(), store.Published, "", map[string]string{
				"name": strconv.Quote(fmt.Sprintf("item %05d", i)), "rank": strconv.Itoa(i % 7),
			}))
		}
		return tx.Apply(&b)
	})
}

// TestAnUnchangedStartReadsNothing expects a start without changed definitions to read no rows and no indexes, and to
// write nothing.
func TestAnUnchangedStartReadsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	m := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}"))
	s := openModel(t, path, m, store.Options{})
	fillItems(t, s, 5000)
	closeChecked(t, s)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s = openModel(t, path, modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}")),
		store.Options{Progress: func(what string, _, _ int) { t.Error(what) }})
	if st := s.Stats(); st != (store.Stats{}) {
		t.Errorf("work at start: %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the file was written")
	}
	// A change that neither loses nor converts content reads no row either.
	s = openModel(t, path, modelOf(t, contenttypes.Options{},
		itemType("rank: {type: integer}, name: {type: string, required: true}, body: {type: text}")), store.Options{})
	if st := s.Stats(); st.Rows != 0 {
		t.Errorf("%d rows read to take over an attribute without an index", st.Rows)
	}
	closeChecked(t, s)
}

// TestConversionOfManyRows converts so many rows that several transactions are needed. The progress must end at the
// total that it announces.
func TestConversionOfManyRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := openModel(t, path, modelOf(t, contenttypes.Options{},
		itemType("name: {type: string, index: false}, rank: {type: integer}")), store.Options{})
	fillItems(t, s, 3500)
	closeChecked(t, s)
	var told []string
	m := modelOf(t, contenttypes.Options{},
		itemType("name: {type: string}, rank: {type: string}, extra: {type: boolean}"))
	s = openModel(t, path, m, store.Options{Progress: func(what string, done, total int) {
		told = append(told, fmt.Sprintf("%s %d/%d", what, done, total))
	}})
	defer closeChecked(t, s)
	for _, want := range []string{"converting api::item.item 1000/3500", "converting api::item.item 3500/3500",
		"indexing api::item.item 2000/3500", "indexing api::item.item 3500/3500"} {
		if !strings.Contains(strings.Join(told, "\n"), want) {
			t.Errorf("progress does not say %q:\n%s", want, strings.Join(told, "\n"))
		}
	}
	item := m.Type("api::item.item")
	page := find(t, s, &store.Query{Type: item, Filter: store.Compare{Attr: item.Attribute("rank"), Op: store.Eq,
		Values: []any{"3"}}, Count: true, Limit: 1})
	if page.Total != 500 {
		t.Errorf("%d rows of rank 3, want 500", page.Total)
	}
	page = find(t, s, &store.Query{Type: item,
		Sort: []store.SortKey{{Path: []*contenttypes.Attribute{item.Attribute("name")}}}, Offset: 3000, Limit: 1,
		Count: true})
	if page.Total != 3500 || len(page.Docs) != 1 || page.Docs[0] != 3001 {
		t.Errorf("the 3001st by name is %v of %d", page.Docs, page.Total)
	}
	page = find(t, s, &store.Query{Type: item, Filter: store.Compare{Attr: item.Attribute("extra"), Op: store.Null},
		Count: true, Limit: 1})
	if page.Total != 3500 {
		t.Errorf("%d rows without extra, want all", page.Total)
	}
}

// TestANameThatComesBackIsAnother drops an attribute and later adds one of the same name. The new one must not have the
// values of the old one.
func TestANameThatComesBackIsAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	with := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}"))
	s := openModel(t, path, with, store.Options{})
	fillItems(t, s, 10)
	closeChecked(t, s)
	if _, err := store.Migrate(path, evolve.Migrations{{Op: "drop-attribute", Args: []string{"api::item.item.rank"}}},
		nil, store.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*contenttypes.Model{modelOf(t, contenttypes.Options{}, itemType("name: {type: string}")),
		with} {
		s = openModel(t, path, m, store.Options{})
		fillItems(t, s, 3)
		closeChecked(t, s)
	}
	s = openModel(t, path, with, store.Options{})
	defer closeChecked(t, s)
	item := with.Type("api::item.item")
	page := find(t, s, &store.Query{Type: item, Filter: store.Compare{Attr: item.Attribute("rank"), Op: store.Null},
		Count: true, Limit: -1})
	if page.Total != 13 {
		t.Errorf("%d rows without rank, want the 13 that were there", page.Total)
	}
}

// TestSwitchedOffTypesKeepTheirContent switches off a plugin with types of its own. Their content must come back with
// the plugin, and links to it can be removed meanwhile.
func TestSwitchedOffTypesKeepTheirContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	files := itemType("name: {type: string}, owners: {type: relation, relation: morphToMany}")
	on := modelOf(t, contenttypes.Options{}, files)
	s := openModel(t, path, on, store.Options{})
	item, user := on.Type("api::item.item"), on.Type("plugin::users-permissions.user")
	link := store.Link{Attr: item.Attribute("owners"), FromPos: store.PosStep, ToPos: store.PosStep}
	write(t, s, func(tx *store.Tx) error {
		i, u := tx.NewDoc(), tx.NewDoc()
		link.From, link.To = store.Ref{Type: item.UID, Doc: i}, store.Ref{Type: user.UID, Doc: u}
		var b store.Batch
		b.PutRow(newRow(tx, item, i, store.Published, "", map[string]string{"name": `"x"`}))
		b.PutRow(newRow(tx, user, u, store.Published, "", map[string]string{"username": `"somebody"`}))
		b.PutLink(link)
		return tx.Apply(&b)
	})
	closeChecked(t, s)

	off := modelOf(t, contenttypes.Options{WithoutUsersPermissions: true}, files)
	s = openModel(t, path, off, store.Options{})
	write(t, s, func(tx *store.Tx) error {
		a := off.Type("api::item.item").Attribute("owners")
		var b store.Batch
		tx.LinksFrom(a, store.PublishedLinks, link.From, func(l store.Link) bool { b.DeleteLink(l); return true })
		if b.Empty() {
			t.Error("the link is gone")
		}
		return tx.Apply(&b)
	})
	closeChecked(t, s)

	s = openModel(t, path, on, store.Options{})
	defer closeChecked(t, s)
	if page := find(t, s, &store.Query{Type: user, Count: true, Limit: -1}); page.Total != 1 {
		t.Errorf("%d users, want the one that was there", page.Total)
	}
}

// TestOtherDefinitionsWhileConverting interrupts a conversion and opens the store under other definitions. The
// conversion must be finished before these are looked at.
func TestOtherDefinitionsWhileConverting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	first := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}"))
	s := openModel(t, path, first, store.Options{})
	fillItems(t, s, 20)
	closeChecked(t, s)
	second := modelOf(t, contenttypes.Options{},
		itemType("name: {type: text, index: true}, rank: {type: biginteger}, more: {type: date}"))
	left := 4
	_, err := store.Open(path, second, store.Interrupted(store.Options{}, 3, func() error {
		if left--; left == 0 {
			return errKilled
		}
		return nil
	}))
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	s = openModel(t, path, first, store.Options{})
	defer closeChecked(t, s)
	item := first.Type("api::item.item")
	page := find(t, s, &store.Query{Type: item, Filter: store.Compare{Attr: item.Attribute("rank"), Op: store.Gte,
		Values: []any{5.0}}, Count: true, Limit: -1})
	if page.Total != 5 {
		t.Errorf("%d rows of rank 5 or more, want 5", page.Total)
	}
}
