package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A Part is the part of a store's content that a partial replica has. The zero Part is all content. Users, roles,
// tokens, locales, files and all else that is built in are in every Part, and so are the definitions.
type Part struct {
	Types     []string `json:"types,omitempty"`     // uids of content-types; none: all
	Locales   []string `json:"locales,omitempty"`   // codes of the locales of localized types; none: all
	Published bool     `json:"published,omitempty"` // without drafts
}

// All reports whether the part is all content.
func (p Part) All() bool { return len(p.Types) == 0 && len(p.Locales) == 0 && !p.Published }

// Equal reports whether two parts have the same content.
func (p Part) Equal(q Part) bool {
	same := func(x, y []string) bool {
		return slices.Equal(slices.Compact(slices.Sorted(slices.Values(x))),
			slices.Compact(slices.Sorted(slices.Values(y))))
	}
	return p.Published == q.Published && same(p.Types, q.Types) && same(p.Locales, q.Locales)
}

// Check returns an error if the part names types that the model does not have, or that are in every Part anyway.
func (p Part) Check(model *contenttypes.Model) error {
	for _, uid := range p.Types {
		switch t := model.Type(uid); {
		case t == nil:
			return fmt.Errorf("there is no content-type %q to follow; there are %s", uid,
				strings.Join(ownTypes(model), ", "))
		case t.BuiltIn:
			return fmt.Errorf("%s is built in, and always followed; name content-types of the project: %s", uid,
				strings.Join(ownTypes(model), ", "))
		}
	}
	return nil
}

// ownTypes returns the uids of the types of a model that are not built in.
func ownTypes(model *contenttypes.Model) (uids []string) {
	for _, t := range model.Types {
		if !t.BuiltIn {
			uids = append(uids, t.UID)
		}
	}
	return uids
}

// HasType reports whether the part has documents of a type.
func (p Part) HasType(t *contenttypes.ContentType) bool {
	return t.BuiltIn || len(p.Types) == 0 || slices.Contains(p.Types, t.UID)
}

func (p Part) hasLocale(code string) bool {
	return code == "" || len(p.Locales) == 0 || slices.Contains(p.Locales, code)
}

// A LeftOutError is the error of reading what a partial replica does not have.
type LeftOutError struct {
	What   string
	Origin string // see Options.Origin
}

func (e *LeftOutError) Error() string {
	return fmt.Sprintf("this replica has a part of the content, and not %s: ask %s", e.What, e.Origin)
}

// Part returns the part of the origin's content that the store has.
func (s *Store) Part() Part { return s.file.partOrAll() }

// Part returns the part of the origin's content that the store has.
func (s *Snapshot) Part() Part { return s.store.partOrAll() }

// Part returns the part of the origin's content that the replica has.
func (r *Replica) Part() Part { return r.file.partOrAll() }

func (f *file) partOrAll() Part {
	if p := f.part.Load(); p != nil {
		return *p
	}
	return Part{}
}

// Covers returns a *LeftOutError if a query asks for, or decides by, what the store does not have because it is a
// partial replica.
func (s *Snapshot) Covers(q *Query) error {
	p := s.store.part.Load()
	if p == nil {
		return nil
	}
	what := p.leftOut(q.Type)
	if what == "" && p.Published && q.Status == Draft && !q.Type.BuiltIn {
		what = "drafts"
	}
	if q.Type.Localized && !q.Locales.All {
		for _, code := range q.Locales.Codes {
			if what == "" && !p.hasLocale(code) {
				what = "the locale " + code
			}
		}
	}
	if what == "" {
		what = p.leftOutBy(q.Filter)
	}
	for _, key := range q.Sort {
		for _, a := range key.Path {
			if what == "" && a.Target != nil {
				what = p.leftOut(a.Target)
			}
		}
	}
	if what == "" {
		return nil
	}
	return &LeftOutError{What: what, Origin: s.store.originText()}
}

// leftOut returns the uid of a type that the part does not have, otherwise "".
func (p Part) leftOut(t *contenttypes.ContentType) string {
	if p.HasType(t) {
		return ""
	}
	return t.UID
}

// leftOutBy returns what a filter needs and the part does not have, "" if it has everything.
func (p Part) leftOutBy(f Filter) (what string) {
	some := func(list []Filter) string {
		for _, f := range list {
			if what := p.leftOutBy(f); what != "" {
				return what
			}
		}
		return ""
	}
	switch f := f.(type) {
	case And:
		return some(f)
	case Or:
		return some(f)
	case Not:
		return p.leftOutBy(f.Filter)
	case Through:
		if f.Attr.Target != nil {
			what = p.leftOut(f.Attr.Target)
		}
		if what == "" {
			what = p.leftOutBy(f.Filter)
		}
		return what
	case Publication:
		if p.Published {
			return "drafts"
		}
	case Unlinked:
		if p.Published || len(p.Types) > 0 || len(p.Locales) > 0 {
			return "all that may link to a document"
		}
	}
	return ""
}

// originText returns the address of the origin, for clients.
func (f *file) originText() string {
	if origin := f.origin.Load(); origin != nil {
		return *origin
	}
	return "its origin"
}

// loadPart reads the part that the file has, and the hash of the origin's entry that the content is behind. The part is
// nil for all content.
func loadPart(meta *tree) (p *Part, last EntryHash, err error) {
	text := format.WithoutChecksum(meta.Get(format.KeyPart))
	if text == nil {
		return nil, last, nil
	}
	p = &Part{}
	if err = json.Unmarshal(text, p); err == nil {
		last, err = ParseEntryHash(string(format.WithoutChecksum(meta.Get(format.KeyPartHash))))
	}
	if err != nil {
		return nil, last, fmt.Errorf("read which part the replica has: %w", err)
	}
	return p, last, nil
}

// A partFilter decides which rows and links a Part has, by the numbers of a snapshot's definitions.
type partFilter struct {
	part    Part
	snap    *Snapshot
	schemas []bool // by number: the types of the part, with those that are switched off, and the components that their documents can have
	locales []bool // by number
}

func (s *Snapshot) partFilter(p Part) *partFilter {
	f := &partFilter{part: p, snap: s, schemas: make([]bool, len(s.bound.byNum))}
	for _, t := range s.bound.model.Types {
		if !p.HasType(t) {
			continue
		}
		f.schemas[s.bound.of(&t.Schema).number] = true
		for _, c := range s.bound.model.Components {
			if number := s.bound.of(&c.Schema).number; t.Holds(&c.Schema) {
				f.schemas[number] = true
			}
		}
	}
	for uid, number := range s.bound.absent { // switched off; its content comes back with it
		if n := int(number) + 1 - len(f.schemas); n > 0 {
			f.schemas = append(f.schemas, make([]bool, n)...)
		}
		f.schemas[number] = !strings.HasPrefix(uid, "api::") || len(p.Types) == 0 || slices.Contains(p.Types, uid)
	}
	for _, code := range s.store.locales.current.Load().codes {
		f.locales = append(f.locales, p.hasLocale(code))
	}
	return f
}

func (f *partFilter) hasSchema(number uint16) bool {
	return int(number) < len(f.schemas) && f.schemas[number]
}

func (f *partFilter) hasEnd(r format.End) bool {
	return f.hasSchema(r.Schema) && int(r.Locale) < len(f.locales) && f.locales[r.Locale]
}

func (f *partFilter) hasRow(schema uint16, sl format.Slot) bool {
	return f.hasEnd(format.End{Schema: schema, Locale: sl.Locale()}) && !(f.part.Published && sl.Status() == Draft)
}

// hasLink reports whether the part has both ends of a link. It does not know which document a component is in, so it
// has the links of all components that its documents can have.
func (f *partFilter) hasLink(l logentry.LinkOp) bool {
	return f.hasEnd(l.From) && f.hasEnd(l.To) && !(f.part.Published && l.Set == DraftLinks)
}

func (f *partFilter) has(o logentry.Op) bool {
	if o.Kind.OfRow() {
		return f.hasRow(o.Schema, o.Slot)
	}
	return f.hasLink(o.Link)
}

// PartEntries returns a function that reduces entries of the snapshot's log to a part. They lose the answers that are
// kept under idempotency keys. An entry of which nothing is left is still an entry, without changes. The error of the
// function is ErrConverted for the entry of a conversion, after which a partial replica begins anew, and wraps
// ErrTrimmed for an entry that cannot be reduced.
func (s *Snapshot) PartEntries(p Part) func(*Entry) (*Entry, error) { return s.partFilter(p).entry }

func (f *partFilter) entry(e *Entry) (*Entry, error) {
	if e.Kind == ConversionEntry {
		return nil, ErrConverted
	}
	reduced := *e
	reduced.Partial, reduced.WholeHash = true, e.Hash()
	reduced.Ops = nil
	reduced.Answer = nil // an answer may hold anything
	allVersions := len(f.part.Locales) == 0 && !f.part.Published
	documents := map[string]bool{} // of rows that are kept, unless all are
	err := e.EachOp(func(o logentry.Op) error {
		switch {
		case !f.has(o):
			return nil
		case !o.Kind.OfRow():
			reduced.Ops = logentry.AppendLinkOp(reduced.Ops, o.Kind, o.Link)
			return nil
		}
		reduced.Ops = logentry.AppendRowOp(reduced.Ops, o)
		b := f.snap.bound.numbered(o.Schema)
		if allVersions || b == nil {
			return nil
		}
		id, err := f.snap.loggedID(b, o)
		documents[string(format.DocKey(o.Schema, id))] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reduce entry %d: %w", e.Sequence, err)
	}
	reduced.Changes = slices.DeleteFunc(slices.Clone(e.Changes), func(c logentry.DocChange) bool {
		known := f.snap.bound.numbered(c.Schema) != nil
		return !f.hasSchema(c.Schema) || !allVersions && known &&
			!documents[string(format.DocKey(c.Schema, string(c.DocumentID)))]
	})
	reduced.Encoded = reduced.Append(nil)
	return &reduced, nil
}

// copiedOps is how many bytes of changes an entry of CopyPart has, beside the last change.
const copiedOps = 256 << 10

// CopyPart calls yield with entries that make an empty file a partial replica of the snapshot: see FillReplica. All of
// them have the sequence of the snapshot. Other goroutines can write to the store meanwhile.
func (s *Snapshot) CopyPart(p Part, yield func(*Entry) error) error {
	s.store.forgetChecks() // the copy gets checksums of its own, so each page is checked again before it is copied
	at, err := s.Position()
	if err != nil {
		return err
	}
	meta := s.bucket(format.Meta)
	if meta.Get(format.KeyPending) != nil {
		return fmt.Errorf("copy a part of the store: %w", ErrRedefined)
	}
	c := partCopy{filter: s.partFilter(p), yield: yield, entry: Entry{
		Sequence: at.Sequence, Epoch: at.Epoch, Time: time.Now(), By: system, Partial: true,
		Docs: getNumber(meta, format.KeyDocs), Items: getNumber(meta, format.KeyItems),
	}}
	if last := s.storedEntry(at.Sequence); last != nil {
		c.entry.WholeHash = logentry.HashOf(at.Sequence, last)
	}
	_, known, err := loadCatalog(meta)
	if err != nil {
		return err
	}
	first := c.entry
	first.Kind = ConversionEntry
	first.Conversion.Catalog = bytes.Clone(storedCatalog(s))
	if first.Locales = known.codes[1:]; len(first.Locales) > 0 {
		first.FirstLocale = 1
	}
	if err := c.send(first); err != nil {
		return err
	}
	for number, has := range c.filter.schemas {
		if has {
			s.eachKey(format.Rows, be.AppendUint16(nil, uint16(number)),
				func(k, v []byte) bool { return c.row(k, v) == nil })
		}
	}
	for number, has := range c.filter.schemas {
		if has {
			s.eachKey(format.Links, be.AppendUint16(nil, uint16(number)),
				func(k, v []byte) bool { return c.link(k, v) == nil })
		}
	}
	if s.failed != nil {
		return s.failed
	}
	return errors.Join(c.failed, c.flush())
}

// A partCopy makes entries of rows and links.
type partCopy struct {
	filter *partFilter
	entry  Entry // the next one
	yield  func(*Entry) error
	failed error
}

func (c *partCopy) send(e Entry) error {
	e.Encoded = e.Append(nil)
	c.failed = c.yield(&e)
	return c.failed
}

// flush sends the changes that are gathered.
func (c *partCopy) flush() error {
	if c.failed == nil && len(c.entry.Ops) > 0 {
		c.failed = c.send(c.entry)
		c.entry.Ops = c.entry.Ops[:0]
	}
	return c.failed
}

// full sends the changes that are gathered if they are many.
func (c *partCopy) full() error {
	if len(c.entry.Ops) < copiedOps {
		return c.failed
	}
	return c.flush()
}

func (c *partCopy) row(k, v []byte) error {
	o := logentry.Op{Kind: logentry.AddRow, Schema: be.Uint16(k), Slot: format.Slot(be.Uint16(k[2:])),
		Doc: be.Uint64(k[4:])}
	if !c.filter.hasRow(o.Schema, o.Slot) {
		return c.failed
	}
	o.Data = format.WithoutChecksum(v)
	c.entry.Ops = logentry.AppendRowOp(c.entry.Ops, o)
	return c.full()
}

func (c *partCopy) link(k, v []byte) error {
	if format.Side(k[4]) != format.FromSide {
		return c.failed
	}
	if l := linkOpAt(k, v); c.filter.hasLink(l) {
		c.entry.Ops = logentry.AppendLinkOp(c.entry.Ops, logentry.PutLink, l)
	}
	return c.full()
}

// NewPartialReplica creates the file of a partial replica at path, in place of one that is there. Fill has to give it
// its content before it is opened otherwise.
func NewPartialReplica(path string, p Part) (*Replica, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	r, err := OpenReplica(path, Options{})
	if err != nil {
		return nil, err
	}
	r.file.part.Store(&p)
	r.filling = true
	return r, nil
}

// Fill applies entries of CopyPart, in their order, to a file that NewPartialReplica has created.
func (r *Replica) Fill(list ...*Entry) error { return r.applier.apply(list) }

// fill moves to the sequence of an entry of CopyPart. All of them have the same.
func (tx *Tx) fill(e *Entry) { tx.sequence, tx.log.before = e.Sequence, e.Sequence }

// storePart stores which part the file has, and the hash of the origin's entry that its content is behind.
func (r *applier) storePart(tx *Tx, last EntryHash, epoch Epoch) error {
	meta := tx.bucket(format.Meta)
	if r.filling {
		text, err := json.Marshal(r.file.part.Load())
		if err != nil {
			return err
		}
		if err := meta.Put(format.KeyPart, copied(text)); err != nil {
			return err
		}
		if err := meta.Put(format.KeyIdentity, freshValue{partIdentity(epoch, text)}); err != nil {
			return err
		}
	}
	return meta.Put(format.KeyPartHash, freshValue{[]byte(last.String())})
}

// partIdentity returns the identity of a partial replica. Two copies of the same part have the same, as copies of a
// whole store do.
func partIdentity(epoch Epoch, part []byte) []byte {
	sum := sha256.Sum256(append(epoch[:], part...))
	return []byte(hex.EncodeToString(sum[:16]))
}
