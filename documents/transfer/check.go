package transfer

import (
	"errors"
	"fmt"
	"io"

	"lectern/contenttypes"
	"lectern/documents/unique"
	"lectern/internal/extsort"
	"lectern/jsontree"
	"lectern/store"
)

// checkedAtOnce is how many lines are checked in one snapshot. A snapshot that is held for long would keep the file
// from reusing pages.
const checkedAtOnce = 1000

// check is the first phase. It reads the whole file and collects problems without storing anything.
func (im *importer) check() error {
	r, err := im.newLineReader()
	if err != nil {
		return err
	}
	for err == nil {
		err = im.s.Store().View(func(snap *store.Snapshot) error { return im.checkSome(snap, r) })
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	im.lines = r.at.number
	im.o.Progress(ImportProgress{"checking", im.lines, im.lines})
	return im.resolve()
}

// checkSome checks the next lines in one snapshot. At the end of the file it returns io.EOF.
func (im *importer) checkSome(snap *store.Snapshot, r *lineReader) error {
	im.ids.begin(im.s.Model(), snap)
	for range checkedAtOnce {
		if err := im.ctx.Err(); err != nil {
			return err
		}
		o, wrong, err := r.object()
		if err != nil {
			return err
		}
		if r.at.number%progressEvery == 0 {
			im.o.Progress(ImportProgress{"checking", r.at.number, 0})
		}
		if o != nil && wrong == nil {
			wrong, err = im.checkLine(snap, r.at, o)
		}
		if err != nil {
			return err
		}
		if wrong != nil {
			im.wrong(r.at.number, wrong)
		}
		if r.objects == 0 && len(im.bad) >= strangeLines {
			return fmt.Errorf("it is no export: none of its first %d lines is a JSON object; "+
				"`lectern export` writes one a line", strangeLines)
		}
	}
	return nil
}

// checkLine checks a line. If it is valid, checkLine adds what the line says to the Sorters.
func (im *importer) checkLine(snap *store.Snapshot, at lineRef, o *jsontree.Object) (wrong, err error) {
	l, wrong := im.parseLine(o)
	if wrong != nil {
		return wrong, nil
	}
	c := lineCheck{im: im, snap: snap, at: at, line: l, doc: im.hashDocument(l.typ, l.documentID)}
	if wrong = c.check(); wrong != nil {
		im.damaged[c.doc] = at.number
		return wrong, im.names.Add(c.name())
	}
	return nil, c.remember()
}

// A lineCheck is the check of one line.
type lineCheck struct {
	im     *importer
	snap   *store.Snapshot
	at     lineRef
	line   *importLine
	doc    uint64 // hash of the document
	claims []claim
	needs  []need
}

func (c *lineCheck) check() error {
	l := c.line
	if l.typ.Kind == contenttypes.SingleType {
		if id, ok := c.im.singles[l.typ]; ok && id != l.documentID {
			return fmt.Errorf("%s is a single type, and an earlier line has its document %s", l.typ.UID, id)
		}
	}
	if err := c.im.build(l); err != nil {
		return err
	}
	if err := l.checkIDs(); err != nil {
		return err
	}
	c.claims = c.im.claimsOf(l)
	for i := range c.claims {
		cl := &c.claims[i]
		if cl.kind != uniqueClaim {
			continue
		}
		other := ownerOf(c.snap, l, cl.attrs, cl.value)
		switch {
		case other == "":
		case c.im.o.Partial: // the line of the other document may be left out
			return cl.takenBy(other)
		default: // it is in the file with another value, or this is a problem
			c.needs = append(c.needs, need{c.im.hashDocument(l.typ, other), i})
		}
	}
	for i, e := range l.edges() {
		if !c.hasLocalization(e) {
			c.needs = append(c.needs, need{c.im.hashLocalization(e.target.UID, e.id, e.locale), len(c.claims) + i})
		}
	}
	return nil
}

func (c *lineCheck) hasLocalization(e *edge) bool {
	doc, ok := lookUp(c.snap, e.target, e.id)
	return ok && store.HasLocalization(c.snap, e.target, doc, e.locale)
}

// name returns the record of the localization that a line has.
func (c *lineCheck) name() extsort.Record {
	return extsort.Record{c.im.hashLocalization(c.line.typ.UID, c.line.documentID, c.line.locale), present,
		uint64(c.at.number), 0, 0}
}

// remember adds what a valid line says to the Sorters.
func (c *lineCheck) remember() error {
	im, l, extent := c.im, c.line, c.at.extent()
	number := uint64(c.at.number)
	var errs []error
	add := func(s *extsort.Sorter, r extsort.Record) {
		if err := s.Add(r); err != nil {
			errs = append(errs, err)
		}
	}
	for i, cl := range c.claims {
		ordinal := uint64(i)
		if cl.kind == linkClaim {
			ordinal |= sharedClaim
		}
		add(im.claims, extsort.Record{cl.hash, number, ordinal, c.doc, extent})
	}
	add(im.names, c.name())
	if len(im.uniqueIn(l.typ)) > 0 {
		add(im.names, extsort.Record{c.doc, present, number, 0, 0})
	}
	for _, n := range c.needs {
		add(im.names, extsort.Record{n.hash, needed, number, uint64(n.ordinal), extent})
	}
	add(im.lineage, extsort.Record{c.doc, number, extent, im.links, im.ids.fresh[l.typ] | im.turns[l.typ]<<turnBit})
	for _, e := range l.edges() {
		if ordersTargets(e.attr) {
			add(im.ranks, extsort.Record{im.hashList(e), e.order, im.links, c.lastPosition(e), 0})
			im.links++
		}
	}
	if l.typ.Kind == contenttypes.SingleType {
		im.singles[l.typ] = l.documentID
	}
	errs = append(errs, im.ids.remember(c))
	return errors.Join(errs...)
}

// lastPosition returns the last position in the list of the target of a link in the store, 0 if it has no links.
func (c *lineCheck) lastPosition(e *edge) uint64 {
	doc, ok := lookUp(c.snap, e.target, e.id)
	if !ok {
		return 0
	}
	return c.snap.LastToPos(e.attr, e.set, store.Ref{Type: e.target.UID, Doc: doc, Locale: e.locale})
}

// hashLocalization returns the hash of a document in a locale.
func (im *importer) hashLocalization(uid, id, locale string) uint64 { return im.hash(uid, id, locale) }

// hashList returns the hash of the list of links at the target of a link.
func (im *importer) hashList(e *edge) uint64 {
	return im.hash(e.attr.Owner.UID, e.attr.Name, e.set.Name(), e.target.UID, e.id, e.locale)
}

// ownerOf returns the documentId of another document in the store that has this unique value, or "" if there is none.
func ownerOf(snap *store.Snapshot, l *importLine, attrs []*contenttypes.Attribute, value []byte) string {
	other := unique.Other(snap, l.typ, store.Published, l.locale, attrs, value,
		func(r store.Record) bool { return r.DocumentID() == l.documentID })
	if !other.Exists() {
		return ""
	}
	return other.DocumentID()
}
