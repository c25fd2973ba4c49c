package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// questions are reads of a store, each in a snapshot of its own, with the answer as a text.
func questions(model *contenttypes.Model) []func(*store.Snapshot) (string, error) {
	article, tag := model.Type("api::article.article"), model.Type("api::tag.tag")
	tags := article.Attribute("tags")
	en := store.LocaleSet{Codes: []string{"en"}}
	print := func(list []store.Record, t *contenttypes.ContentType) string {
		var b strings.Builder
		for _, r := range list {
			fmt.Fprintf(&b, "%s\n", r.AppendFields(nil, scalars(t), true))
		}
		return b.String()
	}
	find := func(q store.Query) func(*store.Snapshot) (string, error) {
		return func(s *store.Snapshot) (string, error) {
			page, err := s.Find(&q)
			return fmt.Sprint(page.Total, print(page.Rows, q.Type)), err
		}
	}
	var list []func(*store.Snapshot) (string, error)
	for offset := 0; offset < 600; offset += 60 {
		list = append(list,
			find(store.Query{Type: article, Locales: en, Offset: offset, Limit: 60, Count: true}),
			find(store.Query{Type: article, Locales: en, Offset: offset, Limit: 60,
				Sort: []store.SortKey{{Path: []*contenttypes.Attribute{article.Attribute("rank")}, Desc: true}}}),
			find(store.Query{Type: tag, Offset: offset, Limit: 60, Count: true}),
			func(s *store.Snapshot) (string, error) {
				var rows []store.Record
				for doc := offset; doc < offset+60; doc++ {
					rows = append(rows, s.Version(article, uint64(doc+1), store.Published, "en"))
				}
				var all store.Related
				if err := s.RelatedAll(rows, tags, store.Published, nil, &all); err != nil {
					return "", err
				}
				var b strings.Builder
				for i := range rows {
					for _, row := range all.Of(i) {
						fmt.Fprintln(&b, i, print(all.Rows[row:row+1], tag))
					}
				}
				return b.String(), nil
			},
			func(s *store.Snapshot) (string, error) {
				var b strings.Builder
				for doc := offset; doc < offset+60; doc += 7 {
					r := s.Version(article, uint64(doc+1), store.Published, "en")
					known, ok := s.Document(article, strings.Trim(string(r.JSON(article.Attribute("documentId"))), `"`))
					_, there := s.Document(article, fmt.Sprintf("nobody%d", doc))
					fmt.Fprintln(&b, known, ok, there)
				}
				return b.String(), nil
			})
	}
	return list
}

func scalars(t *contenttypes.ContentType) (list []*contenttypes.Attribute) {
	for _, a := range t.Attributes {
		if a.IsScalar() {
			list = append(list, a)
		}
	}
	return list
}

// answers asks a store all questions. The answer is "" if the store returns an error.
func answers(t *testing.T, s *store.Store) (list []string) {
	t.Helper()
	for i, ask := range questions(s.Model()) {
		var text string
		err := s.View(func(snap *store.Snapshot) (err error) {
			text, err = ask(snap)
			return err
		})
		switch {
		case errors.Is(err, store.ErrCorrupt):
			text = ""
		case err != nil:
			t.Errorf("question %d: %v", i, err)
		}
		list = append(list, text)
	}
	return list
}

// damagedRows is the number of rows in the stores that are damaged.
const damagedRows = 1200

// TestFlippedBits flips a bit in copies of a store. Every question must be answered as before or with an error. Once
// the damage was noticed, writes must be refused. Problems and Verify must report it, and Salvage must save everything
// that the bit is not part of.
func TestFlippedBits(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "content.db")
	s := open(t, path)
	fillTagged(t, s, damagedRows/2)
	want := answers(t, s)
	closeChecked(t, s)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used, size := usedBytes(t, path), os.Getpagesize()
	const copies = 200
	refused, unanswered, noticed := 0, 0, 0
	for seed := range copies {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		bit := rnd.IntN(int(used) * 8)
		name := fmt.Sprintf("bit %d of page %d", bit%(size*8), bit/8/size)
		damaged := filepath.Join(dir, "damaged.db")
		content := append([]byte(nil), whole...)
		content[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(damaged, content, 0o600); err != nil {
			t.Fatal(err)
		}
		problems, err := store.ProblemsOf(t.Context(), damaged)
		if err != nil && bit/8 >= 2*size {
			t.Errorf("%s: %v", name, err)
		}
		found := len(problems) > 0 || err != nil
		if found {
			noticed++
		}
		s, err := store.Open(damaged, loadModel(t), store.Options{})
		if err != nil {
			refused++
			if !found {
				t.Errorf("%s: refused (%v), and no problems", name, err)
			}
		} else {
			failed := compareAnswers(t, name, answers(t, s), want)
			if failed > 0 {
				unanswered++
				if h := s.Health(); h.State != store.Damaged {
					t.Errorf("%s: %d questions failed, and the store is %s", name, failed, h.State)
				}
				if !found {
					t.Errorf("%s: %d questions failed, and no problems", name, failed)
				}
			}
			if err := s.View(func(snap *store.Snapshot) error { return snap.Verify(t.Context()) }); (err != nil) != found && bit/8 >= 2*size {
				t.Errorf("%s: %d problems, and Verify says %v", name, len(problems), err)
			}
			writeDamaged(t, name, s)
			if s.Health().State == store.Sound {
				compareAnswers(t, name+", after a write", answers(t, s)[5:], want[5:])
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := os.WriteFile(damaged, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		salvaged := filepath.Join(dir, "salvaged.db")
		saved, err := store.SalvageTo(t.Context(), damaged, salvaged)
		if err != nil {
			t.Errorf("%s: salvage: %v", name, err)
			continue
		}
		if saved.Rows < damagedRows-1 || saved.Rows+len(saved.Lost) != damagedRows {
			t.Errorf("%s: %d rows of %d are saved, %d lost: %v", name, saved.Rows, damagedRows, len(saved.Lost),
				saved.Lost)
		}
		if len(saved.Lost) == 0 {
			s := open(t, salvaged)
			if failed := compareAnswers(t, name+", salvaged", answers(t, s), want); failed > 0 {
				t.Errorf("%s: %d questions fail on what is saved", name, failed)
			}
			closeChecked(t, s)
		}
		for _, path := range []string{salvaged, store.MarkerPath(salvaged)} {
			_ = os.Remove(path)
		}
	}
	t.Logf("%d copies: %d with problems, %d refused, %d with questions that were not answered", copies, noticed,
		refused, unanswered)
	if noticed < copies/4 || unanswered < copies/10 {
		t.Errorf("of %d copies %d have problems and %d fail to answer: the test has no force", copies, noticed,
			unanswered)
	}
}

// compareAnswers counts the questions that failed, and reports answers that differ.
func compareAnswers(t *testing.T, name string, got, want []string) (failed int) {
	t.Helper()
	for i := range got {
		switch {
		case got[i] == "":
			failed++
		case got[i] != want[i]:
			t.Errorf("%s: question %d is answered %.200q, and should be %.200q", name, i, got[i], want[i])
		}
	}
	return failed
}

// writeDamaged writes to a store that may be damaged.
func writeDamaged(t *testing.T, name string, s *store.Store) {
	t.Helper()
	before := s.Health().State
	tag := s.Model().Type("api::tag.tag")
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		var b store.Batch
		b.PutRow(newRow(tx, tag, tx.NewDoc(), store.Draft, "", nil))
		return tx.Apply(&b)
	})
	switch {
	case err == nil && before == store.Damaged:
		t.Errorf("%s: a damaged store takes writes", name)
	case err != nil && !errors.Is(err, store.ErrDamaged):
		t.Errorf("%s: write: %v", name, err)
	}
}

// TestCutOffWhileOpen truncates the file of an open store. Reads of the missing part must return an error, and must not
// end the process.
func TestCutOffWhileOpen(t *testing.T) {
	defer store.CacheAfter(1)()
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	fillTagged(t, s, damagedRows/2)
	want := answers(t, s)
	if failed := compareAnswers(t, "before", answers(t, s), want); failed > 0 {
		t.Fatal("questions fail before the file is cut off")
	}
	var used int64
	if err := s.View(func(snap *store.Snapshot) error { used = snap.Size(); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, used/8); err != nil {
		t.Fatal(err)
	}
	failed := compareAnswers(t, "after", answers(t, s), want)
	if failed == 0 || s.Health().State != store.Damaged {
		t.Errorf("%d questions fail, and the store is %s", failed, s.Health().State)
	}
	writeDamaged(t, "after", s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestDamagedWhileOpen flips bits in the file of an open store that has read all of it. They are found when its pages
// are checked again.
func TestDamagedWhileOpen(t *testing.T) {
	defer store.CacheAfter(1)()
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	fillTagged(t, s, damagedRows/2)
	want := answers(t, s)
	answers(t, s) // from the relation cache
	flip(t, path, []byte(documentID(300)))
	s.Doubt()
	if failed := compareAnswers(t, "after", answers(t, s), want); failed == 0 || s.Health().State != store.Damaged {
		t.Errorf("%d questions fail, and the store is %s", failed, s.Health().State)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestPanicsOfCallers expects that a panic of the caller, also one from a memory fault of its own, passes through the
// store unchanged and does not mark the store as damaged.
func TestPanicsOfCallers(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "content.db"))
	for kind, do := range map[string]func(){
		"panic": func() { panic("mine") },
		"nil":   func() { var r *store.Row; _ = r.Doc },
		"bound": func() { var list []int; _ = list[len(s.Path())] },
	} {
		t.Run(kind, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not come out of View")
				}
				if h := s.Health(); h.State != store.Sound {
					t.Errorf("the store is %s: %v", h.State, h.Err)
				}
			}()
			_ = s.View(func(*store.Snapshot) error { do(); return nil })
		})
	}
}
