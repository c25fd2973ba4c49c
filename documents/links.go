package documents

import (
	"cmp"
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// An end is the list of links that a document or component has under a relation attribute in one link set: the links
// from it or, if to is set, the links that point at it.
type end struct {
	attr *contenttypes.Attribute // the owning attribute
	to   bool
	set  store.LinkSet
	ref  store.Ref
}

// endOf returns the end that an attribute shows, whether it owns the relation or shows it from the other side.
func endOf(a *contenttypes.Attribute, set store.LinkSet, ref store.Ref) end {
	if a.Mapped {
		return end{a.Inverse, true, set, ref}
	}
	return end{a, false, set, ref}
}

// other returns the opposite end of e's link to ref.
func (e end) other(ref store.Ref) end { return end{e.attr, !e.to, e.set, ref} }

// far returns the other document of a link in e's list.
func (e end) far(l store.Link) store.Ref {
	if e.to {
		return l.From
	}
	return l.To
}

func (e end) pos(l store.Link) uint64 {
	if e.to {
		return l.ToPos
	}
	return l.FromPos
}

// link returns a link between e and ref: pos is its position in e's list, farPos that at the other end.
func (e end) link(ref store.Ref, pos, farPos uint64) store.Link {
	l := store.Link{Attr: e.attr, Set: e.set, From: e.ref, To: ref, FromPos: pos, ToPos: farPos}
	if e.to {
		l.From, l.To, l.FromPos, l.ToPos = ref, e.ref, farPos, pos
	}
	return l
}

// linkEdits is the store's links with the changes of one write applied. A change takes the same time however many links
// were changed before. After the context of the write has ended, changes are ignored.
type linkEdits struct {
	model *contenttypes.Model
	snap  *store.Snapshot
	lists map[end]*linkList
	edits map[linkName]*linkEdit
	order []*linkEdit
}

// A linkList is the part of an end's list that a write has changed.
type linkList struct {
	end    end
	edits  []*linkEdit    // changed links, in no order
	edited bool           // some of its links were changed, so that the stored list may be wrong
	taken  map[uint64]int // number of edits at each position; nil until it is needed
	last   uint64         // upper limit of the positions in it, once known
	known  bool
}

// linkName identifies a link by the two lists that contain it.
type linkName struct{ from, to *linkList }

// A linkEdit is a link before and after the write; the zero Link means that there is none.
type linkEdit struct {
	linkName
	was, is store.Link
	at      [2]int // index in the edits of from and to
}

func newLinkEdits(model *contenttypes.Model, snap *store.Snapshot) *linkEdits {
	return &linkEdits{model: model, snap: snap, lists: map[end]*linkList{}, edits: map[linkName]*linkEdit{}}
}

// at returns the list of an end.
func (le *linkEdits) at(e end) *linkList {
	l := le.lists[e]
	if l == nil {
		l = &linkList{end: e}
		le.lists[e] = l
	}
	return l
}

func (le *linkEdits) nameOf(l store.Link) linkName {
	return linkName{le.at(end{l.Attr, false, l.Set, l.From}), le.at(end{l.Attr, true, l.Set, l.To})}
}

// changed reports whether a link of the store was changed.
func (le *linkEdits) changed(l store.Link) bool {
	from, to := le.lists[end{l.Attr, false, l.Set, l.From}], le.lists[end{l.Attr, true, l.Set, l.To}]
	return from != nil && to != nil && le.edits[linkName{from, to}] != nil
}

// list returns the links of an end, in order.
func (le *linkEdits) list(e end) []store.Link {
	own := le.lists[e]
	var list []store.Link
	add := func(l store.Link) bool {
		if own == nil || !own.edited || !le.changed(l) {
			list = append(list, l)
		}
		return true
	}
	if e.to {
		le.snap.LinksTo(e.attr, e.set, e.ref, add)
	} else {
		le.snap.LinksFrom(e.attr, e.set, e.ref, add)
	}
	if own == nil || len(own.edits) == 0 {
		return list
	}
	for _, ed := range own.edits {
		list = append(list, ed.is)
	}
	slices.SortFunc(list, func(a, b store.Link) int { return cmp.Compare(e.pos(a), e.pos(b)) })
	return list
}

// refs returns the documents that an end is linked to, in order.
func (le *linkEdits) refs(e end) []store.Ref {
	list := le.list(e)
	refs := make([]store.Ref, len(list))
	for i, l := range list {
		refs[i] = e.far(l)
	}
	return refs
}

// edit returns the edit of a link, and creates it if there is none yet. was is the link as it is stored.
func (le *linkEdits) edit(l, was store.Link) *linkEdit {
	name := le.nameOf(l)
	ed := le.edits[name]
	if ed == nil {
		ed = &linkEdit{linkName: name, was: was}
		le.edits[name] = ed
		le.order = append(le.order, ed)
		name.from.edited, name.to.edited = true, true
		ed.become(was)
	}
	return ed
}

// become sets the link as it will be after the write.
func (ed *linkEdit) become(is store.Link) {
	if ed.is.Attr != nil {
		ed.from.remove(ed)
		ed.to.remove(ed)
	}
	if ed.is = is; is.Attr != nil {
		ed.from.add(ed)
		ed.to.add(ed)
	}
}

// index returns the field with an edit's index in the edits of the list.
func (l *linkList) index(ed *linkEdit) *int {
	if l.end.to {
		return &ed.at[1]
	}
	return &ed.at[0]
}

func (l *linkList) add(ed *linkEdit) {
	*l.index(ed) = len(l.edits)
	l.edits = append(l.edits, ed)
	pos := l.end.pos(ed.is)
	l.last = max(l.last, pos)
	if l.taken != nil {
		l.taken[pos]++
	}
}

func (l *linkList) remove(ed *linkEdit) {
	i, last := *l.index(ed), len(l.edits)-1
	l.edits[i] = l.edits[last]
	*l.index(l.edits[i]) = i
	l.edits = l.edits[:last]
	if l.taken != nil {
		l.taken[l.end.pos(ed.is)]--
	}
}

// cut removes a link that list returned.
func (le *linkEdits) cut(l store.Link) {
	if le.snap.Step() {
		le.edit(l, l).become(store.Link{})
	}
}

// join adds a link that does not exist.
func (le *linkEdits) join(l store.Link) {
	if le.snap.Step() {
		le.edit(l, store.Link{}).become(l)
	}
}

// move changes the position of a link in e's list.
func (le *linkEdits) move(e end, l store.Link, pos uint64) {
	if !le.snap.Step() {
		return
	}
	ed := le.edit(l, l)
	is := ed.is
	if e.to {
		is.ToPos = pos
	} else {
		is.FromPos = pos
	}
	ed.become(is)
}

// lastPos returns an upper limit of the positions in a list.
func (le *linkEdits) lastPos(e end) uint64 {
	l := le.at(e)
	if l.known {
		return l.last
	}
	l.known = true
	if e.to {
		l.last = max(l.last, le.snap.LastToPos(e.attr, e.set, e.ref))
	} else {
		l.last = max(l.last, le.snap.LastFromPos(e.attr, e.set, e.ref))
	}
	return l.last
}

// next assigns the position after the last one.
func (le *linkEdits) next(e end) uint64 {
	pos := le.lastPos(e) + store.PosStep
	le.at(e).last = pos
	return pos
}

// freePosition returns pos if no link in the list has it, else the next position.
func (le *linkEdits) freePosition(e end, pos uint64) uint64 {
	if pos <= le.lastPos(e) && le.takes(e, pos) {
		return le.next(e)
	}
	return pos
}

// takes reports whether a link in the list has this position.
func (le *linkEdits) takes(e end, pos uint64) bool {
	own := le.at(e)
	if own.taken == nil {
		own.taken = make(map[uint64]int, len(own.edits))
		for _, ed := range own.edits {
			own.taken[e.pos(ed.is)]++
		}
	}
	if own.taken[pos] > 0 {
		return true
	}
	find := le.snap.LinkFrom
	if e.to {
		find = le.snap.LinkTo
	}
	l, stored := find(e.attr, e.set, e.ref, pos)
	return stored && !le.changed(l)
}

// set makes the list of an end exactly these targets in this order. Lists can be long and most changes are small, so it
// compares the unchanged links at the beginning and end in place and builds maps only of the rest.
func (le *linkEdits) set(e end, order []store.Ref) {
	current := le.list(e)
	first := 0
	for first < min(len(current), len(order)) && e.far(current[first]) == order[first] {
		first++
	}
	last := 0
	for last < min(len(current), len(order))-first && e.far(current[len(current)-1-last]) == order[len(order)-1-last] {
		last++
	}
	wanted := make(map[store.Ref]bool, len(order)-last-first)
	for _, ref := range order[first : len(order)-last] {
		wanted[ref] = true
	}
	present := map[store.Ref]store.Link{}
	for _, l := range current[first : len(current)-last] {
		if wanted[e.far(l)] {
			present[e.far(l)] = l
		} else {
			le.cut(l)
		}
	}
	find := func(i int) (store.Link, bool) {
		switch {
		case i < first:
			return current[i], true
		case i >= len(order)-last:
			return current[i-len(order)+len(current)], true
		}
		l, ok := present[order[i]]
		return l, ok
	}
	old := make([]uint64, len(order))
	for i := range order {
		if l, ok := find(i); ok {
			old[i] = e.pos(l)
		}
	}
	for i, pos := range positions(old) {
		if pos == old[i] {
			continue
		}
		if l, ok := find(i); ok {
			le.move(e, l, pos)
			continue
		}
		le.release(e, order[i])
		le.join(e.link(order[i], pos, le.next(e.other(order[i]))))
	}
}

// copying has the options of linkEdits.copy.
type copying struct {
	// carry, if set, returns the target in the copy, or false to leave the link out.
	carry func(store.Ref) (store.Ref, bool)
	// keep lists the targets whose links stay even if the source does not have them; they go to the end of the list.
	keep map[store.Ref]bool
	// last puts a new link at the end of its target's list. Otherwise it gets the position of the source link there, if
	// that is free.
	last bool
}

// copy makes the list of the end to the same as that of from: the same end in the other link set, or the end of the
// original if to belongs to a clone. Links that to has already keep their positions in the lists of the targets.
func (le *linkEdits) copy(from, to end, how copying) {
	source, dest := le.list(from), le.list(to)
	if how.carry == nil && slices.EqualFunc(source, dest, func(a, b store.Link) bool {
		return from.far(a) == to.far(b) && from.pos(a) == to.pos(b)
	}) {
		return
	}
	refs := make([]store.Ref, len(source))
	wanted := make(map[store.Ref]bool, len(source))
	for i, l := range source {
		ref, ok := from.far(l), true
		if how.carry != nil {
			ref, ok = how.carry(ref)
		}
		if ok && !wanted[ref] {
			refs[i], wanted[ref] = ref, true
		}
	}
	present := map[store.Ref]store.Link{}
	var kept []store.Link
	for _, l := range dest {
		switch ref := to.far(l); {
		case wanted[ref]:
			present[ref] = l
		case how.keep[ref]:
			kept = append(kept, l)
		default:
			le.cut(l)
		}
	}
	for i, l := range source {
		ref, pos := refs[i], from.pos(l)
		if ref == (store.Ref{}) {
			continue
		}
		if have, ok := present[ref]; !ok {
			le.release(to, ref)
			le.join(to.link(ref, pos, le.placeInCopy(to.other(ref), from.other(ref).pos(l), how)))
		} else if to.pos(have) != pos {
			le.move(to, have, pos)
		}
	}
	for _, l := range kept {
		le.move(to, l, le.next(to))
	}
}

// placeInCopy returns the position of a copied link in its target's list; pos is that of the source link.
func (le *linkEdits) placeInCopy(e end, pos uint64, how copying) uint64 {
	if how.last {
		return le.next(e)
	}
	return le.freePosition(e, pos)
}

// clear removes all links of an end.
func (le *linkEdits) clear(e end) {
	for _, l := range le.list(e) {
		le.cut(l)
	}
}

// release prepares a link between e and ref if ref may be linked to one document only. It cuts the links to other
// documents and to e's own localization, and keeps those to other localizations of the same document.
func (le *linkEdits) release(e end, ref store.Ref) {
	if !le.holdsOne(e, ref) {
		return
	}
	other := e.other(ref)
	for _, l := range le.list(other) {
		if far := other.far(l); far.Type != e.ref.Type || far.Doc != e.ref.Doc || far.Locale == e.ref.Locale {
			le.cut(l)
		}
	}
}

// holdsOne reports whether the list of ref, at the other end of e, may have only one link.
func (le *linkEdits) holdsOne(e end, ref store.Ref) bool {
	if e.to {
		return !e.attr.ToMany()
	}
	shown := e.attr.Inverse
	if shown == nil && e.attr.IsMorph() {
		shown = mappedBy(le.model.Type(ref.Type), e.attr)
	}
	return shown != nil && !shown.ToMany()
}

// LinkedOnce reports whether only one document may have a link to a document of type t under an owning attribute.
func LinkedOnce(model *contenttypes.Model, a *contenttypes.Attribute, t *contenttypes.ContentType) bool {
	le := linkEdits{model: model}
	return le.holdsOne(end{attr: a}, store.Ref{Type: t.UID})
}

// mappedBy returns the attribute of t that shows the links of a polymorphic attribute from the other side.
func mappedBy(t *contenttypes.ContentType, owning *contenttypes.Attribute) *contenttypes.Attribute {
	if t == nil {
		return nil
	}
	for _, a := range t.Attributes {
		if a.Mapped && a.Inverse == owning {
			return a
		}
	}
	return nil
}

// emit adds the changes to a batch.
func (le *linkEdits) emit(b *store.Batch) {
	for _, ed := range le.order {
		if ed.was == ed.is {
			continue
		}
		if ed.was.Attr != nil {
			b.DeleteLink(ed.was)
		}
		if ed.is.Attr != nil {
			b.PutLink(ed.is)
		}
	}
}

// owningAttributes returns, for each type, the attributes whose links may point at its documents.
func owningAttributes(model *contenttypes.Model) map[string][]*contenttypes.Attribute {
	owning := map[string][]*contenttypes.Attribute{}
	collect := func(s *contenttypes.Schema) {
		for _, a := range s.Attributes {
			switch {
			case !a.IsRelation() || a.System || a.Mapped:
			case a.Target != nil:
				owning[a.Target.UID] = append(owning[a.Target.UID], a)
			default:
				for _, t := range model.Types {
					owning[t.UID] = append(owning[t.UID], a)
				}
			}
		}
	}
	for _, t := range model.Types {
		collect(&t.Schema)
	}
	for _, c := range model.Components {
		collect(&c.Schema)
	}
	return owning
}
