package movein

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/store"
)

// A target is a link as a line shows it.
type target struct {
	link  link
	plane string // the set that the link is in; "" if it is in all that the owner has
}

// targets returns the links of a row or component under an attribute, in order. r is the row, or the one that the
// component belongs to.
//
// In Strapi a link leads to one version. The links of a draft lead to drafts, and those of a published version to
// published ones. A row of a type without drafts has two links to a document: one to its draft and one to its published
// version. Lectern links documents, and keeps two sets of links instead: the one that drafts show, and the one that
// published versions show. Polymorphic links may lead from a draft to a published version and the other way; they are
// links to the document.
func (x *index) targets(s *indexedSchema, a *contenttypes.Attribute, id uint64, r *row) []target {
	links := x.linksOf(s.owner(id), a)
	if len(links) == 0 {
		return nil
	}
	var draft, published []link // by the set
	for _, l := range links {
		to := &x.rows[l.target]
		switch {
		case !to.typ.DraftAndPublish, a.IsMorph():
			draft, published = append(draft, l), append(published, l)
		case r.typ.DraftAndPublish && to.status != r.status:
			x.notes.add("links of "+a.Owner.UID+"."+a.Name,
				"they lead from a draft to a published version, or the other way, and are never shown")
		case r.typ.DraftAndPublish:
			draft, published = append(draft, l), append(published, l)
		case to.status == store.Draft:
			draft = append(draft, l)
			if !x.hasOther(l) {
				published = append(published, l)
			}
		default:
			published = append(published, l)
			if !x.hasOther(l) {
				draft = append(draft, l)
			}
		}
	}
	draft, published = x.distinct(a, draft), x.distinct(a, published)
	if r.typ.DraftAndPublish || !a.HasDraftLinks() { // the row is in one of the sets
		draft = x.claim(a, r.status, r, published)
		published = draft
	} else {
		draft, published = x.claim(a, store.Draft, r, draft), x.claim(a, store.Published, r, published)
	}
	list := planed(published, "")
	if !x.same(draft, published) {
		list = append(planed(draft, "draft"), planed(published, "published")...)
	}
	x.count(a, links, list)
	return list
}

// count counts links that were written as targets.
func (x *index) count(a *contenttypes.Attribute, links []link, written []target) {
	documents := make(map[documentName]bool, len(written))
	for _, t := range written {
		documents[x.nameOf(t.link)] = true
	}
	rows := map[uint32]bool{}
	for _, l := range links {
		if documents[x.nameOf(l)] {
			rows[l.target] = true
		}
	}
	n := x.counter.link(fieldName(a))
	n.written += len(documents)
	n.Joined += len(rows) - len(documents)
	n.LeftOut += len(links) - len(rows)
}

func planed(links []link, plane string) []target {
	list := make([]target, len(links))
	for i, l := range links {
		list[i] = target{l, plane}
	}
	return list
}

// hasOther reports whether the target of a link also has a version of the other status.
func (x *index) hasOther(l link) bool {
	to := &x.rows[l.target]
	other := store.Draft
	if to.status == store.Draft {
		other = store.Published
	}
	_, ok := x.version[x.hash(to.typ.UID, to.documentID, to.locale, other.String())]
	return ok
}

// distinct leaves out links to a document that an earlier link leads to, and further links of an attribute that holds
// one.
func (x *index) distinct(a *contenttypes.Attribute, links []link) []link {
	kept := links[:0]
	seen := make(map[documentName]bool, len(links))
	for _, l := range links {
		name := x.nameOf(l)
		switch {
		case seen[name]:
			x.notes.add("links of "+a.Owner.UID+"."+a.Name, "another link leads to the same document")
			continue
		case len(kept) > 0 && !a.ToMany() && !x.sameDocument(l, kept[0]):
			x.notes.add("links of "+a.Owner.UID+"."+a.Name, "the attribute holds one")
			continue
		}
		seen[name] = true
		kept = append(kept, l)
	}
	return kept
}

// claim leaves out links to documents that only one document may link to, if a row of another one has a link to it in
// the same set.
func (x *index) claim(a *contenttypes.Attribute, set store.Status, r *row, links []link) []link {
	kept := links[:0]
	for _, l := range links {
		to := &x.rows[l.target]
		if documents.LinkedOnce(x.model, a, to.typ) {
			key := x.hash(fieldName(a), set.String(), to.typ.UID, to.documentID, to.locale)
			by := x.hash(r.typ.UID, r.documentID)
			if other, taken := x.claimed[key]; taken && other != by {
				x.misfits.add(a, linkedProblem, x.misfits.outcome(linkedProblem, false), r, to.documentID)
				continue
			}
			x.claimed[key] = by
		}
		kept = append(kept, l)
	}
	return kept
}

// sameDocument reports whether two links lead to one document, be it in different locales. A row of a type without
// locales may have a link to each localization of the document that an attribute holds.
func (x *index) sameDocument(a, b link) bool {
	n, m := x.nameOf(a), x.nameOf(b)
	return n.typ == m.typ && n.id == m.id
}

// documentName identifies a document in a locale.
type documentName struct {
	typ        *contenttypes.ContentType
	id, locale string
}

func (x *index) nameOf(l link) documentName {
	to := &x.rows[l.target]
	return documentName{to.typ, to.documentID, to.locale}
}

// same reports whether two sets of links lead to the same documents, in the same orders.
func (x *index) same(a, b []link) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if x.nameOf(a[i]) != x.nameOf(b[i]) || a[i].inverse != b[i].inverse {
			return false
		}
	}
	return true
}
