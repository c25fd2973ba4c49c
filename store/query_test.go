package store_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// A twin is a naive store in memory: rows as maps of JSON texts.
type twin struct {
	rows   map[uint64]*twinRow // by document
	nextID uint64
}

type twinRow struct {
	doc, id uint64
	attrs   map[string]string
}

// TestQueriesAgreeWithANaiveTwin writes, rewrites and deletes rows at random, and sends the same queries to the store
// and to the twin.
func TestQueriesAgreeWithANaiveTwin(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed),
			func(t *testing.T) { compareWithTwin(t, rand.New(rand.NewPCG(seed, 1)), 500, 150) })
	}
	t.Run("small groups", func(t *testing.T) {
		defer store.CountedBy(3)()
		compareWithTwin(t, rand.New(rand.NewPCG(9, 1)), 900, 150)
	})
	t.Run("sets", func(t *testing.T) {
		defer store.SetsFrom(1)()
		compareWithTwin(t, rand.New(rand.NewPCG(13, 1)), 500, 300)
	})
	t.Run("relation cache", func(t *testing.T) {
		defer store.CacheAfter(1)()
		compareWithTwin(t, rand.New(rand.NewPCG(11, 1)), 500, 150)
	})
}

func compareWithTwin(t *testing.T, rnd *rand.Rand, writes, questions int) {
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	tw := twin{rows: map[uint64]*twinRow{}}
	for round := range 3 {
		for i := 0; i < writes; {
			n := 1 + rnd.IntN(30)
			i += n
			write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, n, round == 2) })
		}
		for range questions {
			q := randomQuery(rnd, article)
			want, got := tw.find(q), find(t, s, q)
			if want.Total != got.Total && q.Count || !slices.Equal(want.Docs, got.Docs) {
				t.Fatalf("%s\n got %v of %d\nwant %v of %d", describe(q), got.Docs, got.Total, want.Docs, want.Total)
			}
			if each := each(t, s, q); !slices.Equal(want.Docs, each) {
				t.Fatalf("Each: %s\n got %v\nwant %v", describe(q), each, want.Docs)
			}
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	for kind, n := range s.Stats().Plans {
		if n == 0 {
			t.Errorf("no query was answered by %v", store.PlanKind(kind))
		}
	}
}

// change puts or deletes n rows.
func (tw *twin) change(tx *store.Tx, ct *contenttypes.ContentType, rnd *rand.Rand, n int, shrink bool) error {
	for range n {
		var b store.Batch
		docs := make([]uint64, 0, len(tw.rows))
		for d := range tw.rows {
			docs = append(docs, d)
		}
		slices.Sort(docs)
		if len(docs) > 0 && (shrink && rnd.IntN(4) > 0 || rnd.IntN(5) == 0) {
			doc := docs[rnd.IntN(len(docs))]
			delete(tw.rows, doc)
			b.DeleteRow(ct, doc, store.Published, "en")
		} else {
			doc := uint64(0)
			if len(docs) > 0 && rnd.IntN(4) == 0 {
				doc = docs[rnd.IntN(len(docs))]
			} else {
				doc = tx.NewDoc()
			}
			attrs := randomAttrs(rnd)
			r := newRow(tx, ct, doc, store.Published, "en", attrs)
			b.PutRow(r)
			tw.nextID++
			tw.rows[doc] = &twinRow{doc: doc, id: tw.nextID, attrs: attrs}
		}
		if err := tx.Apply(&b); err != nil {
			return err
		}
	}
	return nil
}

var texts = []string{"", "a", "A", "ab", "Ab c", "é", "É", "quo\"te", "zero\x00byte", "z",
	strings.Repeat("long ", 20), strings.Repeat("long ", 20) + "b", strings.Repeat("long ", 20) + "a",
	strings.Repeat("x", 64), strings.Repeat("x", 65)}

func randomAttrs(rnd *rand.Rand) map[string]string {
	all := map[string]string{
		"title": quote(texts[rnd.IntN(len(texts))]),
		"body":  quote(texts[rnd.IntN(len(texts))]),
		"rank":  strconv.Itoa(rnd.IntN(40) - 10),
		"price": strconv.FormatFloat(float64(rnd.IntN(400))/8-20, 'f', -1, 64),
		"big":   quote(strconv.FormatInt(9007199254740990+int64(rnd.IntN(8)), 10)),
		"level": quote([]string{"low", "middle", "high"}[rnd.IntN(3)]),
		"on":    strconv.FormatBool(rnd.IntN(2) == 0),
		"day":   quote(fmt.Sprintf("20%02d-0%d-1%d", rnd.IntN(30), 1+rnd.IntN(9), rnd.IntN(10))),
		"at": quote(fmt.Sprintf("20%02d-0%d-1%dT0%d:00:00.%03dZ", rnd.IntN(3), 1+rnd.IntN(9), rnd.IntN(10),
			rnd.IntN(10), rnd.IntN(3))),
	}
	for k := range all {
		if rnd.IntN(6) == 0 {
			delete(all, k)
		}
	}
	return all
}

// quote returns a text as JSON. The texts of these tests need no other escapes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, "\x00", `\u0000`).Replace(s) + `"`
}

func unquoteText(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	return strings.NewReplacer(`\"`, `"`, `\u0000`, "\x00").Replace(s[1 : len(s)-1])
}

func randomQuery(rnd *rand.Rand, ct *contenttypes.ContentType) *store.Query {
	q := &store.Query{Type: ct, Locales: store.LocaleSet{Codes: []string{"en"}}, Count: rnd.IntN(2) == 0,
		Limit: rnd.IntN(30) - 1, Offset: rnd.IntN(60)}
	if rnd.IntN(2) == 0 {
		q.Offset = 0
	}
	if q.Limit < 0 {
		q.Offset = 0
	}
	if rnd.IntN(5) > 0 {
		q.Filter = randomFilter(rnd, ct, 2)
	}
	names := []string{"title", "body", "rank", "price", "big", "level", "on", "day", "at", "id"}
	for range rnd.IntN(3) {
		q.Sort = append(q.Sort,
			store.SortKey{Path: []*contenttypes.Attribute{ct.Attribute(names[rnd.IntN(len(names))])},
				Desc: rnd.IntN(2) == 0})
	}
	return q
}

func randomFilter(rnd *rand.Rand, ct *contenttypes.ContentType, depth int) store.Filter {
	if depth > 0 && rnd.IntN(2) == 0 {
		list := make([]store.Filter, 1+rnd.IntN(3))
		for i := range list {
			list[i] = randomFilter(rnd, ct, depth-1)
		}
		switch rnd.IntN(4) {
		case 0:
			return store.Or(list)
		case 1:
			return store.Not{Filter: list[0]}
		}
		return store.And(list)
	}
	names := []string{"title", "title", "body", "rank", "price", "big", "level", "on", "day", "at", "id"}
	name := names[rnd.IntN(len(names))]
	c := store.Compare{Attr: ct.Attribute(name), Op: store.Op(rnd.IntN(int(store.NotNull) + 1))}
	if name == "id" && c.Op >= store.Contains && c.Op <= store.EndsWithI {
		c.Op = store.Eq
	}
	n := 1
	switch c.Op {
	case store.In, store.NotIn:
		n = rnd.IntN(4)
	case store.Between:
		n = 2
	case store.Null, store.NotNull:
		n = 0
	}
	for range n {
		c.Values = append(c.Values, randomValue(rnd, name, c.Op))
	}
	return c
}

func randomValue(rnd *rand.Rand, name string, op store.Op) any {
	if rnd.IntN(12) == 0 {
		return nil
	}
	if name == "id" {
		return float64(rnd.IntN(900))
	}
	text := ""
	for text == "" {
		text = randomAttrs(rnd)[name]
	}
	if op >= store.Contains && op <= store.EndsWithI {
		text = unquoteText(text)
		if len(text) > 1 && text[0] < 0x80 && rnd.IntN(2) == 0 {
			text = text[:1+rnd.IntN(min(3, len(text)-1))]
		}
		return text
	}
	switch name {
	case "rank", "price":
		f, _ := strconv.ParseFloat(text, 64) // made by randomAttrs
		return f
	case "big":
		n, _ := strconv.ParseInt(unquoteText(text), 10, 64) // made by randomAttrs
		return n
	case "on":
		return text == "true"
	}
	return unquoteText(text)
}

// find answers a query by looking at every row.
func (tw *twin) find(q *store.Query) found {
	var list []*twinRow
	for _, r := range tw.rows {
		if q.Filter == nil || truth(q.Filter, r) == 1 {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y *twinRow) int {
		for _, k := range q.Sort {
			c := order(x, y, k.Path[0])
			if k.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(x.id, y.id)
	})
	f := found{Total: len(list)}
	for i, r := range list {
		if i >= q.Offset && (q.Limit < 0 || len(f.Docs) < q.Limit) {
			f.Docs = append(f.Docs, r.doc)
		}
	}
	return f
}

func order(x, y *twinRow, a *contenttypes.Attribute) int {
	if a.Name == "id" {
		return cmp.Compare(x.id, y.id)
	}
	vx, okx := x.attrs[a.Name]
	vy, oky := y.attrs[a.Name]
	if !okx || !oky {
		return cmp.Compare(btoi(okx), btoi(oky))
	}
	return compareTexts(a.Name, vx, vy)
}

func compareTexts(name, x, y string) int {
	switch name {
	case "rank", "price", "id":
		fx, _ := strconv.ParseFloat(x, 64) // made by randomAttrs
		fy, _ := strconv.ParseFloat(y, 64) // made by randomAttrs
		return cmp.Compare(fx, fy)
	}
	return bytes.Compare([]byte(unquoteText(x)), []byte(unquoteText(y)))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// truth is the value of a filter in three-valued logic: 1 true, 0 unknown, -1 false.
func truth(f store.Filter, r *twinRow) int {
	switch f := f.(type) {
	case store.And:
		v := 1
		for _, x := range f {
			v = min(v, truth(x, r))
		}
		return v
	case store.Or:
		v := -1
		for _, x := range f {
			v = max(v, truth(x, r))
		}
		return v
	case store.Not:
		return -truth(f.Filter, r)
	case store.Compare:
		return compareTruth(f, r)
	}
	panic(fmt.Sprintf("filter %T", f))
}

func compareTruth(c store.Compare, r *twinRow) int {
	raw, ok := r.attrs[c.Attr.Name]
	if c.Attr.Name == "id" {
		raw, ok = strconv.FormatUint(r.id, 10), true
	}
	isNil := len(c.Values) == 1 && c.Values[0] == nil
	switch {
	case c.Op == store.Null || c.Op == store.Eq && isNil:
		return 1 - 2*btoi(ok)
	case c.Op == store.NotNull || c.Op == store.Ne && isNil:
		return 2*btoi(ok) - 1
	case !ok:
		return 0
	}
	is := func(b bool) int { return 2*btoi(b) - 1 }
	text := unquoteText(raw)
	one := func(v any) int {
		if c.Attr.Name == "on" {
			return cmp.Compare(btoi(raw == "true"), btoi(v == true))
		}
		return compareTexts(c.Attr.Name, raw, fmt.Sprint(v))
	}
	in := func() bool { return slices.ContainsFunc(c.Values, func(v any) bool { return v != nil && one(v) == 0 }) }
	hasNil := slices.Contains(c.Values, nil)
	switch {
	case c.Op == store.In && hasNil && !in():
		return 0
	case c.Op == store.In:
		return is(in())
	case c.Op == store.NotIn && in():
		return -1
	case hasNil:
		return 0
	case c.Op == store.NotIn:
		return is(!in())
	case c.Op == store.Between:
		return is(one(c.Values[0]) >= 0 && one(c.Values[1]) <= 0)
	}
	v := c.Values[0]
	low, needle := strings.ToLower(text), strings.ToLower(fmt.Sprint(v))
	s := fmt.Sprint(v)
	switch c.Op {
	case store.Eq:
		return is(one(v) == 0)
	case store.Ne:
		return is(one(v) != 0)
	case store.Lt:
		return is(one(v) < 0)
	case store.Lte:
		return is(one(v) <= 0)
	case store.Gt:
		return is(one(v) > 0)
	case store.Gte:
		return is(one(v) >= 0)
	case store.EqI, store.NeI:
		equal := one(v) == 0
		if _, isText := v.(string); isText {
			equal = low == needle
		}
		return is(equal == (c.Op == store.EqI))
	case store.Contains, store.NotContains:
		return is(strings.Contains(text, s) == (c.Op == store.Contains))
	case store.ContainsI, store.NotContainsI:
		return is(strings.Contains(low, needle) == (c.Op == store.ContainsI))
	case store.StartsWith:
		return is(strings.HasPrefix(text, s))
	case store.StartsWithI:
		return is(strings.HasPrefix(low, needle))
	case store.EndsWith:
		return is(strings.HasSuffix(text, s))
	case store.EndsWithI:
		return is(strings.HasSuffix(low, needle))
	}
	panic(fmt.Sprintf("operator %d", c.Op))
}

func describe(q *store.Query) string {
	var b strings.Builder
	fmt.Fprintf(&b, "offset %d limit %d count %v sort", q.Offset, q.Limit, q.Count)
	for _, k := range q.Sort {
		fmt.Fprintf(&b, " %s desc=%v", k.Path[0].Name, k.Desc)
	}
	b.WriteString(" where ")
	describeFilter(&b, q.Filter)
	return b.String()
}

func describeFilter(b *strings.Builder, f store.Filter) {
	switch f := f.(type) {
	case nil:
		b.WriteString("anything")
	case store.Compare:
		fmt.Fprintf(b, "%s op%d %q", f.Attr.Name, f.Op, f.Values)
	case store.Not:
		b.WriteString("not ")
		describeFilter(b, f.Filter)
	case store.And:
		for _, x := range f {
			b.WriteString(" and(")
			describeFilter(b, x)
			b.WriteString(")")
		}
	case store.Or:
		for _, x := range f {
			b.WriteString(" or(")
			describeFilter(b, x)
			b.WriteString(")")
		}
	}
}
