package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// uniqueInside is a type with unique attributes inside its components, at the paths in uniquePathsOf.
var uniqueInside = map[string]string{
	"components/part/leaf.yaml": "info: {displayName: L}\nattributes: {code: {type: string, unique: true}, text: {type: string}}\n",
	"components/part/box.yaml": "info: {displayName: B}\nattributes: {code: {type: string, unique: true}, leaf: {type: component, component: part.leaf}," +
		" leaves: {type: component, component: part.leaf, repeatable: true}}\n",
	"content-types/thing.yaml": "kind: collectionType\ninfo: {singularName: thing, pluralName: things, displayName: T}\noptions: {draftAndPublish: true}\n" +
		"attributes: {name: {type: string}, boxes: {type: component, component: part.box, repeatable: true}, zone: {type: dynamiczone, components: [part.box, part.leaf]}}\n",
}

func uniquePathsOf(thing *contenttypes.ContentType) [][]*contenttypes.Attribute {
	return append(thing.Attribute("boxes").UniquePaths(), thing.Attribute("zone").UniquePaths()...)
}

// randomItems returns components of a list, whose unique attributes have random values.
func randomItems(rnd *rand.Rand, m *contenttypes.Model, value func() string, zone bool) (items []*store.Item) {
	leaf, box := m.Component("part.leaf"), m.Component("part.box")
	item := func(c *contenttypes.Component) *store.Item {
		i := &store.Item{Component: c, ID: rnd.Uint64N(1 << 40), Values: make([]store.Value, len(c.Attributes))}
		if rnd.IntN(5) > 0 {
			i.Values[c.Attribute("code").Index].JSON = []byte(value())
		}
		return i
	}
	for range rnd.IntN(4) {
		if zone && rnd.IntN(2) == 0 {
			items = append(items, item(leaf))
			continue
		}
		b := item(box)
		for _, name := range []string{"leaf", "leaves"} {
			for range rnd.IntN(2) {
				v := &b.Values[box.Attribute(name).Index]
				v.Items = append(v.Items, item(leaf))
			}
		}
		items = append(items, b)
	}
	return items
}

// valuesAt lists the values of a row at a path.
func valuesAt(values []store.Value, path []*contenttypes.Attribute) (list []string) {
	v := values[path[0].Index]
	if len(path) == 1 {
		return []string{string(v.JSON)}
	}
	for _, item := range v.Items {
		if item.Component.UID == path[1].Owner.UID {
			list = append(list, valuesAt(item.Values, path[1:])...)
		}
	}
	return list
}

// TestEqualInside writes, changes and deletes rows with unique values in components, in transactions that look values
// up between their writes, and compares what is found with the rows. Some values are longer than what the index has of
// them. A store without inner indexes finds the same after it was opened.
func TestEqualInside(t *testing.T) {
	m := modelOf(t, contenttypes.Options{}, uniqueInside)
	path := filepath.Join(t.TempDir(), "content.db")
	s := openModel(t, path, m, store.Options{})
	thing := m.Type("api::thing.thing")
	rnd := rand.New(rand.NewPCG(3, 4))
	value := func() string {
		text := fmt.Sprint(rnd.IntN(25))
		if rnd.IntN(4) == 0 {
			text = strings.Repeat("long ", 20) + text
		}
		return fmt.Sprintf("%q", text)
	}
	has := map[uint64][]store.Value{}
	compare := func(snap *store.Snapshot, at []*contenttypes.Attribute, text string) error {
		var found, want []uint64
		snap.EqualInside(thing, store.Published, "", at, []byte(text),
			func(r store.Record) bool { found = append(found, r.Doc()); return true })
		for _, doc := range slices.Sorted(maps.Keys(has)) {
			if slices.Contains(valuesAt(has[doc], at), text) {
				want = append(want, doc)
			}
		}
		if slices.Sort(found); !slices.Equal(found, want) {
			return fmt.Errorf("%s at %s is found in %v, want %v", text, at[len(at)-1].Name, found, want)
		}
		return nil
	}
	paths := uniquePathsOf(thing)
	if len(paths) != 7 {
		t.Fatalf("%d paths", len(paths))
	}
	for range 40 {
		write(t, s, func(tx *store.Tx) error {
			for range 1 + rnd.IntN(30) {
				doc := uint64(1 + rnd.IntN(30))
				b := &store.Batch{}
				if rnd.IntN(4) == 0 {
					b.DeleteRow(thing, doc, store.Published, "")
					delete(has, doc)
				} else {
					row := newRow(tx, thing, doc, store.Published, "", nil)
					row.Values[thing.Attribute("boxes").Index].Items = randomItems(rnd, m, value, false)
					row.Values[thing.Attribute("zone").Index].Items = randomItems(rnd, m, value, true)
					b.PutRow(row)
					has[doc] = row.Values
				}
				if err := tx.Apply(b); err != nil {
					return err
				}
				if err := compare(tx.Snapshot, paths[rnd.IntN(len(paths))], value()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	closeChecked(t, s)
	if err := store.WithoutInner(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var steps []string
		s = openModel(t, path, m, store.Options{Progress: func(what string, _, _ int) { steps = append(steps, what) }})
		err := s.View(func(snap *store.Snapshot) error {
			for range 500 {
				if err := compare(snap, paths[rnd.IntN(len(paths))], value()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("after they were built (%v): %v", steps, err)
		}
		closeChecked(t, s)
	}
}

// TestEqualInsideIsIndexed looks up a value in the components of a thousand documents. It reads the one row that has
// it.
func TestEqualInsideIsIndexed(t *testing.T) {
	m := modelOf(t, contenttypes.Options{}, uniqueInside)
	s := openModel(t, filepath.Join(t.TempDir(), "content.db"), m, store.Options{})
	defer closeChecked(t, s)
	thing, leaf := m.Type("api::thing.thing"), m.Component("part.leaf")
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range 1000 {
			row := newRow(tx, thing, tx.NewDoc(), store.Published, "", nil)
			item := &store.Item{Component: leaf, ID: tx.NewComponentID(),
				Values: make([]store.Value, len(leaf.Attributes))}
			item.Values[leaf.Attribute("code").Index].JSON = fmt.Appendf(nil, "%q", fmt.Sprint("code ", i))
			row.Values[thing.Attribute("zone").Index].Items = []*store.Item{item}
			b.PutRow(row)
		}
		return tx.Apply(&b)
	})
	at := []*contenttypes.Attribute{thing.Attribute("zone"), leaf.Attribute("code")}
	before := s.Stats()
	if err := s.View(func(snap *store.Snapshot) error {
		n := 0
		snap.EqualInside(thing, store.Published, "", at, []byte(`"code 700"`),
			func(store.Record) bool { n++; return true })
		if n != 1 {
			return fmt.Errorf("%d documents have the code", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if after := s.Stats(); after.Rows-before.Rows != 1 || after.Entries-before.Entries != 1 {
		t.Errorf("%d rows and %d entries were read, want one", after.Rows-before.Rows, after.Entries-before.Entries)
	}
}
