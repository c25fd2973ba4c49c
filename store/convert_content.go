package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
)

// content implements evolve.Content for a snapshot.
type content struct{ snap *Snapshot }

var _ evolve.Content = content{}

func (c content) Model() *contenttypes.Model { return c.snap.bound.model }

func (c content) of(t *contenttypes.ContentType) *boundSchema { return c.snap.bound.of(&t.Schema) }

func (c content) IsEmpty(t *contenttypes.ContentType) bool {
	empty := true
	c.snap.eachKey(format.Rows, be.AppendUint16(nil, c.of(t).number),
		func(_, _ []byte) bool { empty = false; return false })
	return empty
}

func (c content) Documents(t *contenttypes.ContentType) int {
	n := 0
	c.snap.eachKey(format.Docs, be.AppendUint16(nil, c.of(t).number), func(_, _ []byte) bool { n++; return true })
	return n
}

func (c content) FirstDocument(t *contenttypes.ContentType) (documentID string) {
	first := ^uint64(0)
	c.snap.eachKey(format.Docs, be.AppendUint16(nil, c.of(t).number), func(k, v []byte) bool {
		if doc := format.Number(v); doc < first {
			first, documentID = doc, string(k[2:])
		}
		return true
	})
	return documentID
}

func (c content) Document(t *contenttypes.ContentType, documentID string) (doc uint64, ok bool) {
	return c.snap.Document(t, documentID)
}

func (c content) EachLocale(t *contenttypes.ContentType, f func(code string, versions int)) {
	b := c.of(t)
	for n, code := range c.snap.store.locales.current.Load().codes {
		versions := 0
		for _, st := range []Status{Published, Draft} {
			versions += c.snap.size(
				format.AppendSpace(nil, b.number, b.fields[b.system.id.Index], format.NewSlot(uint16(n), st)))
		}
		if versions > 0 {
			f(code, versions)
		}
	}
}

func (c content) Drafts(t *contenttypes.ContentType, compared []*contenttypes.Attribute) (unpublished, different int) {
	b := c.of(t)
	c.snap.eachRowOf(b, func(draft Record) {
		if draft.Status() != Draft {
			return
		}
		published := c.snap.row(b, format.NewSlot(draft.slot.Locale(), Published), draft.doc)
		switch differs := func(a *contenttypes.Attribute) bool { return !c.snap.same(a, draft, published) }; {
		case !published.Exists():
			unpublished++
		case slices.ContainsFunc(compared, differs):
			different++
		}
	})
	return unpublished, different
}

// Survey reads the rows of each type in question once.
func (c content) Survey(questions []*evolve.Question) {
	asked := map[*contenttypes.Schema][]int{}
	for i, q := range questions {
		asked[q.Attr.Owner] = append(asked[q.Attr.Owner], i)
	}
	versions := make([]int, len(questions))
	for _, t := range c.Model().Types {
		if !slices.ContainsFunc(questions, func(q *evolve.Question) bool { return t.Holds(q.Attr.Owner) }) {
			continue
		}
		concerned := make([]bool, len(questions))
		c.snap.eachRowOf(c.of(t), func(r Record) {
			visit(r, func(r Record) {
				for _, i := range asked[r.table.bound.schema] {
					concerned[i] = questions[i].Concerns(storedValue{r, questions[i].Attr}) || concerned[i]
				}
			})
			for i, yes := range concerned {
				if yes {
					versions[i]++
					concerned[i] = false
				}
			}
		})
	}
	for i, q := range questions {
		q.Conclude(versions[i])
	}
}

// visit calls f with a record and all components inside it.
func visit(r Record, f func(Record)) {
	f(r)
	for _, a := range r.table.bound.schema.Attributes {
		if a.IsStored() && !a.IsScalar() {
			r.Each(a, func(item Record) bool {
				visit(item, f)
				return true
			})
		}
	}
}

// A storedValue is the value of an attribute in a record. It implements evolve.Value.
type storedValue struct {
	in   Record
	attr *contenttypes.Attribute
}

func (v storedValue) Exists() bool { return len(v.in.field(v.attr)) > 0 }
func (v storedValue) JSON() []byte { return v.in.JSON(v.attr) }
func (v storedValue) Text() string { return string(format.Unquote(v.JSON())) }

func (v storedValue) Components() (list []*contenttypes.Component) {
	v.in.Each(v.attr, func(item Record) bool { list = append(list, item.Component()); return true })
	return list
}

func (v storedValue) IsShared(locale string) bool {
	s := v.in.snap
	return s.same(v.attr, s.sharing(v.in, s.numberOf(locale)), v.in)
}

// eachKey calls yield with the keys that begin with prefix, and with their values.
func (s *Snapshot) eachKey(n format.Bucket, prefix []byte, yield func(k, v []byte) bool) {
	cur := s.bucket(n).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		if !yield(k, v) {
			return
		}
	}
}

// eachRowOf calls yield with all rows of a type.
func (s *Snapshot) eachRowOf(b *boundSchema, yield func(Record)) {
	s.eachKey(format.Rows, be.AppendUint16(nil, b.number), func(k, v []byte) bool {
		s.stats.rows++
		yield(Record{table: s.bound.tables[be.Uint16(v)], slot: format.Slot(be.Uint16(k[2:])), doc: be.Uint64(k[4:]),
			snap: s, data: v})
		return true
	})
}

func (c content) CountLinks(a *contenttypes.Attribute, rule evolve.LinkRule) (n evolve.LinkCounts) {
	s := c.snap
	schema, field := s.bound.relation(a)
	target := uint16(0)
	if rule.Target != "" {
		target = ^uint16(0) // a type without a number: no link leads to it
		if b := s.bound.byUID[rule.Target]; b != nil {
			target = b.number
		}
	}
	for _, set := range linkSets {
		links := 0
		s.eachList(format.LinkPrefix(schema, field, byte(format.FromSide), byte(set)), func(length int) {
			links += length
			if rule.One && length > 1 {
				n.From++
			}
		}, func(v []byte) {
			if to, _ := format.ParseLink(v); target != 0 && to.Schema != target {
				n.Foreign++
			}
		})
		n.Links = max(n.Links, links)
		if rule.OneBack {
			s.eachList(format.LinkPrefix(schema, field, byte(format.ToSide), byte(set)), func(length int) {
				if length > 1 {
					n.To++
				}
			}, func([]byte) {})
		}
	}
	return n
}

// eachList walks over the links whose keys begin with prefix. It calls link with the value of each link, and list with
// the length of each list.
func (s *Snapshot) eachList(prefix []byte, list func(length int), link func(v []byte)) {
	var first []byte
	length := 0
	s.eachKey(format.Links, prefix, func(k, v []byte) bool {
		s.stats.links++
		if first == nil || string(first[:format.LinkListLen]) != string(k[:format.LinkListLen]) {
			if length > 0 {
				list(length)
			}
			first, length = k, 0
		}
		length++
		link(v)
		return true
	})
	if length > 0 {
		list(length)
	}
}

// An Outlook says what Open would do with the content of a store.
type Outlook struct {
	Converts bool // it would convert the content, since the definitions have changed
	// First says what the next Open does before it compares definitions, "" if it compares them at once.
	First string
}

// Inspect says what Open would do with the store file at path for a model, and returns the *evolve.DefinitionError with
// which Open would refuse it. It changes nothing. A missing file counts as a store without content; a file that another
// process has open is ErrLocked.
//
// If Open would not refuse the model, and Outlook.First is empty, look is called with the content as it will be. look
// may be nil.
func Inspect(path string, model *contenttypes.Model, opts Options, look func(*Preview) error) (o Outlook, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return o, CheckThere(path)
	}
	db, err := openBolt(path, bolt.Options{Timeout: max(opts.LockTimeout, 50*time.Millisecond), ReadOnly: true},
		os.Open)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return newFile(db, path).inspect(model, opts, look)
}

// Inspect says what Redefine would do, as the function Inspect does for Open.
func (s *Store) Inspect(model *contenttypes.Model, opts Options, look func(*Preview) error) (Outlook, error) {
	return s.inspect(model, opts, look)
}

// inspect reads the definitions and the content in one transaction.
func (f *file) inspect(model *contenttypes.Model, opts Options, look func(*Preview) error) (o Outlook, err error) {
	switch u, _, err := f.plannedUpgrade(opts); {
	case err != nil:
		return o, err
	case u.Copy != "":
		o.First = fmt.Sprintf("keeps a copy of the store in %s and brings it from format %d to format %d",
			filepath.Base(u.Copy), u.From, u.To)
		return o, nil
	case u.From != u.To:
		o.First = fmt.Sprintf("brings the store from format %d to format %d", u.From, u.To)
		return o, nil
	}
	err = f.read(func(tx *bolt.Tx) error {
		meta := f.meta(tx)
		if err := f.checkFormat(meta); err != nil {
			return err
		}
		cat, locales, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		f.locales.current.CompareAndSwap(nil, locales)
		left, err := loadPending(meta)
		switch {
		case err != nil:
			return err
		case len(left.Steps) > 0:
			o.First = "goes on with a conversion that was interrupted"
			return nil
		}
		plan := &evolve.Plan{}
		if o.Converts = evolve.Converts(model, cat); o.Converts {
			if plan, err = f.planner(tx, opts).Convert(cat, model); err != nil {
				return err
			}
		}
		if look == nil {
			return nil
		}
		p, err := f.preview(tx, model, cat, plan)
		if err != nil {
			return err
		}
		defer p.snap.end()
		return look(p)
	})
	return o, err
}

// A Preview is the content of a store as it would be after its conversion to a model. It may be used by one goroutine,
// until the function that it was passed to returns.
type Preview struct {
	snap    *Snapshot
	catalog *evolve.Catalog
	retyped map[*contenttypes.Attribute]*evolve.Retyping
}

// preview returns the Preview of the content after a plan.
func (f *file) preview(tx *bolt.Tx, model *contenttypes.Model, cat *evolve.Catalog,
	plan *evolve.Plan) (*Preview, error) {
	left, err := cat.Clone() // new numbers must not get into cat
	if err != nil {
		return nil, err
	}
	p := &Preview{catalog: left, retyped: plan.Retyped}
	if plan.Define != nil {
		if err := plan.Define.Apply(left); err != nil {
			return nil, err
		}
	}
	bound, err := bind(model, left)
	if err != nil {
		return nil, err
	}
	p.snap = newSnapshot(&Store{file: f, bound: bound}, tx)
	return p, nil
}

// Model returns the model under which the content is read.
func (p *Preview) Model() *contenttypes.Model { return p.snap.bound.model }

// Each calls yield with all versions of a type. It stops, and returns the error of ctx, when ctx ends.
func (p *Preview) Each(ctx context.Context, t *contenttypes.ContentType, yield func(Record)) error {
	p.snap.eachRowOf(p.snap.bound.of(&t.Schema), func(r Record) {
		if ctx.Err() == nil {
			yield(r)
		}
	})
	return ctx.Err()
}

// Locales returns the codes of all locales that content has or had, "" included.
func (p *Preview) Locales() []string { return p.snap.store.locales.current.Load().codes }

// LocaleCodes returns the codes of all locales that content has or had.
func (s *Snapshot) LocaleCodes() []string { return s.store.locales.current.Load().codes[1:] }

// JSON returns the value of a scalar attribute as it will be after the conversion, nil if it is null.
func (p *Preview) JSON(r Record, a *contenttypes.Attribute) []byte {
	raw := r.JSON(a)
	if by := p.retyped[a]; by != nil && raw != nil {
		raw, _ = evolve.Retype(by.From, by.To, raw) // a value that cannot be converted was refused
	}
	return raw
}

// Indexed reports whether an attribute has a complete index before the conversion.
func (p *Preview) Indexed(a *contenttypes.Attribute) bool { return p.catalog.IsIndexed(a) }

// Equal is Snapshot.Equal, for attributes that are Indexed.
func (p *Preview) Equal(t *contenttypes.ContentType, status Status, locale string, a *contenttypes.Attribute,
	value []byte, yield func(Record) bool) {
	p.snap.Equal(t, status, locale, a, value, yield)
}

// IndexedInside reports whether the unique attributes inside a component attribute or dynamic zone have a complete
// index before the conversion.
func (p *Preview) IndexedInside(a *contenttypes.Attribute) bool { return p.catalog.HasInner(a) }

// EqualInside is Snapshot.EqualInside, for paths that begin with an attribute that is IndexedInside.
func (p *Preview) EqualInside(t *contenttypes.ContentType, status Status, locale string, path []*contenttypes.Attribute,
	value []byte, yield func(Record) bool) {
	p.snap.EqualInside(t, status, locale, path, value, yield)
}

// Related is Snapshot.Related.
func (p *Preview) Related(r Record, a *contenttypes.Attribute, status Status, yield func(Record) bool) {
	p.snap.Related(r, a, status, yield)
}
