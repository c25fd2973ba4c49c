package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/cases"

	"lectern/contenttypes"
	"lectern/store"
)

const textItem = "name: {type: string}, note: {type: text, index: text}, rank: {type: integer}, " +
	"kind: {type: enumeration, enum: [a, SS, word, Words]}"

// A textRow is a row of a naive evaluator.
type textRow struct{ name, note, kind *string }

var letters = []string{"a", "A", "b", "ab", "ß", "ss", "SS", "İ", "i̇", "é", "e\u0301", "É", "\u212a", "k", "Σ", "ς", "ﬁ",
	"fi", "日本", "\x00", "\"", "\\", " ", "word", "Word", "\U0001F600"}

var kinds = []string{"a", "SS", "word", "Words"}

func randomText(rnd *rand.Rand, most int) string {
	var b strings.Builder
	for range rnd.IntN(most + 1) {
		b.WriteString(letters[rnd.IntN(len(letters))])
	}
	return b.String()
}

// meets is the naive evaluation of a comparison.
func meets(op store.Op, text, needle string) bool {
	fold := cases.Fold()
	switch op {
	case store.Contains:
		return strings.Contains(text, needle)
	case store.ContainsI:
		return strings.Contains(fold.String(text), fold.String(needle))
	case store.StartsWith:
		return strings.HasPrefix(text, needle)
	case store.StartsWithI:
		return strings.HasPrefix(fold.String(text), fold.String(needle))
	case store.EndsWith:
		return strings.HasSuffix(text, needle)
	case store.EndsWithI:
		return strings.HasSuffix(fold.String(text), fold.String(needle))
	}
	return fold.String(text) == fold.String(needle)
}

// TestTextsAgreeWithANaiveEvaluator writes, changes and deletes rows at random, while the list of texts to be indexed
// is short, and compares the answers to questions for parts of texts, of their beginnings and ends, also within
// transactions. Many must be answered by the text index.
func TestTextsAgreeWithANaiveEvaluator(t *testing.T) {
	for seed, listed := range []int{0, 1, 7, 60} {
		t.Run(fmt.Sprint("list of ", listed), func(t *testing.T) {
			defer store.ListedBy(listed)()
			compareTextRows(t, rand.New(rand.NewPCG(uint64(seed), 37)))
		})
	}
}

func compareTextRows(t *testing.T, rnd *rand.Rand) {
	s := openModel(t, filepath.Join(t.TempDir(), "content.db"), modelOf(t, contenttypes.Options{}, itemType(textItem)),
		store.Options{})
	defer closeChecked(t, s)
	item := s.Model().Type("api::item.item")
	rows := map[uint64]textRow{}
	asked := 0
	for round := range 25 {
		write(t, s, func(tx *store.Tx) error {
			for range 1 + rnd.IntN(60) {
				if err := changeText(tx, item, rnd, rows); err != nil {
					return err
				}
				if rnd.IntN(20) == 0 {
					compareAnswer(t, tx.Snapshot, item, rnd, rows)
				}
			}
			return nil
		})
		if err := s.View(func(snap *store.Snapshot) error {
			for range 30 {
				compareAnswer(t, snap, item, rnd, rows)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if asked += 30; round%8 == 0 {
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := s.Stats().Texts; n < uint64(asked)/2 {
		t.Errorf("%d questions read only %d entries of text indexes", asked, n)
	}
}

// changeText puts, changes or deletes one row.
func changeText(tx *store.Tx, item *contenttypes.ContentType, rnd *rand.Rand, rows map[uint64]textRow) error {
	var b store.Batch
	doc := uint64(1 + rnd.IntN(200))
	if _, there := rows[doc]; there && rnd.IntN(4) == 0 {
		delete(rows, doc)
		b.DeleteRow(item, doc, store.Published, "")
		return tx.Apply(&b)
	}
	row, values := rows[doc], map[string]string{}
	for name, text := range map[string]**string{"name": &row.name, "note": &row.note, "kind": &row.kind} {
		if rnd.IntN(2) == 0 {
			made := randomText(rnd, 8)
			if name == "kind" {
				made = kinds[rnd.IntN(len(kinds))]
			}
			if *text = &made; rnd.IntN(5) == 0 {
				*text = nil
			}
		}
		if *text != nil {
			raw, err := json.Marshal(**text)
			if err != nil {
				return err
			}
			values[name] = string(raw)
		}
	}
	rows[doc] = row
	b.PutRow(newRow(tx, item, doc, store.Published, "", values))
	return tx.Apply(&b)
}

// compareAnswer asks one question. It goes on after a failure, since it may run in the goroutine of a transaction.
func compareAnswer(t *testing.T, snap *store.Snapshot, item *contenttypes.ContentType, rnd *rand.Rand,
	rows map[uint64]textRow) {
	t.Helper()
	ops := []store.Op{store.Contains, store.ContainsI, store.StartsWith, store.StartsWithI, store.EndsWith,
		store.EndsWithI, store.EqI}
	op, needle := ops[rnd.IntN(len(ops))], randomText(rnd, 3)
	asked := []string{"name"}
	var filter store.Filter = store.Compare{Attr: item.Attribute("name"), Op: op, Values: []any{needle}}
	switch rnd.IntN(5) {
	case 0:
		asked, op = []string{"name", "note", "kind"}, store.ContainsI
		search := store.Search{Text: needle}
		for _, name := range asked {
			search.Attrs = append(search.Attrs, item.Attribute(name))
		}
		filter = search
	case 1:
		asked, filter = []string{"kind"}, store.Compare{Attr: item.Attribute("kind"), Op: op, Values: []any{needle}}
	}
	var want, got []uint64
	for doc, r := range rows {
		texts := map[string]*string{"name": r.name, "note": r.note, "kind": r.kind}
		if slices.ContainsFunc(asked, func(name string) bool {
			return texts[name] != nil && meets(op, *texts[name], needle)
		}) {
			want = append(want, doc)
		}
	}
	page, err := snap.Find(&store.Query{Type: item, Filter: filter, Count: true, Limit: -1})
	if err != nil {
		t.Error(err)
		return
	}
	for _, r := range page.Rows {
		got = append(got, r.Doc())
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) || page.Total != len(want) {
		t.Errorf("%d %q in %v\n got %v of %d\nwant %v", op, needle, asked, got, page.Total, want)
	}
}

// TestTextIndexIsBuilt opens a store under definitions that ask for a text index, and then under others that do not.
func TestTextIndexIsBuilt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	for i, test := range []struct {
		attributes string
		indexed    bool
	}{
		{"name: {type: string, index: true}", false},
		{"name: {type: string}", true},
		{"name: {type: text, index: text}", true},
		{"name: {type: string, index: false}", false},
		{"name: {type: text, index: text}", true},
	} {
		s := openModel(t, path, modelOf(t, contenttypes.Options{}, itemType(test.attributes+", rank: {type: integer}")),
			store.Options{})
		if i == 0 {
			fillItems(t, s, 2500)
		}
		item, before := s.Model().Type("api::item.item"), s.Stats().Texts
		got := find(t, s, &store.Query{Type: item, Count: true, Limit: -1, Filter: store.Compare{
			Attr: item.Attribute("name"), Op: store.Contains, Values: []any{"m 01042"}}})
		if got.Total != 1 {
			t.Errorf("%s: found %d", test.attributes, got.Total)
		}
		if indexed := s.Stats().Texts > before; indexed != test.indexed {
			t.Errorf("%s: the text index answered: %v, want %v", test.attributes, indexed, test.indexed)
		}
		fillItems(t, s, 20) // some rows stay on the list
		closeChecked(t, s)
	}
}

// TestSearchTestsValuesOfEnumerations searches for what one of many rows has. It visits few entries of an enumeration.
func TestSearchTestsValuesOfEnumerations(t *testing.T) {
	s := openModel(t, filepath.Join(t.TempDir(), "content.db"), modelOf(t, contenttypes.Options{}, itemType(textItem)),
		store.Options{})
	defer closeChecked(t, s)
	item := s.Model().Type("api::item.item")
	const n = 2500
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range n {
			b.PutRow(newRow(tx, item, tx.NewDoc(), store.Published, "", map[string]string{
				"name": fmt.Sprintf(`"name %05d"`, i), "kind": fmt.Sprintf("%q", kinds[i%2+1])}))
		}
		return tx.Apply(&b)
	})
	before := s.Stats()
	for needle, want := range map[string]int{"e 01042": 1, "ss": n / 2, "none": 0} {
		got := find(t, s, &store.Query{Type: item, Count: true, Limit: 5, Filter: store.Search{Text: needle,
			Attrs: []*contenttypes.Attribute{item.Attribute("name"), item.Attribute("kind")}}})
		if got.Total != want {
			t.Errorf("%q: found %d, want %d", needle, got.Total, want)
		}
	}
	after := s.Stats()
	if after.Plans[store.FullScan] > before.Plans[store.FullScan] || after.Rows-before.Rows > n/10 {
		t.Errorf("%d rows were read, in %d scans of all", after.Rows-before.Rows,
			after.Plans[store.FullScan]-before.Plans[store.FullScan])
	}
}

// TestWritesListTexts expects a write of a text to change no block of the text index until the list is full, and
// queries to find it nevertheless.
func TestWritesListTexts(t *testing.T) {
	defer store.ListedBy(3)()
	s := openModel(t, filepath.Join(t.TempDir(), "content.db"), modelOf(t, contenttypes.Options{}, itemType(textItem)),
		store.Options{})
	defer closeChecked(t, s)
	item := s.Model().Type("api::item.item")
	for n, want := range []int{1, 2, 3, 0, 1} {
		write(t, s, func(tx *store.Tx) error {
			var b store.Batch
			b.PutRow(newRow(tx, item, tx.NewDoc(), store.Published, "",
				map[string]string{"name": fmt.Sprintf(`"text %d"`, n)}))
			return tx.Apply(&b)
		})
		if err := s.View(func(snap *store.Snapshot) error {
			if got := snap.Unindexed(); got != want {
				t.Errorf("after write %d: %d rows are listed, want %d", n+1, got, want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
