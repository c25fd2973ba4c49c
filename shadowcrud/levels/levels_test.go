package levels_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

var definitions = fstest.MapFS{
	"content-types/node.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: node, pluralName: nodes, displayName: Node}
attributes:
  name: {type: string}
  next: {type: relation, relation: manyToMany, target: "api::node.node", inversedBy: former}
  former: {type: relation, relation: manyToMany, target: "api::node.node", mappedBy: next}
  best: {type: relation, relation: manyToOne, target: "api::node.node"}
  zone: {type: dynamiczone, components: [parts.arrow, parts.note]}
`)},
	"components/parts/arrow.yaml": {Data: []byte(`
info: {displayName: Arrow}
attributes:
  to: {type: relation, relation: oneToOne, target: "api::node.node"}
`)},
	"components/parts/note.yaml": {Data: []byte(`
info: {displayName: Note}
attributes:
  text: {type: string}
`)},
}

// A selection says what the test reads of a row: the loads, and a selection for the targets of each load.
type selection struct {
	loads []levels.Load
	below [][]*selection
}

// with adds a load to a selection.
func (s *selection) with(load levels.Load, below ...*selection) *selection {
	load.Levels = len(below)
	s.loads, s.below = append(s.loads, load), append(s.below, below)
	return s
}

// A source is the levels.Source of selections. It puts the components of a zone on a level for each kind of component.
type source struct{ kinds []*contenttypes.Component }

var _ levels.Source[*selection] = source{}

func (source) Loads(s *selection) int                  { return len(s.loads) }
func (source) Load(s *selection, n int) levels.Load    { return s.loads[n] }
func (source) Below(s *selection, n, k int) *selection { return s.below[n][k] }
func (source) Hold(int64) error                        { return nil }
func (src source) Member(_ *selection, _ int, r store.Record, _ store.Status) int {
	return slices.Index(src.kinds, r.Component())
}

// newGraph stores nodes with random relations to each other. Some nodes have no relations.
func newGraph(t *testing.T, rnd *rand.Rand, nodes int) (*store.Store, *contenttypes.ContentType) {
	t.Helper()
	m := storetest.Model(t, definitions)
	st := storetest.Open(t, m)
	node, service := m.Type("api::node.node"), documents.NewService(st, m, "en")
	var ids []string
	some := func(most int) (chosen []string) {
		for range rnd.IntN(most + 1) {
			if len(ids) > 0 {
				chosen = append(chosen, fmt.Sprintf("%q", ids[rnd.IntN(len(ids))]))
			}
		}
		slices.Sort(chosen)
		return slices.Compact(chosen)
	}
	for i := range nodes {
		var zone []string
		for range rnd.IntN(3) {
			zone = append(zone, fmt.Sprintf(`{"__component":"parts.arrow","to":[%s]}`, strings.Join(some(1), "")),
				`{"__component":"parts.note","text":"a note"}`)
		}
		data, err := jsontree.Parse(fmt.Appendf(nil, `{"name":"node %d","next":[%s],"best":[%s],"zone":[%s]}`,
			i, strings.Join(some(3), ","), strings.Join(some(1), ""), strings.Join(zone, ",")), 9)
		if err != nil {
			t.Fatal(err)
		}
		w := documents.Write{Type: node, Data: data.(*jsontree.Object), Access: permission.FullAccess}
		w.After = func(_ *store.Snapshot, r store.Record) error {
			id, err := jsontree.Parse(r.JSON(node.Attribute("documentId")), 1)
			ids = append(ids, id.(string))
			return err
		}
		if err := service.Create(context.Background(), w); err != nil {
			t.Fatal(err)
		}
	}
	return st, node
}

// item prints row i of a level and all rows below it.
func item(b *strings.Builder, l *levels.Level[*selection], i int) (printed int) {
	fmt.Fprintf(b, "%d(", l.Rows[i].ID())
	printed = 1
	for n := range l.To {
		to := &l.To[n]
		if l.Selection.loads[n].Kind == levels.Counts {
			fmt.Fprintf(b, "#%d ", to.Counts[i])
		}
		for _, row := range to.Of(i) {
			below, at := to.Item(row)
			printed += item(b, below, int(at))
		}
	}
	b.WriteString(")")
	return printed
}

// follow prints a row as item does, but reads each row by itself.
func follow(b *strings.Builder, snap *store.Snapshot, src source, r store.Record, s *selection) {
	fmt.Fprintf(b, "%d(", r.ID())
	for n, load := range s.loads {
		count := 0
		each := func(target store.Record) bool {
			count++
			switch k := src.Member(s, n, target, store.Published); {
			case load.Kind == levels.Counts:
			case !load.Union:
				follow(b, snap, src, target, s.below[n][0])
			case k >= 0:
				follow(b, snap, src, target, s.below[n][k])
			}
			return true
		}
		if load.Attr.IsRelation() {
			snap.Related(r, load.Attr, store.Published, each)
		} else {
			r.Each(load.Attr, each)
		}
		if load.Kind == levels.Counts {
			fmt.Fprintf(b, "#%d ", count)
		}
	}
	b.WriteString(")")
}

// TestLevelsAgreeWithRowByRow loads random graphs by levels, and compares the result with reading each row by itself.
func TestLevelsAgreeWithRowByRow(t *testing.T) {
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		st, node := newGraph(t, rnd, 30)
		arrow, note := node.Attribute("zone").Components[0], node.Attribute("zone").Components[1]
		leaf := &selection{}
		next := levels.Load{Kind: levels.Targets, Attr: node.Attribute("next")}
		former := levels.Load{Kind: levels.Targets, Attr: node.Attribute("former")}
		best := levels.Load{Kind: levels.Targets, Attr: node.Attribute("best")}
		zone := levels.Load{Kind: levels.Targets, Attr: node.Attribute("zone"), Union: true}
		to := levels.Load{Kind: levels.Targets, Attr: arrow.Attribute("to")}
		count := levels.Load{Kind: levels.Counts, Attr: node.Attribute("next")}
		for _, c := range []struct {
			name string
			of   *selection
			src  source
		}{
			{"nothing", leaf, source{}},
			{"one relation", (&selection{}).with(next, leaf), source{}},
			{"two relations and a count", (&selection{}).with(best, leaf).with(count).with(next, leaf), source{}},
			{"four deep", (&selection{}).with(next,
				(&selection{}).with(former, (&selection{}).with(best, (&selection{}).with(next, leaf)))), source{}},
			{"a zone", (&selection{}).with(zone, (&selection{}).with(to, (&selection{}).with(next, leaf)), leaf),
				source{[]*contenttypes.Component{arrow, note}}},
			{"a part of a zone", (&selection{}).with(zone, (&selection{}).with(to, leaf)),
				source{[]*contenttypes.Component{arrow}}},
		} {
			t.Run(fmt.Sprint(c.name, ", seed ", seed), func(t *testing.T) { compare(t, st, node, c.src, c.of) })
		}
	}
}

// compare reads all nodes by levels, twice with one loader, and then one by one with follow. It fails the test if the
// results differ.
func compare(t *testing.T, st *store.Store, node *contenttypes.ContentType, src source, s *selection) {
	err := st.View(func(snap *store.Snapshot) error {
		page, err := snap.Find(&store.Query{Type: node, Status: store.Published, Limit: -1})
		if err != nil {
			return err
		}
		var wants []string
		for _, r := range page.Rows {
			var want strings.Builder
			follow(&want, snap, src, r, s)
			wants = append(wants, want.String())
		}
		ld := &levels.Loader[*selection]{Settings: levels.Settings[*selection]{
			Source: src, Snapshot: snap, Status: store.Published, Access: permission.FullAccess, Most: 1 << 20,
		}}
		for range 2 {
			if err := check(t, ld, s, page.Rows, wants); err != nil {
				return err
			}
		}
		for i := range page.Rows {
			if err := check(t, ld, s, page.Rows[i:i+1], wants[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// check reads rows by levels and compares how each is printed. A limit equal to the number of printed objects must
// succeed, and a lower one must fail.
func check(t *testing.T, ld *levels.Loader[*selection], s *selection, rows []store.Record, wants []string) error {
	defer ld.Reset()
	top := ld.Level(s)
	top.Rows = rows
	if err := ld.Load(top); err != nil {
		return err
	}
	printed := 0
	for i, want := range wants {
		var got strings.Builder
		if printed += item(&got, top, i); got.String() != want {
			t.Errorf("row %d: got  %s\nwant %s", i, &got, want)
		}
	}
	most := ld.Most
	defer func() { ld.Most = most }()
	for _, c := range []struct {
		most int
		want error
	}{{printed, nil}, {printed - 1, levels.ErrTooMany}} {
		if ld.Most = c.most; printed > ld.Read+len(rows) {
			if err := ld.Weigh(0); !errors.Is(err, c.want) {
				t.Errorf("%d objects are printed, %d may be: %v", printed, c.most, err)
			}
		}
	}
	return nil
}

// TestTooMany expects a loader to fail when it would read more objects than its limit.
func TestTooMany(t *testing.T) {
	st, node := newGraph(t, rand.New(rand.NewPCG(1, 2)), 20)
	err := st.View(func(snap *store.Snapshot) error {
		page, err := snap.Find(&store.Query{Type: node, Status: store.Published, Limit: -1})
		if err != nil {
			return err
		}
		s := (&selection{}).with(levels.Load{Kind: levels.Targets, Attr: node.Attribute("next")}, &selection{})
		ld := &levels.Loader[*selection]{Settings: levels.Settings[*selection]{Source: source{}, Snapshot: snap,
			Status: store.Published, Access: permission.FullAccess, Most: 1 << 20}}
		read := func() (int, error) {
			defer ld.Reset()
			top := ld.Level(s)
			top.Rows = page.Rows
			err := ld.Load(top)
			return ld.Read, err
		}
		all, err := read()
		if err != nil || all == 0 {
			return fmt.Errorf("%d objects read: %w", all, err)
		}
		ld.Most = all
		if _, err := read(); err != nil {
			t.Errorf("as many as may be: %v", err)
		}
		ld.Most = all - 1
		if _, err := read(); !errors.Is(err, levels.ErrTooMany) {
			t.Errorf("one more than may be: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
