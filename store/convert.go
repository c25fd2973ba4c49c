package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"lectern/contenttypes"
)

// A conversion brings content from what it was written under to other definitions, step by step and transaction by
// transaction. What is still to be done is kept in the file, with how far it is, so that a conversion that was killed goes on
// at the next start where its last transaction ended.
//
// Steps run under the definitions that the catalog holds, whatever the project says by then: one of the steps puts others
// in their place (see defineStep), those before it still see the old ones.
type conversion struct {
	store    *Store
	catalog  *catalog
	pending  pending
	bound    *binding // of the catalog's definitions; nil: to be made
	dirty    bool     // the catalog was changed in this transaction
	progress func(what string, done, total int)
	hooks    *conversionHooks
	goesOn   func() error // called before each transaction; may be nil
}

// conversionHooks let tests stop a conversion where a kill would.
type conversionHooks struct {
	rows      int          // a transaction's worth
	committed func() error // called after each transaction that leaves something to do
}

// pending is what the file keeps of a conversion.
type pending struct {
	Migrations Migrations `json:"migrations,omitempty"` // that the steps are of
	Migration  *Migration `json:"migration,omitempty"`  // in place of Migrations, where an earlier version began
	Steps      []*step    `json:"steps"`
	Removed    Removed    `json:"removed"`
}

// begun are the migrations that the steps are of.
func (p pending) begun() Migrations {
	if p.Migration != nil {
		return Migrations{*p.Migration}
	}
	return p.Migrations
}

// Removed counts what a migration took away.
type Removed struct {
	Documents int `json:"documents"` // of which nothing is left
	Versions  int `json:"versions"`
	Values    int `json:"values"` // versions that lost a value and are kept
	Links     int `json:"links"`
}

// A step is a part of a conversion.
type step struct {
	work stepWork
	at   position
}

// stepWork is what a step does. Its exported fields are kept in the file.
type stepWork interface {
	// kind is its name in stepKinds.
	kind() string
	// what says in words what is done.
	what() string
	// run does a transaction's worth and reports whether that was the last.
	run(*chunk) (done bool, err error)
}

// position is how far a step is.
type position struct {
	After []byte `json:"after,omitempty"` // the last key that was looked at
	Done  int    `json:"done,omitempty"`
	Total int    `json:"total,omitempty"`
}

// stepKinds are the names under which steps are kept in files: add to them, but change none.
var stepKinds = map[string]func() stepWork{
	"define":     func() stepWork { return new(defineStep) },
	"dropIndex":  func() stepWork { return new(dropIndexStep) },
	"buildIndex": func() stepWork { return new(buildIndexStep) },
	"values":     func() stepWork { return new(valuesStep) },
	"moveLocale": func() stepWork { return new(moveLocaleStep) },
	"moveRefs":   func() stepWork { return new(moveRefsStep) },
	"addDrafts":  func() stepWork { return new(addDraftsStep) },
	"dropDrafts": func() stepWork { return new(dropDraftsStep) },
	"prune":      func() stepWork { return new(pruneStep) },
	"share":      func() stepWork { return new(shareStep) },
	"copyPlane":  func() stepWork { return new(copyPlaneStep) },
	"dropPlane":  func() stepWork { return new(dropPlaneStep) },
	"dropLinks":  func() stepWork { return new(dropLinksStep) },
	"trimLinks":  func() stepWork { return new(trimLinksStep) },
	"flipLinks":  func() stepWork { return new(flipLinksStep) },
}

type stepJSON struct {
	Kind string          `json:"kind"`
	At   position        `json:"at"`
	Work json.RawMessage `json:"work"`
}

// MarshalJSON implements json.Marshaler.
func (s *step) MarshalJSON() ([]byte, error) {
	work, err := json.Marshal(s.work)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stepJSON{s.work.kind(), s.at, work})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *step) UnmarshalJSON(raw []byte) error {
	var j stepJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	make := stepKinds[j.Kind]
	if make == nil {
		return fmt.Errorf("a conversion that was begun has a step %q, which this version of Lectern does not know; go on with the one that began it", j.Kind)
	}
	s.work, s.at = make(), j.At
	return json.Unmarshal(j.Work, s.work)
}

func steps(work ...stepWork) []*step {
	list := make([]*step, len(work))
	for i, w := range work {
		list[i] = &step{work: w}
	}
	return list
}

// loadPending reads what a conversion that did not end has left to do.
func loadPending(meta *tree) (p pending, err error) {
	if raw := textOf(meta.Get(keyPending)); raw != nil {
		if err := json.Unmarshal(raw, &p); err != nil {
			return p, fmt.Errorf("read pending conversion: %w", err)
		}
	}
	return p, nil
}

func (p pending) save(meta *tree) error {
	if len(p.Steps) == 0 {
		return meta.Delete(keyPending)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("print pending conversion: %w", err)
	}
	return meta.Put(keyPending, raw)
}

// run does all that is pending.
func (c *conversion) run() error {
	for len(c.pending.Steps) > 0 {
		s := c.pending.Steps[0]
		if c.goesOn != nil {
			if err := c.goesOn(); err != nil {
				return err
			}
		}
		if err := c.transaction(s); err != nil {
			return fmt.Errorf("%s: %w", s.work.what(), err)
		}
		if c.progress != nil && s.at.Done+s.at.Total > 0 {
			c.progress(s.work.what(), s.at.Done, max(s.at.Total, s.at.Done))
		}
		if c.hooks != nil && len(c.pending.Steps) > 0 {
			if err := c.hooks.committed(); err != nil {
				return err
			}
		}
	}
	return nil
}

// transaction does a transaction's worth of a step and notes it.
func (c *conversion) transaction(s *step) error {
	return c.store.guard(func() error { return c.carryOut(s) })
}

func (c *conversion) carryOut(s *step) error {
	if err := c.bind(); err != nil {
		return err
	}
	c.store.resting.bar()
	defer c.store.resting.open()
	btx, err := c.store.beginWrite()
	if err != nil {
		return err
	}
	defer func() { _ = btx.Rollback() }() // after a commit this does nothing and says so
	tx := newTx(c.store, btx)
	tx.bound = c.bound
	tx.sequence++
	defer tx.end()
	done, err := s.work.run(&chunk{Tx: tx, conversion: c, at: &s.at})
	if err != nil {
		return err
	}
	left := c.pending
	if done {
		left.Steps = left.Steps[1:]
	}
	if err := left.save(tx.bucket(metas)); err != nil {
		return err
	}
	if c.dirty {
		if err := saveCatalog(tx.bucket(metas), c.catalog); err != nil {
			return err
		}
	}
	if err := tx.finish(); err != nil {
		return err
	}
	if err := c.store.commitTx(btx, false); err != nil {
		return err
	}
	c.store.locales.persisted = tx.localesUsed
	c.pending = left
	if c.dirty {
		c.dirty, c.bound = false, nil
	}
	return nil
}

// bind compiles the catalog's definitions. Rows are kept in step with those indexes only that are complete.
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
	}
	c.bound = bound
	return nil
}

// bindStored binds a catalog to the definitions it holds itself.
func bindStored(cat *catalog) (*binding, error) {
	model, err := storedModel(cat)
	if err != nil {
		return nil, err
	}
	return bind(model, cat)
}

// storedModel is the model of the definitions that a catalog holds.
func storedModel(cat *catalog) (*contenttypes.Model, error) {
	var definitions [][]byte
	for _, uid := range slices.Sorted(maps.Keys(cat.Schemas)) {
		if d := cat.Schemas[uid].Definition; d != nil {
			definitions = append(definitions, d)
		}
	}
	return contenttypes.FromDefinitions(definitions)
}

// A chunk is the transaction in which a step does a part of its work.
type chunk struct {
	*Tx
	conversion *conversion
	at         *position
}

// convertedRows is how many rows a transaction of a conversion goes through: so many that its fsyncs do not matter, so few
// that a kill costs little and memory stays small.
const convertedRows = 1000

func (c *chunk) limit() int {
	if h := c.conversion.hooks; h != nil && h.rows > 0 {
		return h.rows
	}
	return convertedRows
}

// keys returns keys that begin with prefix, from the one after the step's position on, and whether these are all that are left.
func (c *chunk) keys(n bucket, prefix []byte, limit int) (keys [][]byte, last bool) {
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

// eachRow calls f with the next rows of a type. f may change rows and add some.
func (c *chunk) eachRow(t *contenttypes.ContentType, f func(Record) error) (done bool, err error) {
	b := c.bound.of(&t.Schema)
	if c.at.After == nil {
		c.at.Total = c.rowCount(b)
	}
	keys, last := c.keys(rows, be.AppendUint16(nil, b.number), c.limit())
	for _, k := range keys {
		c.lastRow = nil
		r := c.row(b, slot(be.Uint16(k[2:])), be.Uint64(k[4:]))
		if !r.Exists() {
			continue // f has removed it
		}
		if err := f(r); err != nil {
			return false, err
		}
	}
	c.lastRow = nil
	c.at.Done += len(keys)
	if len(keys) > 0 {
		c.at.After = keys[len(keys)-1]
	}
	return last, nil
}

// rowCount is how many rows a type has in all slots.
func (s *Snapshot) rowCount(b *boundSchema) int {
	prefix := be.AppendUint16(be.AppendUint16(nil, b.number), b.fields[b.system.id.Index])
	n := 0
	cur := s.bucket(spans).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		n += tallyEntries(v)
	}
	return n
}

// typ finds the content-type that a step is about.
func (c *chunk) typ(uid string) (*contenttypes.ContentType, error) {
	if t := c.bound.model.Type(uid); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("there is no content-type %s", uid)
}

// attribute finds the attribute that a step is about.
func (c *chunk) attribute(uid, name string) (*contenttypes.Attribute, error) {
	if b := c.bound.byUID[uid]; b != nil {
		if a := b.schema.Attribute(name); a != nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("there is no attribute %s.%s", uid, name)
}
