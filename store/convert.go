package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A conversion carries out the steps that package evolve has planned, in transactions of a bounded number of rows. Each
// transaction also stores which steps are left and how far the first of them is. After a crash, the next start
// continues from there.
//
// A step runs under the definitions in the catalog. The step evolve.Define replaces these: steps before it see the old
// definitions, steps after it the new ones.
type conversion struct {
	store    *Store
	catalog  *evolve.Catalog
	pending  pending
	bound    *binding // compiled from the catalog; nil until bind is called
	dirty    bool     // this transaction has changed the catalog
	progress func(what string, done, total int)
	hooks    *conversionHooks
	goesOn   func() error // called before each transaction; may be nil
	by       Principal
	last     EntryHash         // of the origin's entry that the content of a partial replica is behind
	notes    map[string][]byte // see Options.Notes; nil once they are stored
}

// conversionHooks let tests stop a conversion as a crash would.
type conversionHooks struct {
	rows      int          // in place of convertedRows
	committed func() error // called after each transaction that leaves something to do
}

// pending is the part of a conversion that the file keeps.
type pending struct {
	Migrations evolve.Migrations `json:"migrations,omitempty"` // the migrations that the steps carry out
	Steps      []*evolve.Step    `json:"steps"`
	Removed    evolve.Removed    `json:"removed"`
}

// loadPending reads what is left of an interrupted conversion.
func loadPending(meta *tree) (p pending, err error) {
	if raw := format.WithoutChecksum(meta.Get(format.KeyPending)); raw != nil {
		if err := json.Unmarshal(raw, &p); err != nil {
			return p, fmt.Errorf("read pending conversion: %w", err)
		}
	}
	return p, nil
}

func (p pending) save(meta *tree) error {
	if len(p.Steps) == 0 {
		return meta.Delete(format.KeyPending)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("print pending conversion: %w", err)
	}
	return meta.Put(format.KeyPending, freshValue{raw})
}

// run carries out all pending steps.
func (c *conversion) run() error {
	for len(c.pending.Steps) > 0 {
		s := c.pending.Steps[0]
		if c.goesOn != nil {
			if err := c.goesOn(); err != nil {
				return err
			}
		}
		if err := c.carryOut(s); err != nil {
			return fmt.Errorf("%s: %w", s.Work, err)
		}
		if c.progress != nil && s.At.Done+s.At.Total > 0 {
			c.progress(s.Work.String(), s.At.Done, max(s.At.Total, s.At.Done))
		}
		if c.hooks != nil && len(c.pending.Steps) > 0 {
			if err := c.hooks.committed(); err != nil {
				return err
			}
		}
	}
	if len(c.notes) > 0 {
		return c.transaction(func(*Tx) error { return nil })
	}
	return nil
}

// transaction calls f and stores the notes, in one transaction.
func (c *conversion) transaction(f func(*Tx) error) error {
	return c.store.guard(func() error { return c.commit(f) })
}

func (c *conversion) commit(f func(*Tx) error) error {
	if err := c.bind(); err != nil {
		return err
	}
	defer c.store.snapshots.Drain()()
	btx, err := c.store.beginWrite()
	if err != nil {
		return err
	}
	defer rollback(btx)
	tx := newTx(c.store, btx)
	tx.bound = c.bound
	tx.log.by = c.by
	defer tx.end()
	if err := f(tx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.notes)) {
		if err := tx.PutNote(name, c.notes[name]); err != nil {
			return err
		}
	}
	if err := tx.finish(); err != nil {
		return err
	}
	if err := tx.commit(false); err != nil {
		return err
	}
	c.notes = nil
	return nil
}

// carryOut carries out the next rows of a step in one transaction.
func (c *conversion) carryOut(s *evolve.Step) error {
	var left pending
	err := c.transaction(func(tx *Tx) error {
		tx.sequence++
		entry, err := c.entry(s)
		if err != nil {
			return err
		}
		done, err := (&chunk{Tx: tx, conversion: c, at: &s.At}).run(s.Work)
		if err != nil {
			return err
		}
		if left = c.pending; done {
			left.Steps = left.Steps[1:]
		}
		if err := left.save(tx.bucket(format.Meta)); err != nil {
			return err
		}
		if c.dirty {
			if err := saveCatalog(tx.bucket(format.Meta), c.catalog); err != nil {
				return err
			}
		}
		return c.log(tx, entry, left)
	})
	if err != nil {
		return err
	}
	c.pending = left
	if c.dirty {
		c.dirty, c.bound = false, nil
	}
	return nil
}

// entry begins the entry of the transaction that carries out the next rows of a step.
func (c *conversion) entry(s *evolve.Step) (e logentry.Conversion, err error) {
	switch work := s.Work.(type) {
	case *evolve.BuildIndex, *evolve.BuildInner, *evolve.DropIndex:
		e.Rows = uint64(c.limit())
		e.Step, err = json.Marshal(s)
	case *evolve.Define:
		e.Converted, err = work.Reinterprets(c.catalog)
	default:
		e.Converted = true
	}
	return e, err
}

// log stores the entry, given what is left of the conversion.
func (c *conversion) log(tx *Tx, e logentry.Conversion, left pending) (err error) {
	tx.revise(everyType)
	if c.dirty {
		if e.Catalog, err = json.Marshal(c.catalog); err != nil {
			return fmt.Errorf("print catalog: %w", err)
		}
	}
	if len(left.Steps) > 0 {
		if e.Pending, err = json.Marshal(left); err != nil {
			return fmt.Errorf("print pending conversion: %w", err)
		}
	}
	return tx.append(ConversionEntry, e)
}

// bind compiles the definitions in the catalog. Writes of the conversion update only those indexes that are complete.
func (c *conversion) bind() error {
	if c.bound != nil {
		return nil
	}
	bound, err := bindStored(c.catalog)
	if err != nil {
		return err
	}
	for uid, s := range bound.byUID {
		e := c.catalog.Schemas[uid]
		s.indexed = slices.DeleteFunc(s.indexed, func(a *contenttypes.Attribute) bool {
			return !slices.Contains(e.Indexed, s.fields[a.Index])
		})
		s.texts = slices.DeleteFunc(s.texts, func(a *contenttypes.Attribute) bool { return !c.catalog.HasText(a) })
	}
	c.bound = bound
	return nil
}

// A chunk is the part of a step that one transaction carries out.
type chunk struct {
	*Tx
	conversion *conversion
	at         *evolve.Position
}

// run carries out the next rows of a step, and reports whether the step is done.
func (c *chunk) run(work evolve.Work) (done bool, err error) {
	switch work := work.(type) {
	case *evolve.Define:
		c.conversion.dirty = true
		return true, work.Apply(c.conversion.catalog)
	case *evolve.DropIndex:
		return c.dropIndex(work)
	case *evolve.BuildIndex:
		return c.buildIndex(work)
	case *evolve.BuildInner:
		return c.buildInner(work)
	case *evolve.EditValues:
		return c.editValues(work)
	case *evolve.MoveLocale:
		return c.moveLocale(work)
	case *evolve.MoveRefs:
		return c.moveRefs(work)
	case *evolve.AddDrafts:
		return c.addDrafts(work)
	case *evolve.DropDrafts:
		return c.dropDrafts(work)
	case *evolve.Prune:
		return c.prune(work)
	case *evolve.Share:
		return c.share(work)
	case *evolve.AddDraftLinks:
		return c.addDraftLinks(work)
	case *evolve.DropDraftLinks:
		return c.dropDraftLinks(work)
	case *evolve.DropLinks:
		return c.dropLinks(work)
	case *evolve.TrimLinks:
		return c.trimLinks(work)
	case *evolve.FlipLinks:
		return c.flipLinks(work)
	}
	return false, fmt.Errorf("there is no way to carry out the step %T", work)
}

// convertedRows is how many rows a transaction of a conversion goes through. It is large enough that fsyncs take little
// of the time, and small enough that a crash costs little work and memory stays small.
const convertedRows = 1000

// convertedBytes is after how many bytes of recorded changes a transaction of a conversion goes through no further row.
// Nodes of a cluster must be able to agree to it (maxProposed).
const convertedBytes = 8 << 20

func (c *chunk) limit() int { return c.conversion.limit() }

func (c *conversion) limit() int {
	if c.hooks != nil && c.hooks.rows > 0 {
		return c.hooks.rows
	}
	return convertedRows
}

// keys returns the keys with a prefix that follow the position of the step, limit of them at most. last reports whether
// no more follow.
func (c *chunk) keys(n format.Bucket, prefix []byte, limit int) (keys [][]byte, last bool) {
	cur := c.bucket(n).Cursor()
	from := prefix
	if c.at.After != nil {
		from = append(bytes.Clone(c.at.After), 0)
	}
	for k, _ := cur.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
		if len(keys) == limit {
			return keys, false
		}
		keys = append(keys, bytes.Clone(k))
	}
	return keys, true
}

// eachRow calls f with the next rows of a type, and reports whether these were the last. f may change, add and remove
// rows.
func (c *chunk) eachRow(t *contenttypes.ContentType, f func(Record) error) (done bool, err error) {
	b := c.bound.of(&t.Schema)
	if c.at.After == nil {
		c.at.Total = c.rowCount(b)
	}
	keys, last := c.keys(format.Rows, be.AppendUint16(nil, b.number), c.limit())
	for i, k := range keys {
		if i > 0 && len(c.store.log.ops) >= convertedBytes {
			keys, last = keys[:i], false
			break
		}
		r := c.row(b, format.Slot(be.Uint16(k[2:])), be.Uint64(k[4:]))
		if !r.Exists() {
			continue // removed by f
		}
		if err := f(r); err != nil {
			return false, err
		}
	}
	c.at.Done += len(keys)
	if len(keys) > 0 {
		c.at.After = keys[len(keys)-1]
	}
	return last, nil
}

// rowCount returns how many rows a type has.
func (s *Snapshot) rowCount(b *boundSchema) int {
	prefix := be.AppendUint16(be.AppendUint16(nil, b.number), b.fields[b.system.id.Index])
	n := 0
	cur := s.bucket(format.Spans).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		n += format.TallyEntries(v)
	}
	return n
}

// typ returns the content-type with a uid.
func (c *chunk) typ(uid string) (*contenttypes.ContentType, error) {
	if t := c.bound.model.Type(uid); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("there is no content-type %s", uid)
}

// attribute returns an attribute of the type or component with a uid.
func (c *chunk) attribute(uid, name string) (*contenttypes.Attribute, error) {
	if b := c.bound.byUID[uid]; b != nil {
		if a := b.schema.Attribute(name); a != nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("there is no attribute %s.%s", uid, name)
}

// dropIndex carries out evolve.DropIndex.
func (c *chunk) dropIndex(d *evolve.DropIndex) (bool, error) {
	prefix := be.AppendUint16(be.AppendUint16(nil, d.Schema), d.Field)
	for _, n := range []format.Bucket{format.Index, format.Young, format.Groups, format.Spans} {
		removed, last, err := c.deletePrefix(n, prefix)
		if n == format.Index {
			c.at.Done += removed
		}
		if err != nil || !last {
			return false, err
		}
	}
	return true, nil
}

// deletePrefix removes the next keys with a prefix, and reports whether these were the last. It removes links at both
// ends.
func (c *chunk) deletePrefix(n format.Bucket, prefix []byte) (removed int, last bool, err error) {
	at := c.at.After
	c.at.After = nil // start at the prefix, since the keys before the position are removed
	keys, last := c.keys(n, prefix, 4*c.limit())
	c.at.After = at
	for _, k := range keys {
		if n == format.Links {
			v := c.get(format.Links, k)
			if v == nil {
				continue // removed with its other end
			}
			otherKey := format.OtherKey(k, v)
			c.logLinkKey(logentry.DeleteLink, k, v)
			c.delete(format.Links, k)
			c.delete(format.Links, otherKey)
			continue
		}
		if err := c.bucket(n).Delete(k); err != nil {
			return 0, false, err
		}
	}
	return len(keys), last, nil
}

// buildIndex carries out evolve.BuildIndex.
func (c *chunk) buildIndex(s *evolve.BuildIndex) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	b, e := c.bound.of(&t.Schema), c.conversion.catalog.Schemas[s.Type]
	missing := slices.DeleteFunc(slices.Clone(t.Attributes), func(a *contenttypes.Attribute) bool {
		return !evolve.HasIndex(a) || slices.Contains(e.Indexed, b.fields[a.Index])
	})
	texts := slices.DeleteFunc(slices.Clone(t.Attributes), func(a *contenttypes.Attribute) bool {
		return !c.conversion.catalog.LacksText(a)
	})
	if len(texts) > 0 { // so that no row on the list is one that the new index does not have
		if err := c.indexTexts(b); err != nil {
			return false, err
		}
	}
	done, err := c.eachRow(t, func(r Record) error {
		for _, a := range missing {
			c.indexer.add(indexKey(b, a, r), r.doc)
		}
		for _, a := range texts {
			c.addText(b, r.slot, r.doc, textOf(b, a, r))
		}
		return nil
	})
	if done {
		for _, a := range texts {
			e.Texts = append(e.Texts, b.fields[a.Index])
		}
		slices.Sort(e.Texts)
		for _, a := range missing {
			e.Indexed = append(e.Indexed, b.fields[a.Index])
		}
		slices.Sort(e.Indexed)
		c.conversion.dirty = true
	}
	return done, err
}
