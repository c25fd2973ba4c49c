package store

import (
	"bytes"
	"cmp"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// A Ref names one end of a link: a localization of a document, or a component. Locale is "" if the type is not
// localized. Doc is the number of the document, or the id of the component.
type Ref struct {
	Type   string // uid of the content-type or component
	Doc    uint64
	Locale string
}

// A LinkSet is one of the two sets of links that a relation can have: the one that published versions show, or the one
// that drafts show. A relation with draft & publish on neither side has PublishedLinks only (see
// contenttypes.Attribute.HasDraftLinks).
type LinkSet = format.LinkSet

const (
	PublishedLinks = format.PublishedLinks
	DraftLinks     = format.DraftLinks

	// PosStep is the distance between the positions of neighbouring links when links are numbered again, or added at an
	// end.
	PosStep = format.PosStep
)

// linkSets holds both sets.
var linkSets = [...]LinkSet{PublishedLinks, DraftLinks}

// A Link joins a document or component to a document under a relation attribute, in one LinkSet. While the target has
// no version of the status that shows the set, the link is kept, but not shown.
//
// In a relation with both sets, a version of a type with draft & publish has links in the set of its status, and a row
// of a type without it has the same links in both. The links of a component are in the sets of the document that holds
// it.
type Link struct {
	Attr    *contenttypes.Attribute // the owning attribute, which is the one without mappedBy
	Set     LinkSet
	From    Ref // the document or component that has Attr
	To      Ref
	FromPos uint64 // orders the links of From: unique in (Attr, Set, From)
	ToPos   uint64 // orders the links of To:   unique in (Attr, Set, To)
}

// appendLinkList appends the prefix that the keys of all links in the list of one end share.
func (s *Snapshot) appendLinkList(b []byte, a *contenttypes.Attribute, sd format.Side, set LinkSet,
	r format.End) []byte {
	schema, field := s.bound.relation(a)
	b = be.AppendUint16(b, schema)
	b = be.AppendUint16(b, field)
	b = append(b, byte(sd), byte(set))
	b = be.AppendUint16(b, r.Locale)
	return be.AppendUint64(b, r.Doc)
}

// eachLink calls yield with the other end and both positions of the links in one end's list, in order.
func (s *Snapshot) eachLink(a *contenttypes.Attribute, sd format.Side, set LinkSet, r format.End,
	yield func(other format.End, pos, otherPos uint64) bool) {
	var buf [format.LinkListLen]byte
	s.eachInList(s.appendLinkList(buf[:0], a, sd, set, r), yield)
}

// eachInList is eachLink for the list with this prefix of keys.
func (s *Snapshot) eachInList(list []byte, yield func(other format.End, pos, otherPos uint64) bool) {
	w := linkWalk{cursor: s.takeCursor(format.Links), snap: s}
	defer s.giveCursor(format.Links, w.cursor)
	for k, v := w.seek(list); k != nil && s.step(); k, v = w.next() {
		s.stats.links++
		other, otherPos := format.ParseLink(v)
		if !yield(other, be.Uint64(k[format.LinkListLen:]), otherPos) {
			return
		}
	}
}

// A linkWalk walks over lists of links. If the next list follows the last one in the file, it gets there without a
// search.
type linkWalk struct {
	snap   *Snapshot
	cursor cursor
	key    []byte // the key at the cursor, nil behind the last
	value  []byte
	past   []pastLink               // the links behind key, in a snapshot of the past
	moved  bool                     // whether the cursor was moved yet
	sought [format.LinkListLen]byte // the prefix of the list that was sought; no link lies between it and key
}

// seek moves to a list and returns its first link, nil if the list is empty.
func (w *linkWalk) seek(list []byte) (k, v []byte) {
	if w.snap.past != nil {
		w.past = w.snap.pastLinks(list)
		return w.next()
	}
	if !w.moved || bytes.Compare(list, w.sought[:]) <= 0 || w.key != nil && bytes.Compare(list, w.key) > 0 {
		w.snap.stats.seeks++
		w.key, w.value = w.cursor.Seek(list)
	}
	w.moved = true
	copy(w.sought[:], list)
	return w.here()
}

// next returns the next link of the list, nil at its end.
func (w *linkWalk) next() (k, v []byte) {
	if w.snap.past != nil {
		if len(w.past) == 0 {
			return nil, nil
		}
		l := w.past[0]
		w.past = w.past[1:]
		return l.key, l.value
	}
	w.key, w.value = w.cursor.Next()
	return w.here()
}

// here returns the link at the cursor if it is in the list, otherwise nil.
func (w *linkWalk) here() (k, v []byte) {
	if !bytes.HasPrefix(w.key, w.sought[:]) {
		return nil, nil
	}
	return w.key, w.value
}

// LinksFrom calls yield with the links of from under the owning attribute a, in the order of their FromPos.
func (s *Snapshot) LinksFrom(a *contenttypes.Attribute, set LinkSet, from Ref, yield func(Link) bool) {
	s.eachLink(a, format.FromSide, set, s.number(from), func(other format.End, pos, otherPos uint64) bool {
		return yield(Link{Attr: a, Set: set, From: from, To: s.name(other), FromPos: pos, ToPos: otherPos})
	})
}

// LinksTo calls yield with the links that lead to the document to under the owning attribute a, in the order of their
// ToPos.
func (s *Snapshot) LinksTo(a *contenttypes.Attribute, set LinkSet, to Ref, yield func(Link) bool) {
	s.eachLink(a, format.ToSide, set, s.number(to), func(other format.End, pos, otherPos uint64) bool {
		return yield(Link{Attr: a, Set: set, From: s.name(other), To: to, FromPos: otherPos, ToPos: pos})
	})
}

// isNew reports whether r is a document that got its number in this write transaction. Its links are all in the buffer
// then, and none in the bucket.
func (s *Snapshot) isNew(r format.End) bool {
	b := s.bound.numbered(r.Schema)
	return s.buffers[format.Links] != nil && r.Doc > s.storedDoc && b != nil && b.typ != nil
}

// linkAt returns the value of the link with a key in the list of r, nil if there is none.
func (s *Snapshot) linkAt(r format.End, key []byte) []byte {
	if s.isNew(r) {
		s.step()
		v, _ := s.buffers[format.Links].get(key)
		return v
	}
	return s.get(format.Links, key)
}

// LinkFrom returns the link of from at a FromPos under the owning attribute a; ok is false if there is none.
func (s *Snapshot) LinkFrom(a *contenttypes.Attribute, set LinkSet, from Ref, pos uint64) (l Link, ok bool) {
	r := s.number(from)
	v := s.linkAt(r, be.AppendUint64(s.appendLinkList(nil, a, format.FromSide, set, r), pos))
	if v == nil {
		return Link{}, false
	}
	other, otherPos := format.ParseLink(v)
	return Link{Attr: a, Set: set, From: from, To: s.name(other), FromPos: pos, ToPos: otherPos}, true
}

// LinkTo returns the link to the document to at a ToPos under the owning attribute a; ok is false if there is none.
func (s *Snapshot) LinkTo(a *contenttypes.Attribute, set LinkSet, to Ref, pos uint64) (l Link, ok bool) {
	r := s.number(to)
	v := s.linkAt(r, be.AppendUint64(s.appendLinkList(nil, a, format.ToSide, set, r), pos))
	if v == nil {
		return Link{}, false
	}
	other, otherPos := format.ParseLink(v)
	return Link{Attr: a, Set: set, From: s.name(other), To: to, FromPos: otherPos, ToPos: pos}, true
}

// LastFromPos returns the greatest FromPos in the links of from, 0 if it has none.
func (s *Snapshot) LastFromPos(a *contenttypes.Attribute, set LinkSet, from Ref) uint64 {
	return s.lastPos(a, format.FromSide, set, s.number(from))
}

// LastToPos returns the greatest ToPos in the links to a document, 0 if there are none.
func (s *Snapshot) LastToPos(a *contenttypes.Attribute, set LinkSet, to Ref) uint64 {
	return s.lastPos(a, format.ToSide, set, s.number(to))
}

func (s *Snapshot) lastPos(a *contenttypes.Attribute, sd format.Side, set LinkSet, r format.End) uint64 {
	var buf [format.LinkListLen]byte
	k := s.last(format.Links, s.appendLinkList(buf[:0], a, sd, set, r), format.LinkKeyLen-format.LinkListLen,
		s.isNew(r))
	if k == nil {
		return 0
	}
	return be.Uint64(k[format.LinkListLen:])
}

// number replaces the names in a Ref by their numbers. For an unknown locale it returns a number that no locale has.
func (s *Snapshot) number(r Ref) format.End {
	n := format.End{Doc: r.Doc}
	if b := s.bound.byUID[r.Type]; b != nil {
		n.Schema = b.number
	} else {
		n.Schema = s.bound.absent[r.Type]
	}
	locale, ok := s.store.locales.current.Load().numbers[r.Locale]
	if !ok {
		locale = 1<<15 - 1
	}
	n.Locale = locale
	return n
}

func (s *Snapshot) name(r format.End) Ref {
	n := Ref{Doc: r.Doc, Locale: s.localeCode(r.Locale)}
	if b := s.bound.numbered(r.Schema); b != nil {
		n.Type = b.schema.UID
		return n
	}
	for uid, number := range s.bound.absent {
		if number == r.Schema {
			n.Type = uid
		}
	}
	return n
}

// Related calls yield with the versions that r shows under a relation, media or localizations attribute of either side,
// in order. The status of the request decides which link set is read and which versions are shown. Links to documents
// without such a version are left out.
func (s *Snapshot) Related(r Record, a *contenttypes.Attribute, status Status, yield func(Record) bool) {
	if !r.Exists() {
		return
	}
	if a.System {
		s.localizations(r, yield)
		return
	}
	var buf [format.LinkListLen]byte
	list := s.appendShownList(buf[:0], a, status, r.ref())
	known, complete := s.cachedLocations(list)
	for _, location := range known {
		s.stats.links++
		if !s.step() || !yield(s.rowAt(location)) {
			return
		}
	}
	if complete {
		return
	}
	var locations []uint64
	complete, skip := true, len(known) // yield has been called with those
	s.eachInList(list, func(other format.End, _, _ uint64) bool {
		target := s.shown(other, status)
		if !target.Exists() {
			return true
		}
		locations = s.appendLocation(locations, target)
		if skip--; skip >= 0 {
			return true
		}
		complete = yield(target)
		return complete
	})
	s.cacheLocations(list, locations, complete)
}

// eachTarget calls yield with the documents to which r is linked under a relation or media attribute, in order. Unlike
// Related it includes documents without a version to show.
func (s *Snapshot) eachTarget(r Record, a *contenttypes.Attribute, status Status, yield func(format.End) bool) {
	var buf [format.LinkListLen]byte
	s.eachInList(s.appendShownList(buf[:0], a, status, r.ref()),
		func(other format.End, _, _ uint64) bool { return yield(other) })
}

// linksFor returns the status in which the links of a relation attribute are read if its rows are shown in one status
// and its targets in another: that of the end which owns the relation, unless that has no drafts. Then a write of a
// target's draft can change the draft's links, which are not to be seen beside published targets.
func linksFor(a *contenttypes.Attribute, rows, targets Status) Status {
	if owner, ok := a.OwnerType(); a.Mapped || ok && !owner.DraftAndPublish {
		return targets
	}
	return rows
}

// linksOf says in which lists the links lie that a relation attribute of either side shows to a request for status.
func linksOf(a *contenttypes.Attribute, status Status) (owning *contenttypes.Attribute, sd format.Side, set LinkSet) {
	if a.Mapped {
		return a.Inverse, format.ToSide, shownSet(a.Inverse, status)
	}
	return a, format.FromSide, shownSet(a, status)
}

// shownSet returns the set of an owning attribute's links that a request for status sees.
func shownSet(owning *contenttypes.Attribute, status Status) LinkSet {
	if owning.HasDraftLinks() {
		return status.Links()
	}
	return PublishedLinks
}

// appendShownList appends the prefix of the list of links that r shows to a request for status.
func (s *Snapshot) appendShownList(b []byte, a *contenttypes.Attribute, status Status, r format.End) []byte {
	owning, sd, set := linksOf(a, status)
	return s.appendLinkList(b, owning, sd, set, r)
}

// shown returns the version of a linked document that a request for status shows, or the zero Record.
func (s *Snapshot) shown(r format.End, status Status) Record {
	b, sl := s.versionOf(r, status)
	if b == nil {
		return Record{}
	}
	return s.row(b, sl, r.Doc)
}

// versionOf returns the type and slot of the version that a request for status shows; b is nil if r is not a document.
func (s *Snapshot) versionOf(r format.End, status Status) (b *boundSchema, sl format.Slot) {
	b = s.bound.numbered(r.Schema)
	if b == nil || b.typ == nil {
		return nil, 0
	}
	if !b.typ.DraftAndPublish {
		status = Published
	}
	return b, format.NewSlot(r.Locale, status)
}

// localizations calls yield with the versions of a document in its other locales and with the same status, in the order
// of their locale codes.
func (s *Snapshot) localizations(r Record, yield func(Record) bool) {
	b := r.table.bound
	others := slices.DeleteFunc(s.slots(b, format.Unquote(r.JSON(b.system.documentID))), func(sl format.Slot) bool {
		return sl == r.slot || sl.Status() != r.slot.Status()
	})
	slices.SortFunc(others,
		func(x, y format.Slot) int { return cmp.Compare(s.localeCode(x.Locale()), s.localeCode(y.Locale())) })
	for _, sl := range others {
		if !yield(s.row(b, sl, r.doc)) {
			return
		}
	}
}

// These lists of link sets and statuses are shared and must not be changed.
var (
	bothLinkSets   = linkSets[:]
	publishedLinks = linkSets[:1:1]
	publishedOnly  = []Status{Published}
	draftFirst     = []Status{Draft, Published}
)

// LinkSets returns both sets of links. The list must not be changed.
func LinkSets() []LinkSet { return bothLinkSets }

// StatusesOf returns the statuses that versions of a type can have. The first is that of the version that a body is
// written to. The list must not be changed.
func StatusesOf(t *contenttypes.ContentType) []Status {
	if t.DraftAndPublish {
		return draftFirst
	}
	return publishedOnly
}

// LinkSetsOf returns the sets in which a version of a type, and the components in it, have links. The list must not be
// changed.
func LinkSetsOf(t *contenttypes.ContentType, status Status) []LinkSet {
	if t.DraftAndPublish {
		return []LinkSet{status.Links()}
	}
	return bothLinkSets
}

// LinkSetsUnder returns those of sets that a relation attribute uses.
func LinkSetsUnder(a *contenttypes.Attribute, sets []LinkSet) []LinkSet {
	if !a.HasDraftLinks() {
		return publishedLinks
	}
	return sets
}
