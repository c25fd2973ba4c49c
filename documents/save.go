package documents

import (
	"bytes"

	"lectern/documents/values"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/store"
)

// saveNew creates a document.
func (wr *writing) saveNew() error {
	id := wr.w.DocumentID
	if id == "" {
		id = wr.s.documentIDs.next()
	} else if _, taken := wr.tx.Document(wr.t, id); taken {
		return apierror.Validation(notUnique)
	}
	wr.create(wr.tx.NewDoc(), id)
	return wr.save()
}

// saveFound updates a document.
func (wr *writing) saveFound() error {
	if err := wr.find(); err != nil {
		return err
	}
	return wr.save()
}

// saveSingle updates the document of a single type, and creates it if there is none.
func (wr *writing) saveSingle() error {
	doc, id, err := Single(wr.tx.Snapshot, wr.t)
	if err != nil {
		return err
	}
	if doc == 0 {
		wr.create(wr.tx.NewDoc(), wr.s.documentIDs.next())
	} else {
		wr.begin(doc, id)
	}
	return wr.save()
}

// save creates or updates the draft (or the only version) from the body, and publishes it if the write demands that.
func (wr *writing) save() error {
	v := wr.draft()
	row, source, data := wr.row(v), (*store.Row)(nil), wr.w.Data
	created := row == nil
	if created {
		source = wr.sibling(v)
	}
	if source != nil && !wr.restoring {
		data = withoutSharedNulls(wr.t, data)
	}
	br := newBodyReader(wr, bodyStage(wr.t), wr.locales(v.status))
	br.created = created
	in, err := br.document(data, func(a *contenttypes.Attribute) bool {
		return created && (source == nil || a.IsPerLocale())
	})
	if err != nil {
		return err
	}
	if created {
		row = wr.newRow(v)
		if source != nil {
			if err := wr.takeOver(row, source, in); err != nil {
				return err
			}
		}
	}
	wr.setTime(row, "updatedAt")
	if !wr.t.DraftAndPublish {
		wr.setTime(row, "publishedAt")
	}
	if err := wr.fill(in, row.Values, wr.ref(wr.locale), v.status, created); err != nil {
		return err
	}
	wr.put(v, row)
	wr.written = v
	wr.share(v, func(a *contenttypes.Attribute) bool { return in.values[a.Index].set })
	if len(wr.versions) == 0 {
		wr.batch.Log(wr.t, wr.id, store.Created)
	} else {
		wr.batch.Log(wr.t, wr.id, store.Updated)
	}
	if wr.t.DraftAndPublish && wr.w.Status == store.Published {
		return wr.publish()
	}
	return nil
}

// fill writes the values of a body into the values of a row or component. owner is the source of its links, st the
// status of its version; created means that it is new, so that the ids of its components are ignored.
func (wr *writing) fill(in *input, row []store.Value, owner store.Ref, st store.Status, created bool) error {
	for _, a := range in.schema.Attributes {
		g := &in.values[a.Index]
		if !g.set {
			continue
		}
		switch {
		case a.IsRelation():
			if err := wr.relate(g.link, owner, st); err != nil {
				return err
			}
		case a.Type == contenttypes.Password:
			row[a.Index].JSON = wr.password(g.value)
		case a.IsScalar():
			row[a.Index].JSON = values.Encode(g.value)
		default:
			items, err := wr.items(a, g.items, row[a.Index].Items, st, created)
			if err != nil {
				return err
			}
			row[a.Index].Items = items
		}
	}
	return nil
}

// relate changes the links of owner under one attribute, in each link set that they are written to. If a position is
// relative to a document that is linked in only one set, the link goes to the end of the list in the other.
func (wr *writing) relate(in *linkInput, owner store.Ref, st store.Status) error {
	if !in.replace && len(in.connect) == 0 && len(in.disconnect) == 0 {
		return nil
	}
	sets := wr.linkSets(in.attr, st)
	orders := make([][]store.Ref, len(sets))
	var failed *apierror.Error
	failures := 0
	for i, set := range sets {
		var err *apierror.Error
		if orders[i], err = wr.ordered(in, endOf(in.attr, set, owner), in.lenient); err != nil {
			failed = err
			failures++
		}
	}
	if failures == len(sets) {
		return failed
	}
	for i, set := range sets {
		e := endOf(in.attr, set, owner)
		if failed != nil {
			var err *apierror.Error
			if orders[i], err = wr.ordered(in, e, true); err != nil {
				return err
			}
		}
		wr.links.set(e, orders[i])
	}
	return nil
}

// ordered returns the list of an end after the input of a body. For lenient see linkInput.order.
func (wr *writing) ordered(in *linkInput, e end, lenient bool) ([]store.Ref, *apierror.Error) {
	present := wr.links.refs(e)
	next, err := in.order(present, e.set, lenient)
	if err != nil || !in.replace || len(present) == 0 || len(next) > 0 && !in.attr.ToMany() {
		return next, err
	}
	return withHidden(next, present, func(ref store.Ref) bool { return wr.hidesLink(in.attr, ref) }), nil
}

// withHidden returns the list that replaces another, with the links of that one that the caller does not see: each of
// them stays behind the link that it followed, as far as that is in the new list.
func withHidden(next, present []store.Ref, hidden func(store.Ref) bool) []store.Ref {
	isNext := make(map[store.Ref]bool, len(next))
	for _, ref := range next {
		isNext[ref] = true
	}
	kept, last := map[store.Ref][]store.Ref{}, store.Ref{}
	for _, ref := range present {
		switch {
		case isNext[ref]:
			last = ref
		case hidden(ref):
			kept[last] = append(kept[last], ref)
		}
	}
	if len(kept) == 0 {
		return next
	}
	all := kept[store.Ref{}]
	for _, ref := range next {
		all = append(append(all, ref), kept[ref]...)
	}
	return all
}

// locales returns the localizations of a version, beginning with the one that is written.
func (wr *writing) locales(st store.Status) []string {
	list := []string{wr.locale}
	for _, v := range wr.present {
		if v.status == st && v.locale != wr.locale {
			list = append(list, v.locale)
		}
	}
	return list
}

// sameJSON reports whether two scalar values are equal.
func sameJSON(a, b store.Value) bool { return bytes.Equal(a.JSON, b.JSON) }
