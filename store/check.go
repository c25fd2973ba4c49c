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

	bolt "go.etcd.io/bbolt"

	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
	"lectern/store/internal/pages"
)

// maxProblems bounds how many problems a check lists.
const maxProblems = 1000

// Check reads the whole file and returns all problems with it, nil if there are none (see Problems).
func (s *Store) Check() error {
	problems, err := s.Problems(context.Background(), nil)
	return errors.Join(append(problems, err)...)
}

// Problems reads one state of the whole file and lists what is wrong with it. It checks that the pages are as bbolt
// writes them and that each value matches its checksum. If they are, it checks that rows, indexes, counts, lists of
// versions and links agree. That takes as long as reading everything; other reads and writes run meanwhile. err is set
// if the check could not be carried out, or if ctx ended before all pages were read.
//
// Problems needs memory for every row and index entry. Before it takes more, it calls reserve, which may be nil, with
// the bytes that it will use in total; if that returns an error, Problems returns it as err.
func (s *Store) Problems(ctx context.Context, reserve func(bytes int64) error) (problems []error, err error) {
	err = s.View(func(snap *Snapshot) (err error) {
		if problems, err = snap.damage(ctx); err == nil && len(problems) == 0 {
			problems, err = snap.disagreements(reserve)
		}
		return err
	})
	return problems, err
}

// Verify reads all pages of the snapshot and compares the checksums in them. The error names the damaged pages. Verify
// returns the error of ctx if that ends.
//
// It reads the pages where they are mapped, in the order of their keys. If the system does not have them in memory,
// that takes much longer than to read the file from its beginning to its end, and goroutines that serve requests are
// delayed meanwhile.
func (s *Snapshot) Verify(ctx context.Context) error {
	problems, err := s.damage(ctx)
	if len(problems) == 0 || err != nil {
		return err
	}
	return errors.Join(problems[:min(len(problems), 3)]...)
}

// VerifyFile does what Snapshot.Verify does, for a file that is not in use. It changes nothing.
func VerifyFile(ctx context.Context, path string) (err error) {
	db, err := openBolt(path, bolt.Options{ReadOnly: true}, os.Open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f := newFile(db, path)
	return f.read(func(tx *bolt.Tx) error { return newSnapshot(&Store{file: f}, tx).Verify(ctx) })
}

// damage lists the damaged pages. err is that of ctx.
func (s *Snapshot) damage(ctx context.Context) (problems []error, err error) {
	f := mapped(s.tx, nil)
	problems, err = audit(ctx, f, metaOf(s.tx, f))
	for i, found := range problems {
		problems[i] = s.store.corrupt(found)
	}
	return problems, err
}

// metaOf returns what describes the state that a transaction sees. The list of free pages is not in it if two later
// transactions have overwritten the meta page.
func metaOf(tx *bolt.Tx, f *pages.File) pages.Meta {
	m, valid := f.Meta(uint64(tx.ID()))
	if !valid {
		m = pages.Meta{Root: uint64(tx.Cursor().Bucket().RootPage())}
	}
	return m
}

// audit lists the damaged pages of a state. err is that of ctx.
func audit(ctx context.Context, f *pages.File, m pages.Meta) (problems []error, err error) {
	_, err = f.Audit(ctx, m, func(name []byte) func(pages.Page) error {
		if n, ok := bucketNamed(name); ok {
			return format.CheckPage(n)
		}
		return nil
	}, func([]byte, pages.Page) {}, func(name []byte, err error) {
		if len(problems) < maxProblems {
			problems = append(problems, inBucket(name, err))
		}
	})
	return problems, err
}

// inBucket adds the name of a bucket, which may be nil, to an error.
func inBucket(name []byte, err error) error {
	if name == nil {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func bucketNamed(name []byte) (format.Bucket, bool) {
	i := slices.IndexFunc(format.BucketNames[:], func(b []byte) bool { return bytes.Equal(b, name) })
	return format.Bucket(i), i >= 0
}

// disagreements lists where the buckets do not agree. err is that of reserve.
func (s *Snapshot) disagreements(reserve func(bytes int64) error) (problems []error, err error) {
	c := checker{snap: s, reserve: reserve, index: map[string]uint64{}, versions: map[string][]format.Slot{},
		texts: map[[format.SpaceLen]byte]textSum{}}
	for _, check := range []func(){c.unindexedTexts, c.rows, c.indexes, c.counts, c.documents, c.links, c.log, c.answers} {
		if check(); c.unreserved != nil {
			return nil, c.unreserved
		}
	}
	return c.problems, nil
}

type checker struct {
	snap     *Snapshot
	index    map[string]uint64                 // the entries that the index must have: the document of each key
	texts    map[[format.SpaceLen]byte]textSum // of each text index
	versions map[string][]format.Slot          // the slots that the lists of versions must have, by their key and document
	problems []error

	reserve    func(bytes int64) error // nil if memory is not bounded
	took       int64                   // estimated bytes
	reserved   int64
	unreserved error // the error of reserve, which ends the check
}

// entryMemory estimates how many bytes an entry of a map takes beside its key.
const entryMemory = 64

// take reserves memory for a map entry whose key has so many bytes. It reserves at least 1 MiB at a time.
func (c *checker) take(key int) {
	if c.took += int64(key + entryMemory); c.reserve == nil || c.took <= c.reserved || c.unreserved != nil {
		return
	}
	c.reserved = c.took + 1<<20
	c.unreserved = c.reserve(c.reserved)
}

func (c *checker) report(format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Errorf(format, args...))
	}
}

// each calls f with all keys and values of a bucket, until a reservation fails.
func (c *checker) each(n format.Bucket, f func(k, v []byte)) {
	cur := c.snap.bucket(n).Cursor()
	for k, v := cur.First(); k != nil && c.unreserved == nil; k, v = cur.Next() {
		f(k, v)
	}
}

func (c *checker) rows() {
	ids := map[string]bool{}
	c.each(format.Rows, func(k, v []byte) {
		if len(k) != format.RowKeyLen || len(v) < format.RowHeader || int(be.Uint16(v)) >= len(c.snap.bound.tables) {
			c.report("row %x: malformed", k)
			return
		}
		t := c.snap.bound.tables[be.Uint16(v)]
		if t.bound == nil || t.bound.typ == nil {
			return // nothing reads the rows of a removed type
		}
		r := Record{table: t, slot: format.Slot(be.Uint16(k[2:])), doc: be.Uint64(k[4:]), snap: c.snap,
			data: format.WithoutChecksum(v)}
		if err := r.check(); err != nil {
			c.report("row %x: %w", k, err)
			return
		}
		b := t.bound
		if id, err := parseID(r.JSON(b.system.id)); err != nil || id != r.ID() {
			c.report("row %x: id %d in its head, %s in its field", k, r.ID(), r.JSON(b.system.id))
		}
		for _, a := range b.indexed {
			key := indexKey(b, a, r)
			c.take(len(key))
			c.index[string(key)] = r.doc
		}
		c.rowTexts(b, r)
		for i := range b.inner {
			for _, key := range b.inner[i].keys(b, r) {
				c.take(len(key))
				c.index[string(key)] = r.doc
			}
		}
		unique := fmt.Sprintf("%d/%d", b.number, r.ID())
		if ids[unique] {
			c.report("row %x: id %d is given twice", k, r.ID())
		}
		c.take(len(unique))
		ids[unique] = true
		key := string(format.DocKey(b.number, string(format.Unquote(r.JSON(b.system.documentID))))) +
			string(be.AppendUint64(nil, r.doc))
		c.take(len(key))
		c.versions[key] = append(c.versions[key], r.slot)
	})
}

// check returns an error if a record, which is given without a checksum, cannot be read.
func (r Record) check() (err error) {
	if !r.fits() {
		return format.ErrMalformed
	}
	if n := format.Fields(r.data); n != r.table.fields {
		return fmt.Errorf("%d fields where its layout has %d", n, r.table.fields)
	}
	for _, a := range r.table.bound.schema.Attributes {
		switch {
		case a.IsScalar():
			if text := r.JSON(a); text != nil && !json.Valid(text) {
				err = errors.New("not JSON")
			}
		case a.IsStored():
			if err = r.snap.checkItems(r.field(a)); err == nil {
				r.Each(a, func(item Record) bool {
					err = item.check()
					return err == nil
				})
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

// fits reports whether the fields of a record are in order and end where the record does.
func (r Record) fits() bool {
	head := format.RowHeader + 4*r.table.fields
	if len(r.data) < head {
		return false
	}
	start := uint32(0)
	for i := range r.table.fields {
		end := be.Uint32(r.data[format.RowHeader+4*i:])
		if end < start {
			return false
		}
		start = end
	}
	return uint64(head)+uint64(start) == uint64(len(r.data))
}

// checkItems returns an error unless the items of a component attribute or zone are in order, end where the field does,
// and have layouts that the catalog knows.
func (s *Snapshot) checkItems(f []byte) error {
	if len(f) == 0 {
		return nil
	}
	if len(f) < 4 {
		return format.ErrMalformed
	}
	n := uint64(be.Uint32(f[len(f)-4:]))
	if n > uint64(len(f)-4)/4 {
		return format.ErrMalformed
	}
	items, start := f[4*n:len(f)-4], uint32(0)
	for i := range n {
		end := be.Uint32(f[4*i:])
		if end < start+format.RowHeader || uint64(end) > uint64(len(items)) ||
			int(be.Uint16(items[start:])) >= len(s.bound.tables) {
			return format.ErrMalformed
		}
		start = end
	}
	if int(start) != len(items) {
		return format.ErrMalformed
	}
	return nil
}

// log checks that the log has every entry from its oldest one to the present sequence, and that its size is counted
// right.
func (c *checker) log() {
	meta := c.snap.bucket(format.Meta)
	if _, err := c.snap.epoch(); err != nil {
		c.report("log: %w", err)
	}
	size, last := uint64(0), c.snap.Sequence()
	c.each(format.History, func(k, v []byte) { size += uint64(len(k) + len(v)) })
	c.each(format.Log, func(k, v []byte) {
		if size += uint64(len(k) + len(v)); be.Uint64(k) > last {
			c.report("log %x: it comes after the last entry, %d", k, last)
		}
	})
	if counted := getNumber(meta, format.KeyLogBytes); size != counted {
		c.report("log: %d bytes are counted, it has %d", counted, size)
	}
	history := c.history()
	var before *Entry
	c.snap.eachEntry(getNumber(meta, format.KeyLogBefore), func(e *Entry, err error) bool {
		if err == nil && before != nil {
			err = e.FollowsOn(before, before.Hash())
		}
		if err != nil {
			c.report("log: %w", err)
		}
		if e != nil {
			history.entry(e)
			before = e
		}
		return true
	})
	history.end(last)
}

func (c *checker) indexes() {
	var before []byte
	c.each(format.Index, func(bound, v []byte) {
		b := c.snap.block(bound, v)
		for i := range b.Len() {
			k, doc := b.Entry(i)
			if bytes.Compare(k, bound) < 0 || bytes.Compare(k, before) <= 0 ||
				!bytes.HasPrefix(k, bound[:format.SpaceLen]) {
				c.report("index %x: out of place in the block of %x", k, bound)
			}
			before = append(before[:0], k...)
			if evolve.IsTextField(be.Uint16(k[2:])) {
				c.textEntry(k, be.Uint64(doc))
				continue
			}
			c.indexEntry(k, be.Uint64(doc))
		}
	})
	c.each(format.Young, func(bound, _ []byte) {
		if !format.Block(c.snap.bucket(format.Index).Get(bound)).IsYoung() {
			c.report("young %x: the index does not name it", bound)
		}
	})
	for k := range c.index {
		c.report("index %x: missing", k)
	}
	c.compareTexts()
}

func (c *checker) indexEntry(k []byte, named uint64) {
	doc, ok := c.index[string(k)]
	switch {
	case !ok && c.known(k):
		c.report("index %x: no row has this value", k)
	case ok && doc != named:
		c.report("index %x: names document %d, the row is of %d", k, named, doc)
	}
	delete(c.index, string(k))
}

// known reports whether an index key belongs to an attribute that is indexed now.
func (c *checker) known(k []byte) bool {
	b := c.snap.bound.numbered(be.Uint16(k))
	if b == nil {
		return false
	}
	for _, a := range b.indexed {
		if b.fields[a.Index] == be.Uint16(k[2:]) {
			return true
		}
	}
	return slices.ContainsFunc(b.inner, func(x innerIndex) bool { return b.fields[x.attr.Index] == be.Uint16(k[2:]) })
}

// counts compares the counts in groups and spans with the entries that they count.
func (c *checker) counts() {
	one := func([]byte) int { return 1 }
	c.levels(format.Groups, format.Index, format.TallyEntries, func(v []byte) int { return format.Block(v).Len() })
	c.levels(format.Groups, format.Index, format.TallyParts, one)
	c.levels(format.Spans, format.Groups, format.TallyEntries, format.TallyEntries)
	c.levels(format.Spans, format.Groups, format.TallyParts, one)
}

func (c *checker) levels(upper, lower format.Bucket, said, counts func([]byte) int) {
	want, got := map[string]int{}, map[string]int{}
	cur := c.snap.bucket(upper).Cursor()
	c.each(upper, func(k, v []byte) { want[string(k)] = said(v) })
	c.each(lower, func(k, v []byte) {
		low, _ := floor(cur, k)
		if !bytes.HasPrefix(low, k[:format.SpaceLen]) {
			low = k[:format.SpaceLen]
		}
		got[string(low)] += counts(v)
	})
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if want[k] != got[k] {
			c.report("%s %x: says %d, there are %d", upper.Name(), k, want[k], got[k])
		}
		delete(got, k)
	}
	for k, n := range got {
		c.report("%s %x: missing for %d", upper.Name(), k, n)
	}
}

func (c *checker) documents() {
	c.each(format.Docs, func(k, v []byte) {
		if c.snap.bound.numbered(be.Uint16(k)) == nil {
			return
		}
		key := string(k) + string(be.AppendUint64(nil, format.Number(v)))
		var listed []format.Slot
		for rest := v[8:]; len(rest) >= 2; rest = rest[2:] {
			listed = append(listed, format.Slot(be.Uint16(rest)))
		}
		slices.Sort(listed)
		there := c.versions[key]
		slices.Sort(there)
		if !slices.Equal(listed, there) {
			c.report("document %q: lists versions %v, has %v", k, listed, there)
		}
		delete(c.versions, key)
	})
	for k := range c.versions {
		c.report("document %q: not listed", k)
	}
}

// links checks that each link is listed at both ends, and that the documents at its ends have a version.
func (c *checker) links() {
	b := c.snap.bucket(format.Links)
	c.each(format.Links, func(k, v []byte) {
		if len(k) != format.LinkListLen+8 || len(v) != 20 {
			c.report("link %x: malformed", k)
			return
		}
		back := b.Get(format.OtherKey(k, v))
		if back == nil {
			c.report("link %x: missing at its other end", k)
			return
		}
		self, pos := format.ParseLink(back)
		if self.Doc != be.Uint64(k[8:]) || self.Locale != be.Uint16(k[6:]) || pos != be.Uint64(k[format.LinkListLen:]) {
			c.report("link %x: its other end names another", k)
		}
		if part := c.snap.store.part.Load(); part != nil && part.Published {
			return // the document may have a draft only, at the origin
		}
		other, _ := format.ParseLink(v)
		if bound := c.snap.bound.numbered(other.Schema); bound != nil && bound.typ != nil &&
			!c.snap.hasVersion(bound, other) {
			c.report("link %x: its other end is a document that is not there", k)
		}
	})
}

func (s *Snapshot) hasVersion(b *boundSchema, r format.End) bool {
	return s.row(b, format.NewSlot(r.Locale, Published), r.Doc).Exists() ||
		s.row(b, format.NewSlot(r.Locale, Draft), r.Doc).Exists()
}

// A historyChecker compares the blocks of touches with the entries of the log, which it gets in their order.
type historyChecker struct {
	*checker
	before uint64 // the entry before the first one that counts
	blocks []logentry.TouchBlock
	list   []logentry.Touch // of the entries of the present stretch
}

func (c *checker) history() *historyChecker {
	h := &historyChecker{checker: c, before: c.snap.logBegins()}
	c.each(format.History, func(k, v []byte) { h.blocks = append(h.blocks, logentry.StoredTouches(k, v)) })
	return h
}

// entry compares a block with the entries of its stretch when that ends with e.
func (h *historyChecker) entry(e *Entry) {
	if e.Sequence <= h.before {
		return
	}
	h.list = e.AppendTouches(h.list)
	for len(h.blocks) > 0 && h.blocks[0].Last < e.Sequence {
		h.report("history %d: it is not of a stretch of the log", h.blocks[0].Last)
		h.blocks = h.blocks[1:]
	}
	if len(h.blocks) == 0 || h.blocks[0].Last > e.Sequence {
		if len(h.list) >= logentry.BlockTouches || e.Sequence%logentry.BlockEntries == 0 {
			h.report("history %d: missing", e.Sequence)
			h.list = nil
		}
		return
	}
	got, want := h.blocks[0].Since(h.before), logentry.NewTouchBlock(e.Sequence, h.list)
	if !bytes.Equal(got.Data, want.Data) {
		h.report("history %d: it does not agree with the log", e.Sequence)
	}
	h.blocks, h.list = h.blocks[1:], h.list[:0]
}

func (h *historyChecker) end(last uint64) {
	for _, b := range h.blocks {
		h.report("history %d: it is not of a stretch of the log, which ends with %d", b.Last, last)
	}
}

// answers checks that the answers, their index by key and their counters agree.
func (c *checker) answers() {
	count, size := 0, int64(0)
	names := map[Hash]uint64{} // the latest sequence under each key
	owners := answerOwners{owned: map[uint64]ownedAnswer{}, counted: map[string]answerShare{},
		held: map[string]answerShare{}}
	c.each(format.Answers, func(k, v []byte) {
		v = format.WithoutChecksum(v)
		switch {
		case len(k) == 9 && k[0] == prefixAnswer:
			count, size = count+1, size+int64(len(v)+answerOverhead)
			key, _, err := logentry.ParseAnswer(v)
			if err != nil {
				c.report("answer %x: %w", k, err)
			}
			c.take(2 * len(key))
			names[key] = be.Uint64(k[1:]) // answers come before keys
			owners.owned[be.Uint64(k[1:])] = ownedAnswer{string(key.Caller()), int64(len(v) + answerOverhead)}
		case len(k) == 1+logentry.CallerLen && k[0] == prefixAnswerCaller && len(v) == 16:
			c.take(len(k))
			owners.counted[string(k[1:])] = readShare(v)
		case len(k) == 1+logentry.CallerLen+8 && k[0] == prefixAnswerOf && len(v) == 8:
			if caller := string(k[1 : 1+logentry.CallerLen]); !owners.hold(caller, be.Uint64(k[1+logentry.CallerLen:]),
				int64(be.Uint64(v))) {
				c.report("answer of a caller %x: there is none of this size", k)
			}
		case len(k) == 1+len(Hash{}) && k[0] == prefixAnswerKey && len(v) == 8:
			key := Hash(k[1:])
			if sequence, ok := names[key]; !ok || sequence != be.Uint64(v) {
				c.report("answer key %x: leads to %d, the answer is under %d", k, be.Uint64(v), sequence)
			}
			delete(names, key)
		default:
			c.report("answer %x: malformed", k)
		}
	})
	for key, sequence := range names {
		c.report("answer %d: its key %x is missing", sequence, key)
	}
	if callers := getNumber(c.snap.bucket(format.Meta), format.KeyAnswerCallers); !maps.Equal(
		owners.counted, owners.held) || int(callers) != len(owners.held) {
		c.report("answers: those of callers are counted as %v of %d callers, and are %v", owners.counted, callers,
			owners.held)
	}
	if n, bytes := c.snap.KeptAnswers(); n != count || bytes != size {
		c.report("answers: the counters say %d with %d bytes, there are %d with %d", n, bytes, count, size)
	}
}

// answerOwners are what the checker knows of the callers whose answers are kept.
type answerOwners struct {
	owned   map[uint64]ownedAnswer // by sequence
	counted map[string]answerShare // by the counters
	held    map[string]answerShare // by the index
}

type ownedAnswer struct {
	caller string
	bytes  int64
}

// hold counts an answer in the index of a caller. It reports whether there is one.
func (o *answerOwners) hold(caller string, sequence uint64, bytes int64) bool {
	share := o.held[caller]
	o.held[caller] = answerShare{share.count + 1, share.bytes + bytes}
	return o.owned[sequence] == ownedAnswer{caller, bytes}
}
