package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/pages"
)

// A Salvage reports what was saved from a damaged store, and what was lost.
type Salvage struct {
	// Damage lists the pages that are damaged.
	Damage []error
	Rows   int
	Links  int
	// Lost lists the versions that undamaged parts of the file name but that cannot be read. Others may be lost without
	// a trace.
	Lost []LostVersion
}

// A LostVersion is a version of a document that could not be saved.
type LostVersion struct {
	Type       string // its uid
	DocumentID string // "" if it is unknown; then Row is known
	Row        uint64 // the id of the version, 0 if it is unknown
	Status     Status
	Locale     string
}

// SalvageTo copies the readable rows and links of the damaged store file at path into a new store at another path, and
// builds indexes and lists of versions from them. It does not change the file at path, which must not be in use. It
// ends early with the error of ctx.
func SalvageTo(ctx context.Context, path, to string) (s Salvage, err error) {
	raw, err := openRaw(path)
	if err != nil {
		return s, err
	}
	if _, err := raw.format(path); err != nil {
		return s, err
	}
	g := &salvager{raw: raw, rows: map[string][]byte{}, links: map[string][]byte{}, docs: map[string][]byte{},
		ids: map[string]uint64{}, metas: map[string][]byte{}}
	guarded := &file{}
	if err := guarded.guard(func() error { return g.collect(ctx) }); err != nil {
		return s, err
	}
	s.Damage = g.damage
	if g.metas[string(format.KeyCatalog)] == nil {
		return s, errors.New(
			"nothing can be saved: the file has no readable catalog, which says what its content means")
	}
	if err := create(to); err != nil {
		return s, fmt.Errorf("make the store for what is saved: %w", err)
	}
	if err := g.write(to, &s); err != nil {
		return s, errors.Join(fmt.Errorf("write what is saved: %w", err), os.Remove(to))
	}
	return s, nil
}

// ProblemsOf is Problems for a file that is not in use. It works for a file that is too damaged to be opened, and
// changes nothing.
func ProblemsOf(ctx context.Context, path string) (problems []error, err error) {
	raw, err := openRaw(path)
	if err != nil {
		return nil, err
	}
	found, err := raw.format(path)
	if err != nil {
		return nil, err
	}
	if problems, err = raw.damage(ctx); err != nil || len(problems) > 0 || found.number < known.newest {
		return problems, err // what stands in the pages of an older format is known after its upgrade
	}
	db, err := openBolt(path, bolt.Options{ReadOnly: true, Timeout: 50 * time.Millisecond}, os.Open)
	if err != nil {
		return []error{err}, nil
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f := newFile(db, path)
	c, err := f.loadConversion(Options{})
	if err != nil {
		return []error{err}, nil
	}
	if len(c.pending.Steps) > 0 {
		return nil, nil // until the next start has finished the conversion, the buckets need not agree
	}
	if err := c.bind(); err != nil {
		return []error{err}, nil
	}
	err = f.read(func(tx *bolt.Tx) error {
		problems, err = newSnapshot(&Store{file: f, bound: c.bound}, tx).disagreements(nil)
		return err
	})
	return problems, err
}

// A rawFile is a store file that is read without bbolt, which does not open some damaged files.
type rawFile struct {
	pages *pages.File
	meta  pages.Meta
	// metas are the problems with the two meta pages.
	metas []error
}

// format returns the format of the file, or the present one if that cannot be read. It returns an error if the format
// is newer.
func (r *rawFile) format(path string) (found fileFormat, err error) {
	found, err = formatOf(r.pages.Root(r.meta.Root))
	if err != nil || found.number == 0 {
		return fileFormat{number: known.newest}, nil
	}
	return found, found.refuseNewer(path)
}

// openRaw reads a file. If its newest meta page is damaged, it uses the other one.
func openRaw(path string) (*rawFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &rawFile{}
	f := bytes.NewReader(data)
	var valid bool
	if r.meta, valid = readMeta(f, 0); !valid {
		r.metas = append(r.metas, errors.New("page 0: is damaged; it says where a state of the file lies"))
		if r.meta, err = metaWithout(f, r.meta); err != nil && !errors.Is(err, errNewest) || r.meta.PageSize == 0 {
			return nil, fmt.Errorf(
				"%s: the file is no store, or both pages that say where its content lies are damaged", path)
		}
	} else if other, valid := readMeta(f, int64(r.meta.PageSize)); !valid {
		r.metas = append(r.metas, errors.New("page 1: is damaged; it says where a state of the file lies"))
	} else if other.Tx > r.meta.Tx {
		r.meta = other
	}
	size, used := uint64(r.meta.PageSize), r.meta.Pages
	if have := uint64(len(data)) / size; have < used {
		r.metas = append(r.metas, fmt.Errorf("the file ends after page %d of %d", have, used))
		used = have
	}
	r.pages = pages.NewFile(data[:used*size], int(size), nil)
	return r, nil
}

// damage lists the damaged pages. err is that of ctx.
func (r *rawFile) damage(ctx context.Context) (problems []error, err error) {
	problems, err = audit(ctx, r.pages, r.meta)
	return append(slices.Clone(r.metas), problems...), err
}

// anywhere returns the longest value of a key of a bucket that is anywhere in the file, free pages included.
// Catalogs and lists of locales only grow, so the longest is the newest.
func (r *rawFile) anywhere(n format.Bucket, key []byte) (longest []byte) {
	r.pages.Pieces(make(pages.Use, r.pages.Len()), func(k, v []byte) {
		if bytes.Equal(k, key) && len(v) > len(longest) && format.CheckValue(n, k, v) == nil {
			longest = v
		}
	})
	return longest
}

// A salvager collects the readable values of a damaged file.
type salvager struct {
	raw    *rawFile
	damage []error

	rows, links, docs, metas map[string][]byte
	ids                      map[string]uint64 // the document of each key in the indexes of ids
	bound                    *binding
}

// collect reads the undamaged pages of the tree. If any page is damaged it then searches all other pages, except those
// known to be free, for values with a matching checksum: these may be in damaged pages and in pages below them.
func (g *salvager) collect(ctx context.Context) error {
	f := g.raw.pages
	use, err := f.Audit(ctx, g.raw.meta, func(name []byte) func(pages.Page) error {
		if n, ok := bucketNamed(name); ok {
			return format.CheckPage(n)
		}
		return nil
	}, func(name []byte, p pages.Page) {
		if n, ok := bucketNamed(name); ok {
			for i := range p.Len() {
				g.take(n, p.Key(i), p.Value(i))
			}
		}
	}, func(name []byte, err error) {
		g.damage = append(g.damage, inBucket(name, err))
	})
	if err != nil {
		return err
	}
	g.damage = append(slices.Clone(g.raw.metas), g.damage...)
	if len(g.damage) > 0 {
		f.Pieces(use, g.takePiece)
	}
	for n, key := range map[format.Bucket][]byte{format.Catalog: format.KeyCatalog, format.Meta: format.KeyLocales} {
		if v := g.raw.anywhere(n, key); v != nil && g.metas[string(key)] == nil {
			g.metas[string(key)] = v
		}
	}
	if g.metas[string(format.KeyCatalog)] == nil {
		g.takeDamagedCatalog()
	}
	return nil
}

// takeDamagedCatalog takes a catalog whose checksum does not match, if it can be compiled: saved content with a wrong
// name is better than none.
func (g *salvager) takeDamagedCatalog() {
	f := g.raw.pages
	f.Pieces(make(pages.Use, f.Len()), func(k, v []byte) {
		c := &evolve.Catalog{}
		if g.metas[string(format.KeyCatalog)] != nil || !bytes.Equal(k, format.KeyCatalog) ||
			json.Unmarshal(format.WithoutChecksum(v), c) != nil {
			return
		}
		if _, err := bindStored(c); err == nil {
			g.metas[string(format.KeyCatalog)] = v
			g.damage = append(g.damage,
				errors.New("the catalog is damaged, and there is no other: "+
					"names and types in what is saved may be wrong"))
		}
	})
}

// take keeps a value, unless there is one for its key already.
func (g *salvager) take(n format.Bucket, k, v []byte) {
	into := map[format.Bucket]map[string][]byte{format.Rows: g.rows, format.Links: g.links, format.Docs: g.docs,
		format.Meta: g.metas, format.Catalog: g.metas}[n]
	switch {
	case n == format.Index, n == format.Young:
		b := format.Block(v)
		for i := range b.Len() {
			key, doc := b.Entry(i)
			if len(key) == format.SpaceLen+8 { // as keys in an index of ids are
				g.ids[string(key)] = be.Uint64(doc)
			}
		}
	case into != nil && into[string(k)] == nil:
		into[string(k)] = v
	}
}

// takePiece keeps a value that was found outside of the tree, if its checksum matches.
func (g *salvager) takePiece(k, v []byte) {
	switch {
	case len(k) == format.RowKeyLen && len(v) > format.RowHeader+format.ChecksumLen &&
		format.CheckValue(format.Rows, k, v) == nil:
		g.take(format.Rows, k, v)
	case len(k) == format.LinkKeyLen && len(v) == format.LinkLen-format.LinkKeyLen && k[4] <= byte(format.ToSide) &&
		k[5] <= byte(DraftLinks) &&
		format.CheckValue(format.Links, k, v) == nil:
		g.take(format.Links, k, v)
	case len(k) > format.SpaceLen && len(v) > 2+format.ChecksumLen && format.CheckValue(format.Index, k, v) == nil:
		g.take(format.Index, k, v)
	case len(k) > format.SpaceLen && len(v) > 2+format.ChecksumLen && format.CheckValue(format.Young, k, v) == nil:
		g.take(format.Young, k, v)
	case isDocKey(k) && len(v) >= 10 && len(v)%2 == 0 && format.CheckValue(format.Docs, k, v) == nil:
		g.take(format.Docs, k, v)
	}
}

// isDocKey reports whether a key may be one of the bucket docs. The short checksum of its value alone does not tell:
// other bytes match it by chance.
func isDocKey(k []byte) bool {
	return len(k) > 2 && !slices.ContainsFunc(k[2:], func(c byte) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_'
	})
}

// write writes the collected values into the new store at path.
func (g *salvager) write(path string, s *Salvage) (err error) {
	db, err := openFile(path, Options{}, openThere)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f := newFile(db, path)
	if err := f.update(func(tx *bolt.Tx) error {
		meta := f.meta(tx)
		for _, k := range slices.Sorted(maps.Keys(g.metas)) {
			switch k {
			case string(format.KeyFormat), string(format.KeyReader), string(format.KeyIdentity),
				string(format.KeyEpoch), string(format.KeyLogBefore), string(format.KeyLogBytes):
				continue
			}
			into := meta
			if k == string(format.KeyCatalog) {
				into = meta.snap.bucket(format.Catalog)
			}
			if err := into.Put([]byte(k), salvaged(into.n, []byte(k), g.metas[k])); err != nil {
				return err
			}
		}
		return putNumber(meta, format.KeyLogBefore, getNumber(meta, format.KeySequence)) // the log is not saved
	}); err != nil {
		return err
	}
	c, err := f.loadConversion(Options{})
	if err != nil {
		return err
	}
	if err := c.bind(); err != nil {
		return err
	}
	g.bound = c.bound
	st := f.newStore(c.bound)
	if err := g.writeRows(st, s); err != nil {
		return err
	}
	if err := g.writeLinks(st, s); err != nil {
		return err
	}
	return f.read(func(tx *bolt.Tx) error {
		g.findLost(newSnapshot(st, tx), s)
		return nil
	})
}

// salvagedAtATime is how many rows or links one transaction writes.
const salvagedAtATime = 5000

// inTransactions calls do with each key, in transactions of salvagedAtATime keys.
func inTransactions(st *Store, keys []string, do func(tx *Tx, key string) error) error {
	for part := range slices.Chunk(keys, salvagedAtATime) {
		if err := st.update(func(btx *bolt.Tx) error {
			tx := newTx(st, btx)
			for _, k := range part {
				if err := do(tx, k); err != nil {
					return err
				}
			}
			return tx.finish()
		}); err != nil {
			return err
		}
	}
	return nil
}

func (g *salvager) writeRows(st *Store, s *Salvage) error {
	return inTransactions(st, slices.Sorted(maps.Keys(g.rows)), func(tx *Tx, key string) error {
		k, v := []byte(key), g.rows[key]
		if int(be.Uint16(v)) >= len(g.bound.tables) {
			return nil
		}
		r := Record{table: g.bound.tables[be.Uint16(v)], slot: format.Slot(be.Uint16(k[2:])), doc: be.Uint64(k[4:]),
			snap: tx.Snapshot, data: v}
		if b := r.table.bound; b != nil && b.typ != nil {
			if tx.addVersion(b, format.Unquote(r.JSON(b.system.documentID)), r.doc, r.slot) != nil {
				return nil // a deleted document, whose documentId another has got
			}
			if err := tx.reindex(b, Record{}, r); err != nil {
				return err
			}
			tx.rowIDs[b.number] = max(tx.lastRowID(b.number), r.ID())
			s.Rows++
		}
		tx.docs = max(tx.docs, r.doc)
		return tx.bucket(format.Rows).Put(k, salvaged(format.Rows, k, v))
	})
}

// salvaged makes a freshValue of a value that was read with its checksum.
func salvaged(n format.Bucket, key, v []byte) freshValue {
	if format.ChecksumAt(n, key) < 0 {
		v = format.WithoutChecksum(v)
	}
	return copied(v)
}

// writeLinks writes each link into the lists of both ends, even if it was found in one only.
func (g *salvager) writeLinks(st *Store, s *Salvage) error {
	missing := map[string][]byte{}
	for _, key := range slices.Sorted(maps.Keys(g.links)) {
		k, v := []byte(key), g.links[key]
		otherKey := format.OtherKey(k, v)
		if g.links[string(otherKey)] == nil {
			self, ok := g.bound.linkEnd(k)
			if !ok {
				continue // it is unknown where the link leads
			}
			missing[string(otherKey)] = format.NewLink(self, be.Uint64(k[format.LinkListLen:]))
		}
	}
	maps.Copy(g.links, missing)
	s.Links = len(g.links) / 2
	return inTransactions(st, slices.Sorted(maps.Keys(g.links)), func(tx *Tx, key string) error {
		tx.put(format.Links, []byte(key), salvaged(format.Links, []byte(key), g.links[key]))
		return nil
	})
}

// linkEnd returns the end that lists the link with this key. ok is false if that end may be of several types.
func (b *binding) linkEnd(k []byte) (r format.End, ok bool) {
	r = format.OwnEnd(k)
	if format.Side(k[4]) == format.FromSide {
		return r, true
	}
	owner := b.numbered(r.Schema)
	if owner == nil {
		return r, false
	}
	i := slices.Index(owner.fields, be.Uint16(k[2:]))
	if i < 0 || owner.schema.Attributes[i].Target == nil {
		return r, false
	}
	r.Schema = b.of(&owner.schema.Attributes[i].Target.Schema).number
	return r, true
}

// findLost lists the versions that are named by lists of versions and indexes of ids but are not in the new store.
func (g *salvager) findLost(snap *Snapshot, s *Salvage) {
	lost := map[string]LostVersion{}
	for k, v := range g.docs {
		b := g.bound.numbered(be.Uint16([]byte(k)))
		if b == nil || b.typ == nil {
			continue
		}
		for rest := v[8:]; len(rest) >= 2; rest = rest[2:] {
			sl := format.Slot(be.Uint16(rest))
			if key := string(format.AppendRowKey(nil, b.number, sl, format.Number(v))); g.rows[key] == nil {
				lost[key] = LostVersion{Type: b.typ.UID, DocumentID: k[2:], Status: sl.Status(),
					Locale: snap.localeCode(sl.Locale())}
			}
		}
	}
	for k, doc := range g.ids {
		entry := []byte(k)
		b, sl := g.bound.numbered(be.Uint16(entry)), format.Slot(be.Uint16(entry[4:]))
		if b == nil || b.typ == nil || be.Uint16(entry[2:]) != b.fields[b.system.id.Index] {
			continue
		}
		if key := string(format.AppendRowKey(nil, b.number, sl, doc)); g.rows[key] == nil {
			l := lost[key]
			l.Type, l.Row, l.Status, l.Locale = b.typ.UID, be.Uint64(entry[format.SpaceLen:]), sl.Status(),
				snap.localeCode(sl.Locale())
			lost[key] = l
		}
	}
	for _, k := range slices.Sorted(maps.Keys(lost)) {
		s.Lost = append(s.Lost, lost[k])
	}
}

// OpenAsIs opens a store under the definitions that its content has.
func OpenAsIs(path string) (*Store, error) {
	db, err := openFile(path, Options{}, openThere)
	if err != nil {
		return nil, err
	}
	c, err := newFile(db, path).loadConversion(Options{})
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	model, err := c.catalog.Model()
	if err != nil {
		return nil, err
	}
	return Open(path, model, Options{})
}
