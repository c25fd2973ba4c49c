package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// A remembered is the content behind each entry of a log, as it was read at that time.
type remembered struct {
	*testing.T
	store   *store.Store
	model   *randomModel
	service *documents.Service
	rnd     *rand.Rand
	ids     []string // the documentIds in use, some of them deleted
	states  map[uint64]string
	values  map[uint64]map[string]map[string]string // by sequence, version and attribute
}

// TestPast changes documents at random, and reads them as they were behind random entries. A snapshot of the past must
// show what was shown then, and the history of a document what was changed.
func TestPast(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := remember(t, seed, store.LogLimits{})
			for range 120 {
				r.change()
			}
			r.compare(0)
			r.compareHistories()
			r.compareChanged()
		})
	}
}

// TestPastAfterTrimming removes the older half of a log. What is left is known exactly, though it was written by
// entries that are gone.
func TestPastAfterTrimming(t *testing.T) {
	r := remember(t, 9, store.LogLimits{MaxSize: 12_000})
	for range 200 {
		r.change()
	}
	r.compareChanged()
	oldest := r.compare(20)
	if oldest < 5 {
		t.Fatalf("the log begins with %d", oldest)
	}
	if err := r.store.View(func(snap *store.Snapshot) error {
		return snap.ViewAt(oldest-1, func(*store.Snapshot) error { return nil })
	}); !errors.Is(err, store.ErrTrimmed) {
		t.Errorf("before the oldest entry: %v", err)
	}
}

func remember(t *testing.T, seed uint64, limits store.LogLimits) *remembered {
	rnd := rand.New(rand.NewPCG(seed, 3))
	m := newRandomModel(t, rnd)
	s := openModel(t, filepath.Join(t.TempDir(), "content.db"), m.Model, store.Options{Log: limits})
	t.Cleanup(func() { closeChecked(t, s) })
	r := &remembered{T: t, store: s, model: m, service: documents.NewService(s, m.Model, "en"), rnd: rnd,
		states: map[uint64]string{}, values: map[uint64]map[string]map[string]string{}}
	for _, name := range []string{"a", "b"} {
		for i := range 4 {
			r.ids = append(r.ids, fmt.Sprint(name, i))
		}
	}
	r.note()
	return r
}

// note reads all documents and remembers what it found.
func (r *remembered) note() {
	if err := r.store.View(func(snap *store.Snapshot) error {
		r.states[snap.Sequence()], r.values[snap.Sequence()] = r.read(snap), r.valuesIn(snap)
		return nil
	}); err != nil {
		r.Fatal(err)
	}
}

// change does one operation, or several together. What is refused changes nothing.
func (r *remembered) change() {
	before := r.store.Revision()
	if list := r.operations(); len(list) == 1 {
		r.do(list[0])
	} else {
		commits := r.store.Stats().Commits
		show := func(int, *store.Snapshot, store.Record, error) error { return nil }
		if err := r.service.WriteAll(r.Context(), list, false, show); err != nil {
			r.Fatal(err)
		}
		if made := r.store.Stats().Commits - commits; made > 1 || r.store.Revision()-before > 1 {
			r.Fatalf("%d operations made %d transactions and %d entries", len(list), made, r.store.Revision()-before)
		}
	}
	if r.store.Revision() > before {
		r.note()
	}
}

// operations returns one operation, or several that are carried out together. A history tells documents with one
// documentId apart only if no entry deletes one and creates another.
func (r *remembered) operations() []documents.Operation {
	list := make([]documents.Operation, max(1, r.rnd.IntN(9)-3))
	deleted := map[string]bool{}
	for i := range list {
		for list[i] = r.operation(); deleted[list[i].DocumentID] && list[i].Action == documents.CreateAction; {
			list[i] = r.operation()
		}
		deleted[list[i].DocumentID] = deleted[list[i].DocumentID] || list[i].Action == documents.DeleteAction
	}
	return list
}

// do does one operation alone.
func (r *remembered) do(o documents.Operation) {
	_ = [...]func(context.Context, documents.Write) error{ // documents that are not there and what they lack is refused
		documents.CreateAction: r.service.Create, documents.UpdateAction: r.service.Update,
		documents.DeleteAction:  r.service.Delete,
		documents.PublishAction: r.service.Publish, documents.UnpublishAction: r.service.Unpublish,
		documents.DiscardDraftAction: r.service.DiscardDraft,
	}[o.Action](r.Context(), o.Write)
}

// operation creates, changes, publishes, unpublishes or deletes a document.
func (r *remembered) operation() documents.Operation {
	id := r.ids[r.rnd.IntN(len(r.ids))]
	rt, typ := r.model.types[id[:1]], r.model.Type("api::"+id[:1]+"."+id[:1])
	w := documents.Write{Type: typ, DocumentID: id, Access: permission.FullAccess, Status: store.Status(r.rnd.IntN(2)),
		Locale: pick("", "de")(r.rnd)}
	data := jsontree.NewObject()
	for attr, value := range rt.values {
		if r.rnd.IntN(2) == 0 {
			text := value(r.rnd)
			v, err := jsontree.Parse([]byte(text), 20)
			if err != nil {
				r.Fatal(err)
			}
			data.Set(attr, v)
		}
	}
	if a := typ.Attribute("rel"); a != nil && a.Target != nil && r.rnd.IntN(2) == 0 {
		data.Set("rel", []any{pick("a1", "a2")(r.rnd), pick("b0", "b3")(r.rnd)}[btoi(a.Target.UID == "api::b.b"):][:1])
	}
	w.Data = data
	o := documents.Operation{Write: w, Action: documents.Action(r.rnd.IntN(6))}
	if r.rnd.IntN(6) == 0 {
		o.Action = documents.UpdateAction
	}
	if o.Action == documents.DeleteAction {
		o.Locale = pick("", "de", "*")(r.rnd)
	}
	return o
}

// read returns all documents of a snapshot as text.
func (r *remembered) read(snap *store.Snapshot) string {
	var b strings.Builder
	for _, id := range r.ids {
		typ := r.model.Type("api::" + id[:1] + "." + id[:1])
		doc, ok := snap.Document(typ, id)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%s is %d\n", id, doc)
		snap.Versions(typ, doc, func(v store.Record) bool {
			fmt.Fprintf(&b, "  %s %s:", v.Status(), v.Locale())
			r.row(&b, snap, v, v.Status())
			b.WriteString("\n")
			return true
		})
	}
	return b.String()
}

// row prints a version or component with everything below it.
func (r *remembered) row(b *strings.Builder, snap *store.Snapshot, v store.Record, status store.Status) {
	for _, a := range v.Schema().Attributes {
		fmt.Fprintf(b, " %s=", a.Name)
		switch {
		case a.IsRelation():
			snap.Related(v, a, status, func(to store.Record) bool { fmt.Fprintf(b, "%d,", to.ID()); return true })
			var all store.Related
			if err := snap.RelatedAll([]store.Record{v}, a, status, &store.Query{Limit: 1}, &all); err != nil {
				r.Fatal(err)
			}
			fmt.Fprint(b, len(all.Rows))
		case a.IsScalar():
			b.Write(v.JSON(a))
		default:
			v.Each(a, func(item store.Record) bool {
				b.WriteString("(")
				r.row(b, snap, item, status)
				b.WriteString(")")
				return true
			})
		}
	}
}

// compare compares the past with what was remembered, and the histories with the differences between states. It returns
// the sequence from which on the past is known.
func (r *remembered) compare(least int) (oldest uint64) {
	compared := 0
	if err := r.store.View(func(snap *store.Snapshot) error {
		at, err := snap.OldestPosition()
		if err != nil {
			return err
		}
		oldest = at.Sequence
		for sequence, want := range r.states {
			if sequence < oldest {
				continue
			}
			compared++
			if err := snap.ViewAt(sequence, func(then *store.Snapshot) error {
				if got := r.read(then); got != want {
					r.Errorf("behind %d the past is\n%swant\n%s", sequence, got, want)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil || compared < least || compared == 0 {
		r.Fatalf("%d states compared (%v)", compared, err)
	}
	return oldest
}

// compareChanged asks for each remembered state which localizations have changed since. Those that differ must be among
// them. Some of the others must not, unless the log is too short to tell.
func (r *remembered) compareChanged() {
	unchanged, last := 0, r.values[r.store.Revision()]
	if err := r.store.Write(r.Context(), func(tx *store.Tx) error {
		for sequence, then := range r.values {
			for _, id := range r.ids {
				typ := r.model.Type("api::" + id[:1] + "." + id[:1])
				doc, ok := tx.Document(typ, id)
				if !ok {
					continue
				}
				for _, locale := range []string{"en", "de"} {
					if !typ.Localized {
						locale = ""
					}
					if !tx.Version(typ, doc, store.Draft, locale).Exists() &&
						!tx.Version(typ, doc, store.Published, locale).Exists() {
						continue
					}
					changed, err := tx.Changed(&store.Showing{Type: typ, Linking: r.model.Types,
						Targets: r.model.Types}, doc, locale, sequence)
					if err != nil {
						return err
					}
					differs := false
					for _, status := range []store.Status{store.Draft, store.Published} {
						version := fmt.Sprint(id, status, locale)
						differs = differs || !maps.Equal(then[version], last[version])
					}
					if differs && !changed {
						r.Errorf("%s %q differs from what it was behind %d, and has not changed", id, locale, sequence)
					}
					unchanged += btoi(!changed)
				}
			}
		}
		return nil
	}); err != nil || unchanged == 0 {
		r.Errorf("%d documents unchanged: %v", unchanged, err)
	}
}

// valuesIn returns the values of all versions, as histories compare them.
func (r *remembered) valuesIn(snap *store.Snapshot) map[string]map[string]string {
	found := map[string]map[string]string{}
	for _, id := range r.ids {
		typ := r.model.Type("api::" + id[:1] + "." + id[:1])
		doc, _ := snap.Document(typ, id)
		snap.Versions(typ, doc, func(v store.Record) bool {
			for _, status := range []store.Status{store.Published, store.Draft} {
				version := fmt.Sprint(id, status, v.Locale())
				if found[version] == nil {
					found[version] = map[string]string{}
				}
				for _, a := range typ.Attributes {
					// The links of a version may be there without it.
					if !a.System && a.Type != contenttypes.ID && (a.IsRelation() || status == v.Status()) {
						found[version][a.Name] = value(snap, v, a, status)
					}
				}
			}
			return true
		})
	}
	return found
}

// value returns the value of an attribute as text: components without their ids, and relations as the numbers of the
// documents.
func value(snap *store.Snapshot, v store.Record, a *contenttypes.Attribute, status store.Status) string {
	var b strings.Builder
	owning, set := a, status.Links()
	if a.Mapped {
		owning = a.Inverse
	}
	if a.IsRelation() && !owning.HasDraftLinks() {
		set = store.PublishedLinks
	}
	switch {
	case a.IsRelation() && a.Mapped:
		snap.LinksTo(owning, set, v.Ref(), func(l store.Link) bool { fmt.Fprint(&b, l.From, " "); return true })
	case a.IsRelation():
		snap.LinksFrom(a, set, v.Ref(), func(l store.Link) bool { fmt.Fprint(&b, l.To, " "); return true })
	case a.IsScalar():
		b.Write(v.JSON(a))
	default:
		v.Each(a, func(item store.Record) bool {
			fmt.Fprintf(&b, "(%s", item.Component().UID)
			for _, below := range item.Component().Attributes {
				if below.Type != contenttypes.ID {
					fmt.Fprint(&b, " ", value(snap, item, below, status))
				}
			}
			b.WriteString(")")
			return true
		})
	}
	return b.String()
}

// compareHistories compares the histories of all documents with the differences between the states that were
// remembered.
func (r *remembered) compareHistories() {
	items := 0
	if err := r.store.View(func(snap *store.Snapshot) error {
		for _, id := range r.ids {
			typ := r.model.Type("api::" + id[:1] + "." + id[:1])
			page, total, err := snap.History(store.HistoryQuery{Type: typ, DocumentID: id, Limit: -1})
			if err != nil || total != len(page) {
				return fmt.Errorf("%d of %d items: %w", len(page), total, err)
			}
			items += total
			last := map[string]uint64{}
			for _, item := range page {
				version := fmt.Sprint(id, item.Status, item.Locale)
				if after := last[version]; after > 0 && item.Position.Sequence >= after {
					r.Errorf("%s: entry %d comes after %d", version, item.Position.Sequence, after)
				}
				last[version] = item.Position.Sequence
				before, after := r.values[item.Position.Sequence-1], r.values[item.Position.Sequence]
				var want, got []string
				for _, a := range typ.Attributes {
					was, is := before[version][a.Name], after[version][a.Name]
					if was != is {
						want = append(want, a.Name)
					}
				}
				for _, a := range item.Changed {
					got = append(got, a.Name)
				}
				if !slices.Equal(got, want) {
					r.Errorf("entry %d (%s) changed %v of %s, want %v\n%v\n%v", item.Position.Sequence, item.Action,
						got, version, want, before[version], after[version])
				}
			}
			r.comparePages(snap, typ, id, page)
		}
		r.compareDeleted(snap)
		return nil
	}); err != nil || items < 10 {
		r.Fatalf("%d items: %v", items, err)
	}
}

// comparePages reads a history by pages, and only the items of published versions.
func (r *remembered) comparePages(snap *store.Snapshot, typ *contenttypes.ContentType, id string,
	all []store.HistoryItem) {
	published := func(st store.Status, _ string) bool { return st == store.Published }
	all = slices.DeleteFunc(slices.Clone(all), func(i store.HistoryItem) bool { return !published(i.Status, "") })
	for offset := 0; offset < len(all); offset += 3 {
		page, total, err := snap.History(store.HistoryQuery{Type: typ, DocumentID: id, Match: published, Offset: offset,
			Limit: 3})
		if err != nil || total != len(all) || len(page) != min(3, total-offset) ||
			page[0].Position != all[offset].Position {
			r.Fatalf("from %d: %d items of %d, want %d (%v)", offset, len(page), total, len(all), err)
		}
	}
}

// compareDeleted compares the documents that were deleted with the last items of their histories.
func (r *remembered) compareDeleted(snap *store.Snapshot) {
	listed := 0
	for _, typ := range r.model.Types {
		if typ.BuiltIn {
			continue
		}
		all, total, err := snap.Deleted(store.DeletedQuery{Type: typ, Limit: -1})
		if err != nil || total != len(all) {
			r.Fatalf("%d of %d deleted documents: %v", len(all), total, err)
		}
		listed += total
		found := map[string]store.DeletedDocument{}
		for i, d := range all {
			found[d.DocumentID] = d
			if i > 0 && d.Position.Sequence > all[i-1].Position.Sequence {
				r.Errorf("%s of %d is behind %d", d.DocumentID, d.Position.Sequence, all[i-1].Position.Sequence)
			}
			page, total, err := snap.Deleted(store.DeletedQuery{Type: typ, Offset: i, Limit: 1})
			if err != nil || total != len(all) || !reflect.DeepEqual(page, all[i:i+1]) {
				r.Errorf("the page %d is %v of %d, want %v (%v)", i, page, total, d, err)
			}
		}
		for _, id := range r.ids {
			_, exists := snap.Document(typ, id)
			d, deleted := found[id]
			if ofType := "api::"+id[:1]+"."+id[:1] == typ.UID; !ofType || exists {
				if deleted {
					r.Errorf("%s is among the deleted documents of %s", id, typ.UID)
				}
				continue
			}
			page, _, err := snap.History(store.HistoryQuery{Type: typ, DocumentID: id, Limit: -1})
			if err != nil {
				r.Fatal(err)
			}
			var want []store.Version
			for _, item := range page {
				if item.Position == page[0].Position {
					want = append([]store.Version{{Status: item.Status, Locale: item.Locale}}, want...)
				}
			}
			if !slices.Equal(d.Versions, want) || deleted && (d.Position != page[0].Position || d.By != page[0].By) {
				r.Errorf("%s was deleted as %+v, want %v by %+v", id, d, want, page)
			}
		}
	}
	if listed == 0 {
		r.Error("no document was deleted")
	}
}

// TestPastOfConversions changes the definitions of content. What was before the conversion is not shown under the new
// ones; an attribute that was only added changes nothing.
func TestPastOfConversions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	m := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}"))
	s := openModel(t, path, m, store.Options{})
	fillItems(t, s, 3)
	first := s.Revision()
	closeChecked(t, s)
	shown := func(s *store.Store) error {
		return s.View(func(snap *store.Snapshot) error {
			return snap.ViewAt(first, func(*store.Snapshot) error { return nil })
		})
	}
	s = openModel(t, path, modelOf(t, contenttypes.Options{},
		itemType("name: {type: string}, rank: {type: integer}, more: {type: integer}")), store.Options{})
	if err := shown(s); err != nil {
		t.Errorf("after an attribute was added: %v", err)
	}
	closeChecked(t, s)
	s = openModel(t, path, modelOf(t, contenttypes.Options{},
		itemType("name: {type: text}, rank: {type: integer}, more: {type: integer}")), store.Options{})
	if err := shown(s); !errors.Is(err, store.ErrConverted) {
		t.Errorf("after an attribute got another type: %v", err)
	}
	closeChecked(t, s)
}

// TestSequenceAt finds entries by time and by position.
func TestSequenceAt(t *testing.T) {
	s := newStore(t)
	for range 5 {
		if err := putTag(t.Context(), s, 9); err != nil {
			t.Fatal(err)
		}
		for last := time.Now().UnixMilli(); time.Now().UnixMilli() <= last; { // times in the log are in milliseconds
		}
	}
	inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
		for _, e := range log {
			for _, c := range []struct {
				at   time.Time
				want uint64
			}{{e.Time, e.Sequence}, {e.Time.Add(-time.Millisecond), e.Sequence - 1}} {
				if got, err := snap.SequenceAt(c.at); e.Kind == store.BatchEntry && (err != nil || got != c.want) {
					t.Errorf("at %s: %d (%v), want %d", c.at, got, err, c.want)
				}
			}
			if got, err := snap.SequenceOf(store.Position{Epoch: e.Epoch, Sequence: e.Sequence}); err != nil ||
				got != e.Sequence {
				t.Errorf("position %d is %d (%v)", e.Sequence, got, err)
			}
		}
		epoch := log[0].Epoch
		for _, c := range []struct {
			at   store.Position
			want error
		}{
			{store.Position{Sequence: 3}, store.ErrOtherEpoch},
			{store.Position{Epoch: epoch, Sequence: 99}, store.ErrFuture},
			{store.Position{Sequence: 99}, store.ErrOtherEpoch}, {store.Position{Epoch: epoch}, store.ErrTrimmed},
		} {
			if _, err := snap.SequenceOf(c.at); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.at, err, c.want)
			}
		}
	})
	closeChecked(t, s)
}
