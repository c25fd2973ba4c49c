package store

import (
	"bytes"
	"cmp"
	"slices"

	"lectern/contenttypes"
)

// A Ref names one end of a link: a localization of a document, or a component. Locale is "" if the type is not localized. Doc is the
// number of the document, or the id of the component.
type Ref struct {
	Type   string // uid of the content-type or component
	Doc    uint64
	Locale string
}

// A LinkSet is one of the two sets of links that a relation can have: the one that published versions show, or the one that drafts
// show. A relation with draft & publish on neither side has PublishedLinks only (see contenttypes.Attribute.HasDraftLinks).
type LinkSet uint8

const (
	PublishedLinks LinkSet = iota
	DraftLinks
)

// linkSets holds both sets.
var linkSets = [...]LinkSet{PublishedLinks, DraftLinks}

// Links returns the set of links that versions of this status show, if the relation has both sets.
func (s Status) Links() LinkSet { return LinkSet(s) }

// A Link joins a document or component to a document under a relation attribute, in one LinkSet. While the target has no version of the
// status that shows the set, the link is kept, but not shown.
//
// In a relation with both sets, a version of a type with draft & publish has links in the set of its status, and a row of a type without it
// has the same links in both. The links of a component are in the sets of the document that holds it.
type Link struct {
	Attr    *contenttypes.Attribute // the owning attribute, which is the one without mappedBy
	Set     LinkSet
	From    Ref // the document or component that has Attr
	To      Ref
	FromPos uint64 // orders the links of From: unique in (Attr, Set, From)
	ToPos   uint64 // orders the links of To:   unique in (Attr, Set, To)
}

// PosStep is the distance between the positions of neighbouring links when links are numbered again, or added at an end.
const PosStep = 1 << 32

// Each link is stored twice, in the list of either end. The key is
//
//	schema u16 · field u16 of the owning attribute · side u8 · link set u8 · locale u16 · doc u64 · position u64
//
// and the value is the other end: schema u16 · locale u16 · doc u64 · position u64. The upper bits of doc hold a checksum (see checksum.go).
type side uint8

const (
	fromSide side = iota
	toSide
)

// ref is a Ref in numbers.
type ref struct {
	schema uint16
	locale uint16
	doc    uint64
}

const (
	linkListLen = 2 + 2 + 1 + 1 + 2 + 8
	linkKeyLen  = linkListLen + 8
	linkLen     = linkKeyLen + 2 + 2 + 8 + 8 // key and value
)

// appendLinkList appends the prefix that the keys of all links in the list of one end share.
func (s *Snapshot) appendLinkList(b []byte, a *contenttypes.Attribute, sd side, set LinkSet, r ref) []byte {
	schema, field := s.bound.relation(a)
	b = be.AppendUint16(b, schema)
	b = be.AppendUint16(b, field)
	b = append(b, byte(sd), byte(set))
	b = be.AppendUint16(b, r.locale)
	return be.AppendUint64(b, r.doc)
}

// setLinkOwner changes the prefix of a list of links into that of another end.
func setLinkOwner(list []byte, r ref) {
	be.PutUint16(list[6:], r.locale)
	be.PutUint64(list[8:], r.doc)
}

// newLinkEnd returns the value of a link in the list of one end: the other end, and the position of the link in the list there.
func newLinkEnd(r ref, pos uint64) freshValue {
	b := make([]byte, 0, linkLen-linkKeyLen)
	b = be.AppendUint16(b, r.schema)
	b = be.AppendUint16(b, r.locale)
	b = be.AppendUint64(b, r.doc)
	return freshValue{be.AppendUint64(b, pos)}
}

func parseLinkEnd(v []byte) (ref, uint64) {
	return ref{be.Uint16(v), be.Uint16(v[2:]), number(v[4:])}, be.Uint64(v[12:])
}

// isLinkEnd reports whether v is the value of a link to this end.
func isLinkEnd(v []byte, r ref, pos uint64) bool {
	if v == nil {
		return false
	}
	end, endPos := parseLinkEnd(v)
	return end == r && endPos == pos
}

// eachLink calls yield with the other end and both positions of the links in one end's list, in order.
func (s *Snapshot) eachLink(a *contenttypes.Attribute, sd side, set LinkSet, r ref, yield func(other ref, pos, otherPos uint64) bool) {
	var buf [linkListLen]byte
	s.eachInList(s.appendLinkList(buf[:0], a, sd, set, r), yield)
}

// eachInList is eachLink for the list with this prefix of keys.
func (s *Snapshot) eachInList(list []byte, yield func(other ref, pos, otherPos uint64) bool) {
	w := linkWalk{cursor: s.takeCursor(links), snap: s}
	defer s.giveCursor(links, w.cursor)
	for k, v := w.seek(list); k != nil && s.step(); k, v = w.next() {
		s.stats.links++
		other, otherPos := parseLinkEnd(v)
		if !yield(other, be.Uint64(k[linkListLen:]), otherPos) {
			return
		}
	}
}

// A linkWalk walks over lists of links. If the next list follows the last one in the file, it gets there without a search.
type linkWalk struct {
	snap   *Snapshot
	cursor cursor
	key    []byte // the key at the cursor, nil behind the last
	value  []byte
	past   []pastLink        // the links behind key, in a snapshot of the past
	moved  bool              // whether the cursor was moved yet
	sought [linkListLen]byte // the prefix of the list that was sought; no link lies between it and key
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
	s.eachLink(a, fromSide, set, s.number(from), func(other ref, pos, otherPos uint64) bool {
		return yield(Link{Attr: a, Set: set, From: from, To: s.name(other), FromPos: pos, ToPos: otherPos})
	})
}

// LinksTo calls yield with the links that lead to the document to under the owning attribute a, in the order of their ToPos.
func (s *Snapshot) LinksTo(a *contenttypes.Attribute, set LinkSet, to Ref, yield func(Link) bool) {
	s.eachLink(a, toSide, set, s.number(to), func(other ref, pos, otherPos uint64) bool {
		return yield(Link{Attr: a, Set: set, From: s.name(other), To: to, FromPos: otherPos, ToPos: pos})
	})
}

// isNew reports whether r is a document that got its number in this write transaction. Its links are all in the buffer then, and none in the
// bucket.
func (s *Snapshot) isNew(r ref) bool {
	b := s.bound.numbered(r.schema)
	return s.buffers[links] != nil && r.doc > s.storedDoc && b != nil && b.typ != nil
}

// linkAt returns the value of the link with a key in the list of r, nil if there is none.
func (s *Snapshot) linkAt(r ref, key []byte) []byte {
	if s.isNew(r) {
		s.step()
		v, _ := s.buffers[links].get(key)
		return v
	}
	return s.get(links, key)
}

// LinkFrom returns the link of from at a FromPos under the owning attribute a; ok is false if there is none.
func (s *Snapshot) LinkFrom(a *contenttypes.Attribute, set LinkSet, from Ref, pos uint64) (l Link, ok bool) {
	r := s.number(from)
	v := s.linkAt(r, be.AppendUint64(s.appendLinkList(nil, a, fromSide, set, r), pos))
	if v == nil {
		return Link{}, false
	}
	other, otherPos := parseLinkEnd(v)
	return Link{Attr: a, Set: set, From: from, To: s.name(other), FromPos: pos, ToPos: otherPos}, true
}

// LinkTo returns the link to the document to at a ToPos under the owning attribute a; ok is false if there is none.
func (s *Snapshot) LinkTo(a *contenttypes.Attribute, set LinkSet, to Ref, pos uint64) (l Link, ok bool) {
	r := s.number(to)
	v := s.linkAt(r, be.AppendUint64(s.appendLinkList(nil, a, toSide, set, r), pos))
	if v == nil {
		return Link{}, false
	}
	other, otherPos := parseLinkEnd(v)
	return Link{Attr: a, Set: set, From: s.name(other), To: to, FromPos: otherPos, ToPos: pos}, true
}

// LastFromPos returns the greatest FromPos in the links of from, 0 if it has none.
func (s *Snapshot) LastFromPos(a *contenttypes.Attribute, set LinkSet, from Ref) uint64 {
	return s.lastPos(a, fromSide, set, s.number(from))
}

// LastToPos returns the greatest ToPos in the links to a document, 0 if there are none.
func (s *Snapshot) LastToPos(a *contenttypes.Attribute, set LinkSet, to Ref) uint64 {
	return s.lastPos(a, toSide, set, s.number(to))
}

func (s *Snapshot) lastPos(a *contenttypes.Attribute, sd side, set LinkSet, r ref) uint64 {
	var buf [linkListLen]byte
	k := s.last(links, s.appendLinkList(buf[:0], a, sd, set, r), linkKeyLen-linkListLen, s.isNew(r))
	if k == nil {
		return 0
	}
	return be.Uint64(k[linkListLen:])
}

// number replaces the names in a Ref by their numbers. For an unknown locale it returns a number that no locale has.
func (s *Snapshot) number(r Ref) ref {
	n := ref{doc: r.Doc}
	if b := s.bound.byUID[r.Type]; b != nil {
		n.schema = b.number
	} else {
		n.schema = s.bound.absent[r.Type]
	}
	locale, ok := s.store.locales.current.Load().numbers[r.Locale]
	if !ok {
		locale = 1<<15 - 1
	}
	n.locale = locale
	return n
}

func (s *Snapshot) name(r ref) Ref {
	n := Ref{Doc: r.doc, Locale: s.localeCode(r.locale)}
	if b := s.bound.numbered(r.schema); b != nil {
		n.Type = b.schema.UID
		return n
	}
	for uid, number := range s.bound.absent {
		if number == r.schema {
			n.Type = uid
		}
	}
	return n
}

// Related calls yield with the versions that r shows under a relation, media or localizations attribute of either side, in order. The
// status of the request decides which link set is read and which versions are shown. Links to documents without such a version are left out.
func (s *Snapshot) Related(r Record, a *contenttypes.Attribute, status Status, yield func(Record) bool) {
	if !r.Exists() {
		return
	}
	if a.System {
		s.localizations(r, yield)
		return
	}
	var buf [linkListLen]byte
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
	s.eachInList(list, func(other ref, _, _ uint64) bool {
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

// eachTarget calls yield with the documents to which r is linked under a relation or media attribute, in order. Unlike Related it
// includes documents without a version to show.
func (s *Snapshot) eachTarget(r Record, a *contenttypes.Attribute, status Status, yield func(ref) bool) {
	var buf [linkListLen]byte
	s.eachInList(s.appendShownList(buf[:0], a, status, r.ref()), func(other ref, _, _ uint64) bool { return yield(other) })
}

// linksOf says in which lists the links lie that a relation attribute of either side shows to a request for status.
func linksOf(a *contenttypes.Attribute, status Status) (owning *contenttypes.Attribute, sd side, set LinkSet) {
	if a.Mapped {
		return a.Inverse, toSide, shownSet(a.Inverse, status)
	}
	return a, fromSide, shownSet(a, status)
}

// shownSet returns the set of an owning attribute's links that a request for status sees.
func shownSet(owning *contenttypes.Attribute, status Status) LinkSet {
	if owning.HasDraftLinks() {
		return status.Links()
	}
	return PublishedLinks
}

// appendShownList appends the prefix of the list of links that r shows to a request for status.
func (s *Snapshot) appendShownList(b []byte, a *contenttypes.Attribute, status Status, r ref) []byte {
	owning, sd, set := linksOf(a, status)
	return s.appendLinkList(b, owning, sd, set, r)
}

// shown returns the version of a linked document that a request for status shows, or the zero Record.
func (s *Snapshot) shown(r ref, status Status) Record {
	b, sl := s.versionOf(r, status)
	if b == nil {
		return Record{}
	}
	return s.row(b, sl, r.doc)
}

// versionOf returns the type and slot of the version that a request for status shows; b is nil if r is not a document.
func (s *Snapshot) versionOf(r ref, status Status) (b *boundSchema, sl slot) {
	b = s.bound.numbered(r.schema)
	if b == nil || b.typ == nil {
		return nil, 0
	}
	if !b.typ.DraftAndPublish {
		status = Published
	}
	return b, makeSlot(r.locale, status)
}

// localizations calls yield with the versions of a document in its other locales and with the same status, in the order of their locale
// codes.
func (s *Snapshot) localizations(r Record, yield func(Record) bool) {
	b := r.table.bound
	others := slices.DeleteFunc(s.slots(b, unquote(r.JSON(b.system.documentID))), func(sl slot) bool {
		return sl == r.slot || sl.status() != r.slot.status()
	})
	slices.SortFunc(others, func(x, y slot) int { return cmp.Compare(s.localeCode(x.locale()), s.localeCode(y.locale())) })
	for _, sl := range others {
		if !yield(s.row(b, sl, r.doc)) {
			return
		}
	}
}
