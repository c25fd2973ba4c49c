package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/store"
)

// sightModel has types with and without drafts, which lead to each other in all ways: from either side of a relation,
// from components, and to documents of several types.
var sightModel = fstest.MapFS{
	"content-types/a.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: a, pluralName: as, displayName: A}
options: {draftAndPublish: true}
attributes:
  n: {type: integer}
  text: {type: text}
  bs: {type: relation, relation: manyToMany, target: "api::b.b", inversedBy: as}
  cs: {type: relation, relation: manyToMany, target: "api::c.c", inversedBy: as}
  any: {type: relation, relation: morphToMany}
  parts: {type: component, repeatable: true, component: part.part}
`)},
	"content-types/b.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: b, pluralName: bs, displayName: B}
options: {draftAndPublish: true}
attributes:
  n: {type: integer}
  text: {type: text}
  as: {type: relation, relation: manyToMany, target: "api::a.a", mappedBy: bs}
  next: {type: relation, relation: manyToMany, target: "api::b.b", inversedBy: former}
  former: {type: relation, relation: manyToMany, target: "api::b.b", mappedBy: next}
`)},
	"content-types/c.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: c, pluralName: cs, displayName: C}
options: {draftAndPublish: false}
attributes:
  n: {type: integer}
  text: {type: text}
  as: {type: relation, relation: manyToMany, target: "api::a.a", mappedBy: cs}
  bs: {type: relation, relation: manyToMany, target: "api::b.b"}
  next: {type: relation, relation: manyToMany, target: "api::c.c", inversedBy: former}
  former: {type: relation, relation: manyToMany, target: "api::c.c", mappedBy: next}
`)},
	"components/part/part.yaml": {Data: []byte(`
info: {displayName: Part}
attributes:
  n: {type: integer}
  text: {type: text}
  b: {type: relation, relation: oneToMany, target: "api::b.b"}
`)},
}

// A sightRow is a version of a document, or a component in one, in the memory of the test. The row nil has no values.
type sightRow struct {
	schema *contenttypes.Schema
	typ    *contenttypes.ContentType // nil: a component
	ref    store.Ref
	id     uint64
	n      int // negative: null
	parts  []*sightRow
}

// A graph is a naive store of such rows and the links between them.
type graph struct {
	model *contenttypes.Model
	rnd   *rand.Rand
	rows  map[store.Status]map[uint64]*sightRow // by status and document
	seen  map[*store.Sight]sight                // what was given to the store
	links map[*contenttypes.Attribute]map[store.LinkSet][]store.Link
}

// TestSightAgreesWithANaiveModel asks random questions about random graphs, with random limits on what is seen behind
// relations, and expects the answers of a naive evaluation.
func TestSightAgreesWithANaiveModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			if seed%2 == 1 {
				defer store.CacheAfter(0)()
			}
			if seed >= 2 {
				defer store.SetsFrom(1)()
			}
			m, problems := contenttypes.LoadFS(sightModel, contenttypes.Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			s := openModel(t, filepath.Join(t.TempDir(), "content.db"), m, store.Options{})
			t.Cleanup(func() { closeChecked(t, s) })
			g := &graph{model: m, rnd: rand.New(rand.NewPCG(seed, 31))}
			g.fill(t, s)
			if err := s.View(func(*store.Snapshot) error { return nil }); err != nil {
				t.Fatal(err)
			}
			var asked []*store.Query
			for range 150 {
				asked = append(asked, g.question())
				g.ask(t, s, asked[len(asked)-1])
			}
			for range 3 { // what is kept of the former answers must not be used
				g.change(t, s)
				for _, q := range asked[:50] {
					g.ask(t, s, q)
				}
			}
			if err := s.View(g.relate); err != nil {
				t.Error(err)
			}
			if done := s.Stats(); seed >= 2 && (done.KeptSets == 0 || done.Plans[store.Intersection] == 0) {
				t.Errorf("%d sets were known, plans %v", done.KeptSets, done.Plans)
			}
		})
	}
}

func (g *graph) typ(name string) *contenttypes.ContentType {
	return g.model.Type("api::" + name + "." + name)
}

// fill stores documents and links them at random.
func (g *graph) fill(t *testing.T, s *store.Store) {
	g.rows = map[store.Status]map[uint64]*sightRow{store.Draft: {}, store.Published: {}}
	g.links = map[*contenttypes.Attribute]map[store.LinkSet][]store.Link{}
	g.seen = map[*store.Sight]sight{}
	part := g.model.Component("part.part")
	docs := map[*contenttypes.ContentType][]uint64{}
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range 60 {
			ct := g.typ([]string{"a", "b", "c"}[i%3])
			doc := tx.NewDoc()
			docs[ct] = append(docs[ct], doc)
			lacking := store.Status(g.rnd.IntN(8)) // no status for most documents
			for _, status := range store.StatusesOf(ct) {
				if status == lacking && ct.DraftAndPublish {
					continue
				}
				r := &sightRow{schema: &ct.Schema, typ: ct, ref: store.Ref{Type: ct.UID, Doc: doc}, n: g.rnd.IntN(8) - 1}
				row := newRow(tx, ct, doc, status, "", numbered(r.n))
				r.id, _ = strconv.ParseUint(string(row.Values[ct.Attribute("id").Index].JSON), 10, 64)
				for range g.rnd.IntN(3) {
					if ct.Attribute("parts") == nil {
						break
					}
					p := &sightRow{schema: &part.Schema, id: tx.NewComponentID(), n: g.rnd.IntN(4)}
					p.ref = store.Ref{Type: part.UID, Doc: p.id}
					item := &store.Item{Component: part, ID: p.id, Values: make([]store.Value, len(part.Attributes))}
					item.Values[part.Attribute("n").Index].JSON = []byte(strconv.Itoa(p.n))
					items := &row.Values[ct.Attribute("parts").Index].Items
					*items, r.parts = append(*items, item), append(r.parts, p)
				}
				b.PutRow(row)
				g.rows[status][doc] = r
			}
		}
		for _, status := range []store.Status{store.Published, store.Draft} {
			for _, doc := range slices.Sorted(mapKeys(g.rows[status])) {
				r := g.rows[status][doc]
				g.linkFrom(&b, r, r.typ, status, docs)
				for _, p := range r.parts {
					g.linkFrom(&b, p, r.typ, status, docs)
				}
			}
		}
		return tx.Apply(&b)
	})
}

func mapKeys(m map[uint64]*sightRow) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func numbered(n int) map[string]string {
	if n < 0 {
		return nil
	}
	return map[string]string{"n": strconv.Itoa(n), "text": fmt.Sprintf(`"text %d"`, n)}
}

// linkFrom links a row, or a component in a version of holder, to random documents.
func (g *graph) linkFrom(b *store.Batch, from *sightRow, holder *contenttypes.ContentType, status store.Status,
	docs map[*contenttypes.ContentType][]uint64) {
	for _, a := range from.schema.Attributes {
		if !a.IsRelation() || a.System || a.Mapped || a.Type == contenttypes.Media {
			continue
		}
		var targets []store.Ref
		for range g.rnd.IntN(4) {
			ct := a.Target
			if ct == nil {
				ct = g.typ([]string{"a", "b", "c"}[g.rnd.IntN(3)])
			}
			to := store.Ref{Type: ct.UID, Doc: docs[ct][g.rnd.IntN(len(docs[ct]))]}
			if !slices.Contains(targets, to) {
				targets = append(targets, to)
			}
		}
		for _, set := range store.LinkSetsUnder(a, store.LinkSetsOf(holder, status)) {
			if g.links[a] == nil {
				g.links[a] = map[store.LinkSet][]store.Link{}
			}
			for i, to := range targets {
				link := store.Link{Attr: a, Set: set, From: from.ref, To: to, FromPos: uint64(i + 1),
					ToPos: uint64(len(g.links[a][set]) + 1)}
				b.PutLink(link)
				g.links[a][set] = append(g.links[a][set], link)
			}
		}
	}
}

// A visible says which targets the naive reader sees: in which status, and above which number.
type visible struct {
	published bool
	above     int // negative: all
}

func (v visible) only(ct *contenttypes.ContentType) store.Filter {
	if v.above < 0 {
		return nil
	}
	return store.Compare{Attr: ct.Attribute("n"), Op: store.Gt, Values: []any{float64(v.above)}}
}

func (g *graph) visible(ct *contenttypes.ContentType) visible {
	v := visible{published: ct.DraftAndPublish && g.rnd.IntN(2) == 0, above: -1}
	if g.rnd.IntN(2) == 0 {
		v.above = g.rnd.IntN(5)
	}
	return v
}

// A sight is what the naive reader sees of each type.
type sight map[*contenttypes.ContentType]visible

// sight makes a random one.
func (g *graph) sight() sight {
	x := sight{}
	for _, name := range []string{"a", "b", "c"} {
		x[g.typ(name)] = g.visible(g.typ(name))
	}
	return x
}

// store returns it as a Sight of the store.
func (x sight) store() *store.Sight {
	return &store.Sight{
		StatusOf: func(ct *contenttypes.ContentType, status store.Status) store.Status {
			if x[ct].published {
				return store.Published
			}
			return status
		},
		Visible: func(ct *contenttypes.ContentType, _ store.Status) store.Filter { return x[ct].only(ct) },
	}
}

// A naiveRow is a row and the status in which what it leads to is shown.
type naiveRow struct {
	*sightRow
	status store.Status
}

// targets returns what a row leads to and is seen. sight returns the limits on a type; nil: there are none.
func (g *graph) targets(r naiveRow, a *contenttypes.Attribute,
	sight func(*contenttypes.ContentType) visible) (list []naiveRow) {
	if r.sightRow == nil {
		return nil
	}
	if a.Component != nil {
		for _, p := range r.parts {
			list = append(list, naiveRow{p, r.status})
		}
		return list
	}
	owning, v := a, visible{above: -1}
	if a.Mapped {
		owning = a.Inverse
	}
	for _, set := range []store.LinkSet{store.PublishedLinks, store.DraftLinks} {
		for _, l := range g.inOrder(owning, set, a.Mapped) {
			near, far := l.From, l.To
			if a.Mapped {
				near, far = far, near
			}
			if near != r.ref {
				continue
			}
			ct := g.model.Type(far.Type)
			if sight != nil {
				v = sight(ct)
			}
			shows := r.status
			if v.published {
				shows = store.Published
			}
			of := r.status
			if a.Mapped {
				of = shows
			}
			if owning.HasDraftLinks() && of.Links() != set {
				continue
			}
			version := shows
			if !ct.DraftAndPublish {
				version = store.Published
			}
			if target := g.rows[version][far.Doc]; target != nil && (v.above < 0 || target.n > v.above) {
				list = append(list, naiveRow{target, shows})
			}
		}
	}
	return list
}

// inOrder returns the links of a relation in the order of one of its sides.
func (g *graph) inOrder(owning *contenttypes.Attribute, set store.LinkSet, mapped bool) []store.Link {
	return slices.SortedStableFunc(slices.Values(g.links[owning][set]), func(x, y store.Link) int {
		if mapped {
			return cmp.Compare(x.ToPos, y.ToPos)
		}
		return cmp.Compare(x.FromPos, y.FromPos)
	})
}

// holds reports whether a filter is true of a row; if negate is set, whether it is false.
func (g *graph) holds(f store.Filter, r naiveRow, negate bool) bool {
	every := func(list []store.Filter) bool {
		return !slices.ContainsFunc(list, func(x store.Filter) bool { return !g.holds(x, r, negate) })
	}
	some := func(list []store.Filter) bool {
		return slices.ContainsFunc(list, func(x store.Filter) bool { return g.holds(x, r, negate) })
	}
	switch f := f.(type) {
	case nil:
		return !negate
	case store.And:
		if negate {
			return some(f)
		}
		return every(f)
	case store.Or:
		if negate {
			return every(f)
		}
		return some(f)
	case store.Not:
		return g.holds(f.Filter, r, !negate)
	case store.Through:
		inner, sight := f.Filter, func(*contenttypes.ContentType) visible { return visible{above: -1} }
		if x, ok := inner.(store.Seen); ok {
			inner, sight = x.Filter, func(ct *contenttypes.ContentType) visible { return g.seen[x.Sight][ct] }
		}
		targets := g.targets(r, f.Attr, sight)
		if len(targets) == 0 {
			targets = []naiveRow{{nil, r.status}}
		}
		return slices.ContainsFunc(targets, func(to naiveRow) bool { return g.holds(inner, to, negate) })
	case store.Compare:
		isNull := r.sightRow == nil || r.n < 0
		switch f.Op {
		case store.Null:
			return isNull != negate
		case store.NotNull:
			return isNull == negate
		}
		if isNull {
			return false
		}
		is := map[store.Op]bool{store.Eq: r.n == int(f.Values[0].(float64)), store.Lt: r.n < int(f.Values[0].(float64)),
			store.Gte: r.n >= int(f.Values[0].(float64))}[f.Op]
		return is != negate
	}
	panic(fmt.Sprintf("filter %T", f))
}

// filter makes a random filter on rows of a schema.
func (g *graph) filter(s *contenttypes.Schema, depth int) store.Filter {
	var ways []*contenttypes.Attribute
	for _, a := range s.Attributes {
		if a.TargetSchema() != nil && !a.System && depth > 0 {
			ways = append(ways, a)
		}
	}
	switch kind := g.rnd.IntN(8); {
	case len(ways) > 0 && kind < 4:
		a := ways[g.rnd.IntN(len(ways))]
		f := g.filter(a.TargetSchema(), depth-1)
		if a.Target != nil && g.rnd.IntN(4) > 0 {
			x := g.sight()
			limited := store.Seen{Filter: f, Sight: x.store()}
			g.seen[limited.Sight], f = x, limited
		}
		return store.Through{Attr: a, Filter: f}
	case kind == 4:
		return store.Not{Filter: g.filter(s, depth)}
	case kind == 5:
		return store.And{g.filter(s, depth), g.filter(s, depth)}
	case kind == 6:
		return store.Or{g.filter(s, depth), g.filter(s, depth)}
	}
	op := []store.Op{store.Eq, store.Lt, store.Gte, store.Null, store.NotNull}[g.rnd.IntN(5)]
	c := store.Compare{Attr: s.Attribute("n"), Op: op}
	if op < store.Null {
		c.Values = []any{float64(g.rnd.IntN(8) - 1)}
	}
	return c
}

// sort makes a random sort of rows of a schema.
func (g *graph) sort(q *store.Query) {
	if g.rnd.IntN(3) > 0 {
		x := g.sight()
		q.Sight = x.store()
		g.seen[q.Sight] = x
	}
	for range g.rnd.IntN(3) {
		k := store.SortKey{Desc: g.rnd.IntN(2) == 0}
		s := &q.Type.Schema
		for range g.rnd.IntN(3) {
			a := s.Attributes[g.rnd.IntN(len(s.Attributes))]
			if a.TargetSchema() == nil || a.System {
				continue
			}
			k.Path = append(k.Path, a)
			s = a.TargetSchema()
		}
		k.Path = append(k.Path, s.Attribute("n"))
		q.Sort = append(q.Sort, k)
	}
}

// values returns the values at the end of a sort key; null is -1.
func (g *graph) values(q *store.Query, r naiveRow, key, position int) (list []int) {
	k := q.Sort[key]
	if position == len(k.Path)-1 {
		if r.sightRow == nil {
			return []int{-1}
		}
		return []int{r.n}
	}
	seen := func(ct *contenttypes.ContentType) visible {
		if q.Sight == nil {
			return visible{above: -1}
		}
		return g.seen[q.Sight][ct]
	}
	for _, to := range g.targets(r, k.Path[position], seen) {
		below := g.values(q, to, key, position+1)
		if k.Desc {
			list = append(list, slices.Max(below))
		} else {
			list = append(list, slices.Min(below))
		}
	}
	if len(list) == 0 {
		return []int{-1}
	}
	return list
}

// sorted sorts rows as a query asks for.
func (g *graph) sorted(q *store.Query, rows []naiveRow) {
	slices.SortStableFunc(rows, func(x, y naiveRow) int {
		for key, k := range q.Sort {
			vx, vy := g.values(q, x, key, 0), g.values(q, y, key, 0)
			c := cmp.Compare(slices.Min(vx), slices.Min(vy))
			if k.Desc {
				c = cmp.Compare(slices.Max(vy), slices.Max(vx))
			}
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(x.id, y.id)
	})
}

// change gives some documents without components other numbers, and removes some links.
func (g *graph) change(t *testing.T, s *store.Store) {
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for _, status := range []store.Status{store.Published, store.Draft} {
			for _, doc := range slices.Sorted(mapKeys(g.rows[status])) {
				if r := g.rows[status][doc]; len(r.parts) == 0 && g.rnd.IntN(6) == 0 {
					r.n = g.rnd.IntN(8) - 1
					row := newRow(tx, r.typ, doc, status, "", numbered(r.n))
					row.Values[r.typ.Attribute("id").Index].JSON = strconv.AppendUint(nil, r.id, 10)
					b.PutRow(row)
				}
			}
		}
		for _, sets := range g.links {
			for set, links := range sets {
				if n := len(links); n > 0 {
					b.DeleteLink(links[n-1])
					sets[set] = links[:n-1]
				}
			}
		}
		return tx.Apply(&b)
	})
}

// question makes a random query.
func (g *graph) question() *store.Query {
	ct := g.typ([]string{"a", "b", "c"}[g.rnd.IntN(3)])
	q := &store.Query{Type: ct, Status: store.Status(g.rnd.IntN(2)), Filter: g.filter(&ct.Schema, 3), Limit: -1, Count: true}
	g.sort(q)
	if g.rnd.IntN(2) == 0 {
		q.Offset, q.Limit = g.rnd.IntN(4), g.rnd.IntN(8)
		if q.Count = g.rnd.IntN(2) == 0; len(q.Sort) > 0 && g.rnd.IntN(2) == 0 {
			q.Sort = []store.SortKey{{Path: []*contenttypes.Attribute{ct.Attribute("n")}, Desc: g.rnd.IntN(2) == 0}}
		}
	}
	return q
}

// ask compares the answers to a query.
func (g *graph) ask(t *testing.T, s *store.Store, q *store.Query) {
	t.Helper()
	ct, version := q.Type, q.Status
	if !ct.DraftAndPublish {
		version = store.Published
	}
	var want []naiveRow
	for _, doc := range slices.Sorted(mapKeys(g.rows[version])) {
		if r := (naiveRow{g.rows[version][doc], q.Status}); r.typ == ct && g.holds(q.Filter, r, false) {
			want = append(want, r)
		}
	}
	g.sorted(q, want)
	total := -1
	if q.Count {
		total = len(want)
	}
	if q.Limit >= 0 {
		want = want[min(q.Offset, len(want)):]
		want = want[:min(q.Limit, len(want))]
	}
	docs := make([]uint64, len(want))
	for i, r := range want {
		docs[i] = r.ref.Doc
	}
	if got := find(t, s, q); !slices.Equal(got.Docs, docs) || got.Total != total {
		t.Fatalf("%s\n got %v of %d\nwant %v of %d", describeSight(q), got.Docs, got.Total, docs, total)
	}
	if got := each(t, s, q); !slices.Equal(got, docs) {
		t.Fatalf("Each: %s\n got %v\nwant %v", describeSight(q), got, docs)
	}
}

func describeSight(q *store.Query) string {
	return fmt.Sprintf("%s in status %d where %+v by %+v", q.Type.UID, q.Status, q.Filter, q.Sort)
}

// relate compares what all rows of a type lead to, and how many.
func (g *graph) relate(snap *store.Snapshot) error {
	var all store.Related
	for range 150 {
		x := g.sight()
		ct := g.typ([]string{"a", "b", "c"}[g.rnd.IntN(3)])
		q := &store.Query{Type: ct, Status: store.Status(g.rnd.IntN(2)), Limit: -1}
		page, err := snap.Find(q)
		if err != nil {
			return err
		}
		var ways []*contenttypes.Attribute
		for _, a := range ct.Attributes {
			if a.IsRelation() && !a.System {
				ways = append(ways, a)
			}
		}
		if err := g.compareTargets(snap, page.Rows, ways[g.rnd.IntN(len(ways))], q.Status, x, &all); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) compareTargets(snap *store.Snapshot, rows []store.Record, a *contenttypes.Attribute,
	status store.Status, x sight, all *store.Related) error {
	var q *store.Query
	if g.rnd.IntN(3) > 0 {
		q = &store.Query{Offset: g.rnd.IntN(2), Limit: g.rnd.IntN(4) - 1}
		if a.Target != nil && g.rnd.IntN(2) == 0 {
			q.Type = a.Target
			q.Filter = g.filter(&a.Target.Schema, 1)
			g.sort(q)
		}
	}
	all.Sight = x.store()
	if err := snap.RelatedAll(rows, a, status, q, all); err != nil {
		return err
	}
	counts, err := snap.RelatedCounts(rows, a, status, q, all.Sight, nil)
	if err != nil {
		return err
	}
	for i, r := range rows {
		version := naiveRow{g.rows[r.Status()][r.Doc()], status}
		targets := g.targets(version, a, func(ct *contenttypes.ContentType) visible { return x[ct] })
		if q != nil {
			targets = slices.DeleteFunc(targets, func(to naiveRow) bool { return !g.holds(q.Filter, to, false) })
			if len(q.Sort) > 0 {
				g.sorted(q, targets)
			}
			if targets = targets[min(q.Offset, len(targets)):]; q.Limit >= 0 {
				targets = targets[:min(q.Limit, len(targets))]
			}
		}
		var want, got []uint64
		for _, to := range targets {
			want = append(want, to.id)
		}
		for _, row := range all.Of(i) {
			got = append(got, all.Rows[row].ID())
		}
		if !slices.Equal(got, want) || counts[i] != len(want) {
			return fmt.Errorf("%s of %d in status %d with %+v and %+v: %v, %d are counted; want %v", a.Name, r.Doc(),
				status, q, x, got, counts[i], want)
		}
	}
	return nil
}
