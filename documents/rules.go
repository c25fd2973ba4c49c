package documents

import (
	"errors"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// Rules of access limit writes here, where all ways of writing meet. Which documents a write may touch is tested in its
// transaction, on the versions before it; a document that the caller cannot read either is treated as a missing one.
// What must hold after it is tested before the transaction ends.

// errHidden means that a write is about a document that its caller may neither change nor see.
var errHidden = errors.New("the document is hidden from the caller")

// rules returns whose rules limit the write; nil if none do.
func (w *Write) rules() *permission.Access {
	if w.Rules != nil {
		return w.Rules
	}
	return w.Access
}

// limit returns what limits a prepared write.
func (p *Prepared) limit() *permission.Limit {
	w := &p.write
	switch {
	case w.restores:
		return w.rules().LimitOf(w.Type, "restore")
	case p.action == CreateAction && w.Type.Kind == contenttypes.SingleType:
		return w.rules().LimitOf(w.Type, UpdateAction.String())
	}
	return w.rules().LimitOf(w.Type, p.action.String())
}

// publishing returns what limits the publication that is a part of a create or update; nil if nothing does.
func (p *Prepared) publishing() *permission.Limit {
	w := &p.write
	if p.action != CreateAction && p.action != UpdateAction || !w.Type.DraftAndPublish || w.Status != store.Published {
		return nil
	}
	return w.rules().LimitOf(w.Type, PublishAction.String())
}

// errPublishes is the error of a create or update that would publish what it writes, by a caller who may not publish.
var errPublishes = &apierror.Error{Status: 403, Name: "ForbiddenError", Reason: apierror.Permission,
	Message: "Forbidden: to publish takes the permission publish; status=draft writes the draft alone"}

// sentData returns the data of a create or update without what the rule sets, whatever the caller has sent. It refuses
// keys that the rule leaves out.
func sentData(t *contenttypes.ContentType, data *jsontree.Object, l *permission.Limit) (*jsontree.Object, error) {
	if l == nil {
		return data, nil
	}
	if l.Unset {
		return nil, apierror.Forbidden()
	}
	sent := jsontree.NewObjectOf(len(data.Keys) + len(l.Set))
	for _, key := range data.Keys {
		a := t.Attribute(key)
		switch {
		case a == nil || a.System, l.Writes(a) && !l.Sets(a):
			sent.Set(key, data.Value(key))
		case !l.Writes(a):
			return nil, apierror.ForbiddenKey(key, key, fromBody, "")
		}
	}
	return sent, nil
}

// setData adds what the rule sets to the data that sentData has returned.
func setData(data *jsontree.Object, l *permission.Limit) {
	if l != nil {
		for _, s := range l.Set {
			data.Set(s.Attr.Name, s.Value)
		}
	}
}

// permits returns an error unless the write may touch its document: an Error 403, or errHidden if the caller may not
// see the document either. A document that is missing is none.
func (s *Service) permits(snap *store.Snapshot, p *Prepared) error {
	w := &p.write
	var conditions []store.Filter
	for _, l := range []*permission.Limit{p.limit(), p.publishing(), p.unpublishing()} {
		if l != nil && l.Where != nil {
			conditions = append(conditions, l.Where)
		}
	}
	if len(conditions) == 0 || p.action == CreateAction && !w.restores && w.Type.Kind != contenttypes.SingleType {
		return nil
	}
	doc, _ := snap.Document(w.Type, w.DocumentID)
	if w.DocumentID == "" && w.Type.Kind == contenttypes.SingleType {
		var err error
		if doc, _, err = Single(snap, w.Type); err != nil {
			return err
		}
	}
	if doc == 0 {
		return nil
	}
	for _, v := range touched(snap, doc, p) {
		for _, f := range conditions {
			if !meets(snap, w.Type, doc, v, f) {
				if sees(snap, w.Type, doc, w.rules()) {
					return apierror.Forbidden()
				}
				return errHidden
			}
		}
	}
	return nil
}

// Permits returns an error unless the rules of w let it carry out an action on its document. It is apierror.NotFound if
// the caller may not see the document either.
func (s *Service) Permits(w Write, action Action) error {
	return s.store.View(func(snap *store.Snapshot) error {
		locale, err := s.locale(&w, action == DeleteAction)
		if err != nil {
			return err
		}
		return s.permitted(snap, &Prepared{write: w, action: action, locale: locale})
	})
}

// permitted is permits with an Error 404 for errHidden.
func (s *Service) permitted(snap *store.Snapshot, p *Prepared) error {
	err := s.permits(snap, p)
	if errors.Is(err, errHidden) {
		return apierror.NotFound()
	}
	return err
}

// HoldKeys returns an error if data has a key that a rule leaves out.
func HoldKeys(t *contenttypes.ContentType, data *jsontree.Object, l *permission.Limit) error {
	_, err := sentData(t, data, l)
	return err
}

// unpublishing returns what limits the later unpublication that a publication plans; nil if nothing does.
func (p *Prepared) unpublishing() *permission.Limit {
	w := &p.write
	if p.action != PublishAction || w.Timing == nil || w.Timing.UnpublishAt.IsZero() {
		return nil
	}
	return w.rules().LimitOf(w.Type, UnpublishAction.String())
}

// touched returns the versions on which the conditions of a write are tested.
func touched(snap *store.Snapshot, doc uint64, p *Prepared) []version {
	t := p.write.Type
	var present []version
	snap.Versions(t, doc, func(r store.Record) bool {
		present = append(present, version{r.Status(), r.Locale()})
		return true
	})
	of := func(keep func(version) bool) (list []version) {
		for _, v := range present {
			if keep(v) {
				list = append(list, v)
			}
		}
		return list
	}
	if p.action == DeleteAction {
		return of(func(v version) bool { return p.locale == "*" || v.locale == p.locale })
	}
	status := store.Draft
	if !t.DraftAndPublish || p.action == UnpublishAction {
		status = store.Published
	}
	for _, list := range [][]version{
		of(func(v version) bool { return v.status == status && v.locale == p.locale }),
		of(func(v version) bool { return v.locale == p.locale }),
		of(func(v version) bool { return v.status == status }),
	} {
		if len(list) > 0 {
			return list
		}
	}
	return present
}

// meets reports whether a version meets a condition.
func meets(s *store.Snapshot, t *contenttypes.ContentType, doc uint64, v version, f store.Filter) bool {
	if f == nil {
		return true
	}
	q := &store.Query{Type: t, Status: v.status, Filter: f, Limit: 1}
	if t.Localized {
		q.Locales = store.LocaleSet{Codes: []string{v.locale}}
	}
	return s.FindVersion(doc, q).Exists()
}

// sees reports whether a caller may see some version of a document.
func sees(s *store.Snapshot, t *contenttypes.ContentType, doc uint64, access *permission.Access) (seen bool) {
	list, one := access.Allows(t, "find"), access.Allows(t, "findOne")
	s.Versions(t, doc, func(r store.Record) bool {
		v := version{r.Status(), r.Locale()}
		if access.StatusOf(t, v.status) == v.status {
			seen = list && meets(s, t, doc, v, access.Visible(t, v.status)) ||
				one && meets(s, t, doc, v, access.VisibleAlone(t, v.status))
		}
		return !seen
	})
	return seen
}

// demandOf returns the write whose precondition is compared: w, or one of a document that does not exist if it is
// hidden.
func (s *Service) demandOf(snap *store.Snapshot, w *Write, writes ...*Prepared) *Write {
	hidden := func(p *Prepared) bool { return errors.Is(s.permits(snap, p), errHidden) }
	if !slices.ContainsFunc(writes, hidden) {
		return w
	}
	missing := *w
	missing.DocumentID = "-"
	return &missing
}

// checkTouched returns an Error 403 if a write has changed other localizations of its document, whose values they
// share, that it may not touch.
func (wr *writing) checkTouched() error {
	if wr.limit == nil || wr.limit.Where == nil {
		return nil
	}
	draft := wr.draft().status
	for _, v := range wr.changed {
		if v.status == draft && wr.versions[v].Exists() && !meets(wr.tx.Snapshot, wr.t, wr.doc, v, wr.limit.Where) {
			return apierror.Forbidden()
		}
	}
	return nil
}

// checkWritten returns an Error 403 unless what was written is what the rule of the write demands. It is called after
// the batch was applied.
func (wr *writing) checkWritten() error {
	if wr.limit == nil && wr.publishing == nil || wr.doc == 0 {
		return nil
	}
	var conditions []store.Filter
	if l := wr.limit; l != nil {
		conditions = append(conditions, l.Check)
		if len(wr.present) == 0 && wr.w.Data != nil { // there was nothing on which to test it before
			conditions = append(conditions, l.Where)
		}
	}
	if wr.publishing != nil && len(wr.present) == 0 {
		conditions = append(conditions, wr.publishing.Where)
	}
	written := wr.changed
	if !slices.Contains(written, wr.written) {
		written = append(slices.Clip(written), wr.written)
	}
	for _, f := range conditions {
		for _, v := range written {
			if f != nil && wr.tx.Version(wr.t, wr.doc, v.status, v.locale).Exists() &&
				!meets(wr.tx.Snapshot, wr.t, wr.doc, v, f) {
				return errUnmet
			}
		}
	}
	return nil
}

// errUnmet is the error of a write after which a rule does not hold.
var errUnmet = apierror.Forbidden()

// mayLink reports whether the caller sees the target of a link that a body names. Others are as if they did not exist.
func (wr *writing) mayLink(a *contenttypes.Attribute, t *contenttypes.ContentType, doc uint64) bool {
	access := wr.w.rules()
	if access == nil || !access.HasRules() || wr.restoring || wr.limit.Sets(a) || t == wr.t && doc == wr.doc {
		return true
	}
	for _, status := range store.StatusesOf(t) {
		if access.StatusOf(t, status) == status && access.Visible(t, status) == nil {
			return true
		}
	}
	found := false
	wr.tx.Versions(t, doc, func(r store.Record) bool {
		v := version{r.Status(), r.Locale()}
		found = access.StatusOf(t, v.status) == v.status && meets(wr.tx.Snapshot, t, doc, v, access.Visible(t, v.status))
		return !found
	})
	return found
}

// hidesLink reports whether a link of the document is one that the caller does not see. A list that replaces the links
// leaves it.
func (wr *writing) hidesLink(a *contenttypes.Attribute, ref store.Ref) bool {
	access, t := wr.w.rules(), wr.s.model.Type(ref.Type)
	if access == nil || t == nil || wr.restoring || wr.limit.Sets(a) {
		return false
	}
	return a.Target == nil && !access.AllowsAction(permission.ActionOn(t.UID, "find")) || !wr.mayLink(a, t, ref.Doc)
}
