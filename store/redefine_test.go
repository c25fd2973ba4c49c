package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
	"lectern/store/evolve"
)

// redefine changes the definitions of a store that is in use. After each transaction of the conversion, a reader must
// see the former content. A writer that comes at the first transaction must be told that the definitions have changed.
// If the store does not exist yet, redefine opens it.
func (c *change) redefine(m *contenttypes.Model) (*store.Store, error) {
	if _, err := os.Stat(c.path); errors.Is(err, fs.ErrNotExist) {
		return store.Open(c.path, m, c.options())
	}
	was, before := c.asIs()
	var writers sync.WaitGroup
	transactions := 0
	is, err := was.Redefine(c.Context(), m, store.Interrupted(c.options(), 2, func() error {
		switch now, err := c.contentOf(was); {
		case err != nil:
			c.Errorf("read under the former definitions: %v", err)
		case now != before:
			c.Errorf("under the former definitions there was\n%sand is now\n%s", before, now)
		}
		if transactions++; transactions == 1 {
			writers.Go(func() {
				err := was.Write(context.Background(),
					func(*store.Tx) error { c.Error("written under the former definitions"); return nil })
				if !errors.Is(err, store.ErrRedefined) {
					c.Errorf("a write under the former definitions: %v", err)
				}
			})
		}
		return nil
	}))
	writers.Wait()
	if err != nil {
		if now, failed := c.contentOf(was); now != before || failed != nil {
			c.Errorf("after a refusal there is %s, %v; want %s", now, failed, before)
		}
		closeChecked(c.T, was)
		return nil, err
	}
	if is.Model() != m {
		c.Error("another model")
	}
	if _, err := was.Redefine(c.Context(), m, c.options()); !errors.Is(err, store.ErrRedefined) {
		c.Errorf("redefined twice: %v", err)
	}
	if _, _, err := was.LockSchema(c.Context()); !errors.Is(err, store.ErrRedefined) {
		c.Errorf("held under the former definitions: %v", err)
	}
	if transactions > 0 {
		if _, err := c.contentOf(was); !errors.Is(err, store.ErrRedefined) {
			c.Errorf("a reader under the former definitions: %v", err)
		}
	}
	return is, nil
}

// asIs opens the store under the definitions of its content, and returns the content.
func (c *change) asIs() (s *store.Store, content string) {
	s, err := store.OpenAsIs(c.path)
	if err != nil {
		c.Fatal(err)
	}
	if content, err = c.contentOf(s); err != nil {
		c.Fatal(err)
	}
	return s, content
}

// settle carries out a migration while the store is in use, if that is possible, and leaves the store open under the
// definitions.
func (c *change) settle(after evolve.Migrations, call evolve.Migration, m *contenttypes.Model) bool {
	was, before := c.asIs()
	is, _, err := was.Settle(c.Context(), append(after, call), m, c.options())
	var more *evolve.DefinitionError
	if errors.As(err, &more) || errors.Is(err, evolve.ErrNotAsked) {
		if now, failed := c.contentOf(was); now != before || failed != nil {
			c.Errorf("after %s was refused there is %s, %v; want %s", call, now, failed, before)
		}
		closeChecked(c.T, was)
		return false
	}
	if err != nil {
		c.Fatal(err)
	}
	c.store = is
	return true
}

// TestRedefineWithoutChanges calls Redefine with equal definitions, as an edit of config/ alone does. Nothing may be
// written, and readers under the former Model may go on until the next write.
func TestRedefineWithoutChanges(t *testing.T) {
	files := itemType("name: {type: string}, rank: {type: integer}")
	was := openModel(t, filepath.Join(t.TempDir(), "content.db"), modelOf(t, contenttypes.Options{}, files),
		store.Options{})
	fillItems(t, was, 10)
	commits := was.Stats().Commits
	is, err := was.Redefine(t.Context(), modelOf(t, contenttypes.Options{}, files),
		store.Options{Progress: func(what string, _, _ int) { t.Error(what) }})
	if err != nil {
		t.Fatal(err)
	}
	defer closeChecked(t, is)
	if now := is.Stats().Commits; now != commits {
		t.Errorf("%d commits", now-commits)
	}
	if err := was.View(func(*store.Snapshot) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := was.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrRedefined) {
		t.Error(err)
	}
	fillItems(t, is, 1)
	if err := was.View(func(*store.Snapshot) error { return nil }); !errors.Is(err, store.ErrRedefined) {
		t.Error(err)
	}
}

// TestTypesOfAnotherModel reads and writes by a type of another Model. Both must be refused, because the attributes may
// have other positions in a row.
func TestTypesOfAnotherModel(t *testing.T) {
	s := newStore(t)
	article := loadModel(t).Type("api::article.article")
	err := s.View(func(snap *store.Snapshot) error {
		_, err := snap.Find(&store.Query{Type: article, Limit: -1, Locales: store.LocaleSet{All: true}})
		return err
	})
	if !errors.Is(err, store.ErrRedefined) {
		t.Errorf("read: %v", err)
	}
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		var b store.Batch
		b.PutRow(newRow(tx, article, tx.NewDoc(), store.Published, "en", nil))
		return tx.Apply(&b)
	})
	if !errors.Is(err, store.ErrRedefined) {
		t.Errorf("write: %v", err)
	}
}

// TestRedefineThatFails makes a conversion fail. Readers must still see the former content, writes must be refused, and
// the next start must finish the conversion.
func TestRedefineThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	was := openModel(t, path,
		modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}")), store.Options{})
	fillItems(t, was, 100)
	m := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: string}"))
	for range 2 {
		transactions := 0
		ctx, cancel := context.WithCancel(t.Context())
		_, err := was.Redefine(ctx, m, store.Interrupted(store.Options{}, 10, func() error {
			if transactions++; transactions == 5 {
				cancel()
			}
			return nil
		}))
		if cancel(); !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrDamaged) {
			t.Fatal(err)
		}
	}
	item := was.Model().Type("api::item.item")
	if page := find(t, was, &store.Query{Type: item, Limit: -1,
		Filter: store.Compare{Attr: item.Attribute("rank"), Op: store.Eq, Values: []any{3.0}}}); len(page.Docs) != 14 {
		t.Errorf("%d of rank 3, want 14", len(page.Docs))
	}
	if err := was.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrDamaged) {
		t.Error(err)
	}
	if err := was.Close(); err != nil {
		t.Fatal(err)
	}
	is := openModel(t, path, m, store.Options{})
	defer closeChecked(t, is)
	item = m.Type("api::item.item")
	if page := find(t, is, &store.Query{Type: item, Limit: -1,
		Filter: store.Compare{Attr: item.Attribute("rank"), Op: store.Eq, Values: []any{"3"}}}); len(page.Docs) != 14 {
		t.Errorf("%d of rank 3 after a start, want 14", len(page.Docs))
	}
}

// TestRedefineThatPanics makes a conversion panic. Readers must not be affected.
func TestRedefineThatPanics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	was := openModel(t, path,
		modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}")), store.Options{})
	fillItems(t, was, 30)
	m := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: string}"))
	_, err := was.Redefine(
		t.Context(), m, store.Interrupted(store.Options{}, 10, func() error { panic("of a conversion") }))
	if err == nil || !strings.Contains(err.Error(), "of a conversion") {
		t.Errorf("%v", err)
	}
	if page := find(t, was, &store.Query{Type: was.Model().Type("api::item.item"), Limit: -1}); len(page.Docs) != 30 {
		t.Errorf("%d documents, want 30", len(page.Docs))
	}
	if err := was.Close(); err != nil {
		t.Fatal(err)
	}
	closeChecked(t, openModel(t, path, m, store.Options{}))
}

// TestSchemaLock expects that definitions do not change under a shared lock. The holder may lock again and write. A
// shared lock that is requested while the definitions change must wait, and is then refused.
func TestSchemaLock(t *testing.T) {
	was := openModel(t, filepath.Join(t.TempDir(), "content.db"), loadModel(t), store.Options{})
	held, release, err := was.LockSchema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	patient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := was.Redefine(patient, loadModel(t), store.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("redefined while they are held: %v", err)
	}
	if _, err := was.Redefine(t.Context(), loadModel(t), store.Options{}); !errors.Is(err, store.ErrSchemaLocked) {
		t.Errorf("redefined while they are held for long: %v", err)
	}
	_, again, err := was.LockSchema(held)
	if err != nil {
		t.Fatal(err)
	}
	again()
	write(t, was, func(*store.Tx) error { return nil })
	_, other, err := was.LockSchema(t.Context()) // after a change that was given up, others lock as before
	if err != nil {
		t.Fatal(err)
	}
	other()

	redefined := make(chan *store.Store)
	go func() {
		is, err := was.Redefine(context.Background(), loadModel(t), store.Options{})
		if err != nil {
			t.Error(err)
		}
		redefined <- is
	}()
	release()
	release() // once is enough
	is := <-redefined
	if is == nil {
		t.FailNow()
	}
	if _, _, err := was.LockSchema(t.Context()); !errors.Is(err, store.ErrRedefined) {
		t.Error(err)
	}
	closeChecked(t, is)
}

// TestRedefineUnderLoad changes definitions under concurrent writes and reads. Every later read must see each
// acknowledged write, also in the index, under any of the definitions.
func TestRedefineUnderLoad(t *testing.T) {
	variants := []*contenttypes.Model{
		modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}")),
		modelOf(t, contenttypes.Options{},
			itemType("rank: {type: biginteger}, extra: {type: boolean}, name: {type: string, index: false}")),
		modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: decimal, index: false}")),
	}
	var current atomic.Pointer[store.Store]
	current.Store(openModel(t, filepath.Join(t.TempDir(), "content.db"), variants[0], store.Options{}))
	fillItems(t, current.Load(), 200)
	var written atomic.Int64
	written.Store(200)
	done := make(chan struct{})
	// again calls f with the current store, and repeats the call with the next store for as long as f returns
	// ErrRedefined.
	again := func(f func(*store.Store) error) {
		for {
			s := current.Load()
			err := f(s)
			if err == nil {
				return
			}
			if !errors.Is(err, store.ErrRedefined) {
				t.Error(err)
				return
			}
			for s == current.Load() {
				runtime.Gosched()
			}
		}
	}
	running := func() bool {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for running() {
				again(func(s *store.Store) error {
					item := s.Model().Type("api::item.item")
					return s.Write(context.Background(), func(tx *store.Tx) error {
						rank := "5"
						if item.Attribute("rank").Type == contenttypes.BigInteger {
							rank = `"5"`
						}
						var b store.Batch
						b.PutRow(newRow(tx, item, tx.NewDoc(), store.Published, "", map[string]string{
							"name": `"x"`, "rank": rank,
						}))
						return tx.Apply(&b)
					})
				})
				written.Add(1)
			}
		})
		all.Go(func() {
			for running() {
				again(func(s *store.Store) error {
					item := s.Model().Type("api::item.item")
					before := int(written.Load())
					return s.View(func(snap *store.Snapshot) error {
						page, err := snap.Find(
							&store.Query{Type: item,
								Sort:  []store.SortKey{{Path: []*contenttypes.Attribute{item.Attribute("rank")}}},
								Limit: 1, Count: true})
						if err == nil && page.Total < before {
							t.Errorf("%d rows, after %d were written", page.Total, before)
						}
						return err
					})
				})
			}
		})
	}
	for i := range 30 {
		next, err := current.Load().Redefine(t.Context(), variants[(i+1)%len(variants)],
			store.Interrupted(store.Options{}, 50, func() error { return nil }))
		if err != nil {
			t.Fatal(err)
		}
		current.Store(next)
	}
	close(done)
	all.Wait()
	s := current.Load()
	item := s.Model().Type("api::item.item")
	if page := find(t, s, &store.Query{Type: item, Limit: 1, Count: true}); page.Total != int(written.Load()) {
		t.Errorf("%d rows, %d were written", page.Total, written.Load())
	}
	closeChecked(t, s)
}

// TestSettle settles a refusal while the store is in use by the migrations that the refusal names, and refuses other
// migrations. A note is stored together with the first part of the change, or not at all.
func TestSettle(t *testing.T) {
	const was = "name: {type: string}, rank: {type: integer}, kind: {type: enumeration, enum: [a, b]}"
	for _, test := range []struct {
		is     string // the attributes that the type has then
		call   string
		fails  string // part of the error
		named  int    // documents whose name is found under the attribute label
		values int    // that were removed
	}{
		{"label: {type: string}, rank: {type: integer}, kind: {type: enumeration, enum: [a, b]}",
			"rename-attribute api::item.item.name label", "", 40, 0},
		{"label: {type: text}, rank: {type: string, index: false}, kind: {type: enumeration, enum: [a, b, c]}",
			"rename-attribute api::item.item.name label", "", 40, 0},
		{"rank: {type: integer}, kind: {type: enumeration, enum: [a, b]}", "drop-attribute api::item.item.name", "", 0,
			40},
		{"kind: {type: enumeration, enum: [a, b]}", "drop-attribute api::item.item.name",
			"attribute rank of api::item.item is gone", 0, 0},
		{was, "drop-attribute api::item.item.name", evolve.ErrNotAsked.Error(), 0, 0},
		// After two renames in one edit, neither can be settled alone, and the refusal names both.
		{"label: {type: string}, grade: {type: integer}, kind: {type: enumeration, enum: [a, b]}",
			"rename-attribute api::item.item.name label rename-attribute api::item.item.rank grade", "", 40, 0},
		{"label: {type: string}, grade: {type: integer}, kind: {type: enumeration, enum: [a, b]}",
			"rename-attribute api::item.item.name label",
			"nothing was done: after rename-attribute api::item.item.name label there is more to be settled in the same call:\n" +
				"attribute rank of api::item.item is gone; 40 versions have a value for it\n" +
				"    lectern migrate DIR rename-attribute api::item.item.name label rename-attribute api::item.item.rank grade\n", 0, 0},
		{"label: {type: string}, kind: {type: enumeration, enum: [a, b]}",
			"rename-attribute api::item.item.name label drop-attribute api::item.item.rank", "", 40, 40},
		{"label: {type: string}, rank: {type: integer}, kind: {type: enumeration, enum: [a, b]}",
			"drop-attribute api::item.item.name", "", 0, 40},
		{was + ", label: {type: string}", "rename-attribute api::item.item.name label",
			"cannot be done while the server runs: the definitions still have name in api::item.item", 0, 0},
		{"label: {type: string}, rank: {type: integer}, kind: {type: enumeration, enum: [a, b]}",
			"rename-attribute api::item.item.name lable", "the definitions have no lable in api::item.item", 0, 0},
		{"label: {type: string}, rank: {type: integer}, kind: {type: enumeration, enum: [a, b]}",
			"keep-first api::item.item.name", "whether content fits after it is known only then", 0, 0},
		{"rank: {type: integer}, kind: {type: enumeration, enum: [a, b]}", "drop-attribute api::item.item.rank",
			evolve.ErrNotAsked.Error(), 0, 0},
		{"name: {type: string}, rank: {type: integer}, kind: {type: enumeration, enum: [b]}",
			"drop-value api::item.item.kind a", evolve.ErrNotAsked.Error(), 0, 0},
	} {
		s := openModel(t, filepath.Join(t.TempDir(), "content.db"), modelOf(t, contenttypes.Options{}, itemType(was)),
			store.Options{})
		item := s.Model().Type("api::item.item")
		write(t, s, func(tx *store.Tx) error {
			var b store.Batch
			for range 40 {
				b.PutRow(newRow(tx, item, tx.NewDoc(), store.Published, "",
					map[string]string{"name": `"x"`, "rank": "1", "kind": `"a"`}))
			}
			return tx.Apply(&b)
		})
		ms, err := evolve.ParseMigrations(strings.Fields(test.call))
		if err != nil {
			t.Fatal(err)
		}
		model := modelOf(t, contenttypes.Options{}, itemType(test.is))
		noted := func() (text string) {
			if err := s.ReadNote("named", func(raw []byte) error { text = string(raw); return nil }); err != nil {
				t.Error(err)
			}
			return text
		}
		options := store.Options{Notes: map[string][]byte{"named": []byte(`"yes"`)}}
		next, removed, err := s.Settle(t.Context(), ms, model, store.Interrupted(options, 7, func() error {
			if got := noted(); got != `"yes"` {
				t.Errorf("%s: the note under way: %s", test.call, got)
			}
			if page := find(t, s,
				&store.Query{Type: item, Limit: -1, Filter: store.Compare{Attr: item.Attribute("name"), Op: store.Eq,
					Values: []any{"x"}}}); len(page.Docs) != 40 {
				t.Errorf("%s: a reader sees %d under way", test.call, len(page.Docs))
			}
			return nil
		}))
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) || noted() != "" {
				t.Errorf("%s: %v, want %s; the note is %s", test.call, err, test.fails, noted())
			}
			closeChecked(t, s)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.call, err)
			closeChecked(t, s)
			continue
		}
		if removed.Values != test.values {
			t.Errorf("%s: removed %+v", test.call, removed)
		}
		if label := model.Type("api::item.item").Attribute("label"); label != nil {
			page := find(t, next, &store.Query{Type: model.Type("api::item.item"), Limit: -1,
				Filter: store.Compare{Attr: label, Op: store.Eq, Values: []any{"x"}}})
			if len(page.Docs) != test.named {
				t.Errorf("%s: %d documents, want %d", test.call, len(page.Docs), test.named)
			}
		}
		closeChecked(t, next)
	}
}
