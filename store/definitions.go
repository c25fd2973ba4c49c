package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// load reads the catalog and converts the content if the model differs from it. If it does not differ, load reads no
// content and writes nothing.
func (f *file) load(model *contenttypes.Model, opts Options) (*Store, error) {
	c, err := f.loadConversion(opts)
	if err != nil {
		return nil, err
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("go on converting %s: %w", f.path, err)
	}
	if evolve.Converts(model, c.catalog) {
		c.pending = pending{}
		if c.pending.Steps, err = f.plan(model, c.catalog, opts); err != nil {
			return nil, err
		}
		if err := c.run(); err != nil {
			return nil, fmt.Errorf("convert %s: %w", f.path, err)
		}
	}
	bound, err := bind(model, c.catalog)
	if err != nil {
		return nil, err
	}
	return f.newStore(bound), nil
}

// loadConversion reads the definitions and locales of the file, and what is left of an interrupted conversion.
func (f *file) loadConversion(opts Options) (*conversion, error) {
	c := &conversion{store: &Store{file: f}, progress: opts.Progress, hooks: opts.hooks, by: cmp.Or(opts.By, system)}
	err := f.read(func(tx *bolt.Tx) error {
		meta := f.meta(tx)
		if err := f.checkFormat(meta); err != nil {
			return err
		}
		cat, loc, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		c.catalog = cat
		f.locales.current.Store(loc)
		f.locales.persisted = len(loc.codes) - 1
		f.revised.Store(getNumber(meta, format.KeySequence))
		if f.log.epoch, err = logentry.ParseEpoch(
			string(format.WithoutChecksum(meta.Get(format.KeyEpoch)))); err != nil {
			return err
		}
		part, last, err := loadPart(meta)
		if err != nil {
			return err
		}
		f.part.Store(part)
		c.last = last
		c.pending, err = loadPending(meta)
		return err
	})
	return c, err
}

// checkFormat returns an error unless the file is a store of the present format.
func (f *file) checkFormat(meta *tree) error {
	if meta.pages == nil {
		return fmt.Errorf("open store %s: this is no Lectern store", f.path)
	}
	if format := getNumber(meta, format.KeyFormat); format != known.newest {
		return fmt.Errorf("open store %s: it has format %d, and this needs format %d; start a server on it first",
			f.path, format, known.newest)
	}
	return nil
}

// plan returns the steps that convert the content to a model, or a *evolve.DefinitionError.
func (f *file) plan(model *contenttypes.Model, cat *evolve.Catalog, opts Options) (steps []*evolve.Step, err error) {
	err = f.read(func(tx *bolt.Tx) error {
		plan, err := f.planner(tx, opts).Convert(cat, model)
		if err == nil {
			steps = plan.Steps
		}
		return err
	})
	return steps, err
}

// planner returns a Planner for the content that a transaction sees.
func (f *file) planner(tx *bolt.Tx, opts Options) *evolve.Planner {
	return &evolve.Planner{DefaultLocale: opts.DefaultLocale,
		Content: func(cat *evolve.Catalog) (evolve.Content, error) {
			bound, err := bindStored(cat)
			if err != nil {
				return nil, err
			}
			return content{newSnapshot(&Store{file: f, bound: bound}, tx)}, nil
		}}
}

// A binding joins a Model with the numbers in the catalog, compiled for reading and writing rows. It is immutable.
type binding struct {
	model  *contenttypes.Model
	byUID  map[string]*boundSchema
	byNum  []*boundSchema // by number; nil if the model does not have it
	tables []*table       // by layout number
	// absent are the numbers of types and components that the catalog has and the model does not. Links may still name
	// them.
	absent map[string]uint16
}

// A boundSchema is a content-type or component with its numbers.
type boundSchema struct {
	number  uint16
	schema  *contenttypes.Schema
	typ     *contenttypes.ContentType // nil for components
	comp    *contenttypes.Component
	fields  []uint16                  // field numbers, by Attribute.Index
	current *table                    // the layout of new rows
	indexed []*contenttypes.Attribute // those with an index, id included
	texts   []*contenttypes.Attribute // those with an index of their text
	inner   []innerIndex              // the inner indexes that are complete
	system  systemAttributes
}

type systemAttributes struct{ id, documentID, updatedAt *contenttypes.Attribute }

// A table says where a row of one layout has the attributes of the present schema.
type table struct {
	number uint16
	bound  *boundSchema // nil if the schema was removed
	pos    []int16      // by Attribute.Index; -1: not in this layout
	fields int          // how many fields rows of this layout have
}

// locales numbers the locale codes from 1. 0 stands for "not localized".
type locales struct {
	codes   []string // codes[0] is ""
	numbers map[string]uint16
}

func newLocales(codes []string) *locales {
	l := &locales{codes: append([]string{""}, codes...), numbers: map[string]uint16{"": 0}}
	for i, c := range codes {
		l.numbers[c] = uint16(i + 1)
	}
	return l
}

// bind gives numbers to what is new in the model, and compiles the model and the catalog.
func bind(model *contenttypes.Model, c *evolve.Catalog) (*binding, error) {
	if err := c.Number(model); err != nil {
		return nil, err
	}
	b := &binding{model: model, byUID: map[string]*boundSchema{}, absent: map[string]uint16{}}
	for _, t := range model.Types {
		b.add(c, &boundSchema{schema: &t.Schema, typ: t})
	}
	for _, comp := range model.Components {
		b.add(c, &boundSchema{schema: &comp.Schema, comp: comp})
	}
	for uid, e := range c.Schemas {
		if b.byUID[uid] == nil {
			b.absent[uid] = e.Number
		}
	}
	for n, l := range c.Layouts {
		b.tables = append(b.tables, b.compile(uint16(n), l))
	}
	for _, s := range b.byUID {
		s.current = b.tables[c.Schemas[s.schema.UID].Layout]
		if s.typ != nil {
			s.inner = b.innerIndexes(c, s)
		}
	}
	return b, nil
}

// bindStored binds a catalog to the definitions in it.
func bindStored(c *evolve.Catalog) (*binding, error) {
	model, err := c.Model()
	if err != nil {
		return nil, err
	}
	return bind(model, c)
}

// add adds a schema with its numbers.
func (b *binding) add(c *evolve.Catalog, s *boundSchema) {
	e := c.Schemas[s.schema.UID]
	s.number = e.Number
	for _, a := range s.schema.Attributes {
		s.fields = append(s.fields, e.Fields[a.Name])
		if s.typ != nil && evolve.HasIndex(a) {
			s.indexed = append(s.indexed, a)
		}
		if s.typ != nil && evolve.HasText(a) {
			s.texts = append(s.texts, a)
		}
	}
	s.system = systemAttributes{s.schema.Attribute("id"), s.schema.Attribute("documentId"),
		s.schema.Attribute("updatedAt")}
	b.byUID[s.schema.UID] = s
	if n := int(s.number) + 1 - len(b.byNum); n > 0 {
		b.byNum = append(b.byNum, make([]*boundSchema, n)...)
	}
	b.byNum[s.number] = s
}

func (b *binding) compile(n uint16, l evolve.LayoutEntry) *table {
	t := &table{number: n, bound: b.numbered(l.Schema), fields: len(l.Fields)}
	if t.bound == nil {
		return t
	}
	for i, a := range t.bound.schema.Attributes {
		pos := -1
		if a.IsStored() {
			pos = slices.Index(l.Fields, t.bound.fields[i])
		}
		t.pos = append(t.pos, int16(pos))
	}
	return t
}

// numbered returns the type or component with a number, nil if the model does not have it.
func (b *binding) numbered(n uint16) *boundSchema {
	if int(n) >= len(b.byNum) {
		return nil
	}
	return b.byNum[n]
}

func (b *binding) of(s *contenttypes.Schema) *boundSchema { return b.byUID[s.UID] }

// has reports whether a type is one of the model. A type of another model may have the same uid and other attributes.
func (b *binding) has(t *contenttypes.ContentType) bool {
	s := b.byUID[t.UID]
	return s != nil && s.typ == t
}

// relation returns the numbers with which the link keys of an owning attribute begin.
func (b *binding) relation(a *contenttypes.Attribute) (schema, field uint16) {
	s := b.of(a.Owner)
	return s.number, s.fields[a.Index]
}

// loadCatalog reads the catalog and the locale codes. In a new file both are empty.
func loadCatalog(meta *tree) (*evolve.Catalog, *locales, error) {
	c := evolve.NewCatalog()
	if raw := storedCatalog(meta.snap); raw != nil {
		if err := json.Unmarshal(raw, c); err != nil {
			return nil, nil, fmt.Errorf("read catalog: %w", err)
		}
	}
	var codes []string
	if raw := format.WithoutChecksum(meta.Get(format.KeyLocales)); raw != nil {
		if err := json.Unmarshal(raw, &codes); err != nil {
			return nil, nil, fmt.Errorf("read locales: %w", err)
		}
	}
	return c, newLocales(codes), nil
}

// storedCatalog returns the catalog as it is stored, nil if there is none.
func storedCatalog(s *Snapshot) []byte {
	return format.WithoutChecksum(s.bucket(format.Catalog).Get(format.KeyCatalog))
}

func saveCatalog(meta *tree, c *evolve.Catalog) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("print catalog: %w", err)
	}
	return meta.snap.bucket(format.Catalog).Put(format.KeyCatalog, freshValue{raw})
}

// A localeTable gives numbers to locale codes. A write that is rolled back may leave new numbers here; the next write
// that uses them stores them.
type localeTable struct {
	current   atomic.Pointer[locales]
	persisted int // how many codes are in the file; used by the writer goroutine only
}

// number returns the number of a code, and gives it one if it has none. Only the writer goroutine may call it.
func (t *localeTable) number(code string) (uint16, error) {
	cur := t.current.Load()
	if n, ok := cur.numbers[code]; ok {
		return n, nil
	}
	if len(cur.codes) > format.MaxLocales {
		return 0, fmt.Errorf("locale %q: %w", code, ErrTooManyLocales)
	}
	next := newLocales(append(slices.Clone(cur.codes[1:]), code))
	t.current.Store(next)
	return next.numbers[code], nil
}
