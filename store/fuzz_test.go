package store_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"lectern/store"
)

// FuzzFilter asks a store and its twin the same random query. For any filter, sort and page they must give the same
// answer.
func FuzzFilter(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed*7)
	}
	s := newStore(f)
	article := s.Model().Type("api::article.article")
	tw := twin{rows: map[uint64]*twinRow{}}
	rnd := rand.New(rand.NewPCG(3, 4))
	write(f, s, func(tx *store.Tx) error {
		tw = twin{rows: map[uint64]*twinRow{}}
		return tw.change(tx, article, rnd, 600, false)
	})
	f.Fuzz(func(t *testing.T, a, b uint64) {
		q := randomQuery(rand.New(rand.NewPCG(a, b)), article)
		want, got := tw.find(q), find(t, s, q)
		if q.Count && want.Total != got.Total || !slices.Equal(want.Docs, got.Docs) {
			t.Fatalf("%s\n got %v of %d\nwant %v of %d", describe(q), got.Docs, got.Total, want.Docs, want.Total)
		}
	})
}

// FuzzRow writes rows of arbitrary bytes, as scalars and in components, and expects to read the same bytes.
func FuzzRow(f *testing.F) {
	f.Add([]byte(`"a"`), []byte("1"), []byte(`"word"`), uint8(3))
	f.Add([]byte{}, []byte(`"\u0000"`), []byte{}, uint8(0))
	s := newStore(f)
	article, line := s.Model().Type("api::article.article"), s.Model().Component("part.line")
	rollBack := errors.New("roll back")
	f.Fuzz(func(t *testing.T, body, on, word []byte, items uint8) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := s.Write(context.Background(), func(tx *store.Tx) error {
			r := newRow(tx, article, tx.NewDoc(), store.Draft, "en", nil)
			r.Values[article.Attribute("body").Index].JSON = body
			r.Values[article.Attribute("on").Index].JSON = on
			for i := range items {
				item := &store.Item{Component: line, ID: tx.NewComponentID(),
					Values: make([]store.Value, len(line.Attributes))}
				if i%2 == 0 {
					item.Values[line.Attribute("word").Index].JSON = word
				}
				r.Values[article.Attribute("parts").Index].Items = append(
					r.Values[article.Attribute("parts").Index].Items, item)
			}
			var b store.Batch
			b.PutRow(r)
			if err := tx.Apply(&b); err != nil {
				return err
			}
			read := tx.Version(article, r.Doc, store.Draft, "en")
			if !bytes.Equal(read.JSON(article.Attribute("body")), body) ||
				!bytes.Equal(read.JSON(article.Attribute("on")), on) {
				t.Errorf("read %q and %q", read.JSON(article.Attribute("body")), read.JSON(article.Attribute("on")))
			}
			back := read.Decode()
			parts := back.Values[article.Attribute("parts").Index].Items
			if len(parts) != int(items) || back.Doc != r.Doc || back.Locale != "en" || back.Status != store.Draft {
				t.Errorf("%d parts of document %d, want %d of %d", len(parts), back.Doc, items, r.Doc)
			}
			for i, p := range parts {
				want := word
				if i%2 == 1 {
					want = nil
				}
				if !bytes.Equal(p.Values[line.Attribute("word").Index].JSON, want) {
					t.Errorf("part %d is %q, want %q", i, p.Values[line.Attribute("word").Index].JSON, want)
				}
			}
			return rollBack
		})
		runtime.ReadMemStats(&after)
		size := uint64(len(body) + len(on) + int(items)*len(word))
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+4096*uint64(items)+100*size {
			t.Errorf("a row of %d bytes and %d items takes %d bytes of memory", size, items, used)
		}
		if !errors.Is(err, rollBack) {
			t.Fatal(err)
		}
	})
}

// TestWorkOfQueries checks how many rows and index entries each kind of query reads at most, whatever the number of
// rows.
func TestWorkOfQueries(t *testing.T) {
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	const n = 4000
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range n {
			b.PutRow(newRow(tx, article, tx.NewDoc(), store.Published, "en", map[string]string{
				"title": strconv.Quote("title " + strconv.Itoa(i)), "rank": strconv.Itoa(i * 3761 % n),
				"level": []string{`"low"`, `"middle"`, `"high"`}[i%3],
			}))
		}
		return tx.Apply(&b)
	})
	attr := article.Attribute
	sorted := []store.SortKey{{Path: article.Attributes[attr("rank").Index : attr("rank").Index+1]}}
	for _, c := range []struct {
		name                 string
		query                store.Query
		rows, entries, seeks uint64
	}{
		{"a page in order of id", store.Query{Count: true}, 25, 25, 5},
		{"a deep page", store.Query{Count: true, Offset: n - 100}, 25, 25, 5},
		{"equality on a unique value",
			store.Query{Count: true,
				Filter: store.Compare{Attr: attr("title"), Op: store.Eq, Values: []any{"title 77"}}}, 1, 1, 5},
		{"a third of all, counted",
			store.Query{Count: true, Filter: store.Compare{Attr: attr("level"), Op: store.Eq, Values: []any{"low"}}},
			25, 25, 30},
		{"sorted by an index", store.Query{Count: true, Sort: sorted}, 25, 25, 30},
		{"sorted by an index, deep page", store.Query{Count: true, Sort: sorted, Offset: n / 2}, 25, 25, 30},
		{"a range, not counted",
			store.Query{Filter: store.Compare{Attr: attr("rank"), Op: store.Gte, Values: []any{n / 2.0}}}, 60, 60, 10},
		{"two conditions, not counted", store.Query{Filter: store.And{
			store.Compare{Attr: attr("rank"), Op: store.Gte, Values: []any{n / 2.0}},
			store.Compare{Attr: attr("level"), Op: store.Eq, Values: []any{"high"}},
		}}, 170, 170, 10},
		{"a text within, of an index alone",
			store.Query{Count: true, Filter: store.Compare{Attr: attr("title"), Op: store.ContainsI,
				Values: []any{"LE 399"}}}, 11, n, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.query.Type, c.query.Locales, c.query.Limit = article, store.LocaleSet{Codes: []string{"en"}}, 25
			before := s.Stats()
			find(t, s, &c.query)
			after := s.Stats()
			rows, entries, seeks := after.Rows-before.Rows, after.Entries-before.Entries, after.Seeks-before.Seeks
			if rows > c.rows || entries > c.entries || seeks > c.seeks {
				t.Errorf("read %d rows, %d entries, %d seeks; at most %d, %d, %d", rows, entries, seeks, c.rows,
					c.entries, c.seeks)
			}
		})
	}
}
