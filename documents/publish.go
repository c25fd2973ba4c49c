package documents

import (
	"bytes"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// publishDraft publishes the draft unchanged.
func (wr *writing) publishDraft() error {
	if wr.row(version{store.Draft, wr.locale}) == nil {
		return apierror.NotFound()
	}
	return wr.publish()
}

// publish checks the whole draft and makes the published version a copy of it: a new row, copies of the components, and
// the links of the draft. A link that the published version did not have goes to the end of the other side's published
// list, except on the first publication.
func (wr *writing) publish() error {
	draft := wr.row(version{store.Draft, wr.locale})
	br := newBodyReader(wr, values.PublishStage, wr.locales(store.Published))
	br.checkRow(&wr.t.Schema, draft.Values, wr.ref(wr.locale), nil)
	if len(br.issues) > 0 {
		return issues.Error(br.issues...)
	}
	v := wr.published()
	old := wr.row(v)
	if old != nil {
		wr.forgetItems(old.Values)
	}
	row := wr.newRow(v)
	wr.copyVersion(draft, row)
	wr.setTime(row, "publishedAt")
	wr.put(v, row)
	wr.copyLinks(store.DraftLinks, store.PublishedLinks, nil, old != nil)
	wr.written = v
	for _, other := range wr.share(v, nil) {
		wr.touchShared(other)
	}
	wr.batch.Log(wr.t, wr.id, store.PublishedAction)
	return nil
}

// touchShared sets updatedAt of a published row whose shared values changed because another localization was published.
// If its draft differs and is newer, it keeps the time, so that the draft still counts as modified.
func (wr *writing) touchShared(v version) {
	row, draft := wr.rows[v], wr.row(version{store.Draft, v.locale})
	if draft != nil && bytes.Compare(wr.system(draft, "updatedAt"), wr.system(row, "updatedAt")) > 0 &&
		!wr.sameContent(draft, row) {
		return
	}
	wr.setTime(row, "updatedAt")
}

// sameContent reports whether a draft and a published row have the same values, components and links.
func (wr *writing) sameContent(draft, published *store.Row) bool {
	for _, a := range wr.t.Attributes {
		x, y := draft.Values[a.Index], published.Values[a.Index]
		switch {
		case a.System:
		case a.IsRelation():
			if a.HasDraftLinks() && !wr.sameLinks(endOf(a, store.DraftLinks, wr.ref(draft.Locale)),
				endOf(a, store.PublishedLinks, wr.ref(draft.Locale)), nil) {
				return false
			}
		case a.IsScalar():
			if !sameJSON(x, y) {
				return false
			}
		case !wr.sameItems(x.Items, y.Items, store.DraftLinks, store.PublishedLinks, nil):
			return false
		}
	}
	return true
}

// copyVersion copies the values of one version to another, except id and locale.
func (wr *writing) copyVersion(from, to *store.Row) {
	c := cloning{wr: wr, from: []store.LinkSet{from.Status.Links()}, to: []store.LinkSet{to.Status.Links()}}
	for _, a := range wr.t.Attributes {
		switch {
		case a.System && a.Name != "createdAt" && a.Name != "updatedAt":
		case a.IsStored():
			to.Values[a.Index] = c.value(from.Values[a.Index])
		}
	}
}

// copyLinks makes the links of the document in the set to the same as those in the set from, under the attributes of
// both sides. keep lists, for each end, the targets whose links stay. last says where new links go in the lists of
// their targets (see copying).
func (wr *writing) copyLinks(from, to store.LinkSet, keep map[end]map[store.Ref]bool, last bool) {
	for _, a := range wr.t.Attributes {
		if a.IsRelation() && !a.System && a.HasDraftLinks() {
			e := endOf(a, to, wr.ref(wr.locale))
			wr.links.copy(endOf(a, from, wr.ref(wr.locale)), e, copying{keep: keep[e], last: last})
		}
	}
}

// unpublish deletes the published version.
func (wr *writing) unpublish() error {
	v := wr.published()
	if wr.row(v) == nil {
		return apierror.NotFound()
	}
	wr.drop(v)
	wr.written = version{store.Draft, wr.locale}
	wr.batch.Log(wr.t, wr.id, store.Unpublished)
	return nil
}

// discardDraft replaces the draft by a copy of the published version.
func (wr *writing) discardDraft() error {
	published, v := wr.row(wr.published()), version{store.Draft, wr.locale}
	if published == nil {
		return apierror.NotFound()
	}
	row := wr.row(v)
	if row == nil {
		row = wr.newRow(v)
	}
	wr.forgetItems(row.Values)
	wr.copyVersion(published, row)
	wr.put(v, row)
	wr.copyLinks(store.PublishedLinks, store.DraftLinks, wr.linksOfDrafts(), false)
	wr.written = v
	wr.share(v, nil)
	wr.batch.Log(wr.t, wr.id, store.Updated)
	return nil
}

// linksOfDrafts lists the links to this document from drafts that were never published, by the ends at which this
// document shows them. They exist only in the set of draft links, and discarding this draft must not remove them.
func (wr *writing) linksOfDrafts() map[end]map[store.Ref]bool {
	found := map[end]map[store.Ref]bool{}
	for _, a := range wr.t.Attributes {
		if !a.IsRelation() || a.System || !a.Mapped || !a.ToMany() || !a.HasDraftLinks() {
			continue
		}
		e := endOf(a, store.DraftLinks, wr.ref(wr.locale))
		found[e] = map[store.Ref]bool{}
		for _, r := range wr.links.refs(e) {
			t := wr.s.model.Type(r.Type)
			if t != nil && t.DraftAndPublish && !wr.tx.Version(t, r.Doc, store.Published, r.Locale).Exists() {
				found[e][r] = true
			}
		}
	}
	return found
}

// checkRow checks the values of a draft to be published, or of a component in it. Its links begin at owner.
func (br *bodyReader) checkRow(s *contenttypes.Schema, values []store.Value, owner store.Ref, path []string) {
	if !br.wr.tx.Step() {
		return
	}
	for _, a := range s.Attributes {
		if a.System || a.Type == contenttypes.ID {
			continue
		}
		at, v := issues.Below(path, a.Name), values[a.Index]
		switch {
		case a.IsRelation():
			br.checkLinked(a, owner, at)
		case a.IsScalar():
			br.checkValue(a, at, v.JSON)
		case a.Type == contenttypes.ComponentType && !a.Repeatable:
			if len(v.Items) > 0 {
				br.checkItem(a, v.Items[0], at)
			} else if a.Required {
				br.issues = append(br.issues, issues.WrongType(at, "object", nil, nil, false))
			}
			br.checkInside(at)
		default:
			for i, item := range v.Items {
				br.checkItem(a, item, issues.Below(at, strconv.Itoa(i)))
			}
			br.issues = append(br.issues,
				listIssues(a, at, len(v.Items), func() any { return br.shownStored(a, v.Items) })...)
			br.checkInside(at)
		}
	}
}

func (br *bodyReader) checkItem(a *contenttypes.Attribute, item *store.Item, path []string) {
	br.inside = append(br.inside, a)
	br.checkRow(&item.Component.Schema, item.Values, itemRef(item), path)
	br.inside = br.inside[:len(br.inside)-1]
}

// checkValue checks one value of a draft. No error shows the value of a private attribute: the caller has not sent it,
// and may not see it.
func (br *bodyReader) checkValue(a *contenttypes.Attribute, path []string, raw []byte) {
	if a.Type == contenttypes.Password && raw != nil {
		return // a hash cannot be checked
	}
	v := values.Decode(raw)
	cast, found := values.Cast(a, path, v, true, br.stage)
	if len(found) == 0 {
		found = br.checkUnique(a, path, cast, !a.Private)
	}
	for i := range found {
		found[i].HasValue = found[i].HasValue && !a.Private
	}
	br.issues = append(br.issues, found...)
}

// shownStored returns stored components as messages show them: with their ids, relations as {set: [{id}]}, and without
// what is private.
func (br *bodyReader) shownStored(a *contenttypes.Attribute, items []*store.Item) any {
	shown := make([]any, len(items))
	for i, item := range items {
		o := jsontree.NewObject()
		if a.Type == contenttypes.DynamicZone {
			o.Set("__component", item.Component.UID)
		}
		o.Set("id", jsontree.Number(strconv.FormatUint(item.ID, 10)))
		for _, at := range item.Component.Attributes {
			v := item.Values[at.Index]
			switch {
			case at.Type == contenttypes.ID || at.Type == contenttypes.Password || at.Private:
			case at.IsRelation():
				o.Set(at.Name, br.shownLinks(at, itemRef(item)))
			case at.IsScalar():
				o.Set(at.Name, values.Decode(v.JSON))
			case at.Type == contenttypes.DynamicZone || at.Repeatable:
				o.Set(at.Name, br.shownStored(at, v.Items))
			case len(v.Items) == 0:
				o.Set(at.Name, nil)
			default:
				o.Set(at.Name, br.shownStored(at, v.Items).([]any)[0])
			}
		}
		shown[i] = o
	}
	return shown
}

func (br *bodyReader) shownLinks(a *contenttypes.Attribute, ref store.Ref) any {
	refs := br.wr.links.refs(endOf(a, store.DraftLinks, ref))
	if len(refs) == 0 && !a.ToMany() {
		return nil
	}
	ids := []any{}
	for _, r := range refs {
		t := br.wr.s.model.Type(r.Type)
		if t == nil {
			continue
		}
		status := store.Published
		if t.DraftAndPublish {
			status = store.Draft
		}
		if rec := br.wr.tx.Version(t, r.Doc, status, r.Locale); rec.Exists() {
			ids = append(ids, idOnly(rec.ID()))
		}
	}
	return setOf(ids)
}
