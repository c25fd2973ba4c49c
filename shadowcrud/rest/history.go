package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// historyAction is the permission to read former versions of the documents of a type.
const historyAction = "history"

// GET /api/{plural}/{documentId}/_history, GET /api/{singular}/_history: what was done to a document, newest first.
func (rt *Route) history(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.past(w, r, c, func(p *printer, s *store.Snapshot, asked *params.History) (total int, err error) {
		q := store.HistoryQuery{Type: rt.Type, DocumentID: c.DocumentID, Match: asked.Match, Shows: shownTo(c.Access),
			Offset: asked.Paging.Start, Limit: asked.Paging.Limit}
		if rt.Type.Kind == contenttypes.SingleType {
			if q.DocumentID, err = s.LastOnly(rt.Type); err != nil {
				return 0, err
			}
		}
		if err := rt.seesHistory(s, c.Access, q.DocumentID); err != nil {
			return 0, err
		}
		if c.Access.HasRules() {
			q.Visible = rt.visibleTo(c.Access)
		}
		items, total, err := s.History(q)
		if err != nil {
			return 0, err
		}
		if total == 0 && !rt.everThere(s, q, c.Access) {
			return 0, apierror.NotFound()
		}
		p.begin(s)
		p.history(items)
		return total, nil
	})
}

// past answers with a page of what the log knows of the documents of the route. list begins the answer and prints the
// page, and returns how much there is in all.
func (rt *Route) past(w http.ResponseWriter, r *http.Request, c Call,
	list func(*printer, *store.Snapshot, *params.History) (total int, err error)) error {
	query, err := ParseQuery(r)
	if err != nil {
		return err
	}
	asked, err := rt.api.params.History(rt.Type, query, c.Access)
	if err != nil {
		return err
	}
	p := rt.printer(r, c, store.Published, nil)
	defer p.release()
	err = p.bound.view(rt.api.store, func(s *store.Snapshot) error {
		s.Within(r.Context(), p.bound.limits.Time)
		if err := s.Covers(&store.Query{Type: rt.Type}); err != nil {
			return err
		}
		total, err := list(p, s, asked)
		if err != nil {
			return err
		}
		p.pagination(&asked.Paging, total)
		return p.err
	})
	if err != nil {
		return err
	}
	p.send(w, http.StatusOK)
	return nil
}

// visibleTo returns what limits which versions of the documents of the route a caller sees.
func (rt *Route) visibleTo(access *permission.Access) func(store.Status) store.Filter {
	return func(status store.Status) store.Filter { return access.VisibleAlone(rt.Type, status) }
}

// seesHistory returns an error if rules hide a document, so that the caller must not see what it was: no version of it
// is visible now or, if it is gone, none was when it was deleted.
func (rt *Route) seesHistory(s *store.Snapshot, access *permission.Access, documentID string) error {
	visible := rt.visibleTo(access)
	if !access.HasRules() || visible(store.Published) == nil && visible(store.Draft) == nil {
		return nil
	}
	if rt.Type.Kind == contenttypes.SingleType {
		var err error
		if documentID, err = s.LastOnly(rt.Type); err != nil {
			return err
		}
	}
	seen := false
	if doc, exists := s.Document(rt.Type, documentID); exists {
		s.Versions(rt.Type, doc, func(r store.Record) bool {
			only := visible(r.Status())
			seen = access.Reads(rt.Type, r.Status(), nil) && (only == nil || s.Matches(r, only, r.Status()))
			return !seen
		})
	} else {
		q := store.HistoryQuery{Type: rt.Type, DocumentID: documentID, Limit: 1}
		last, _, _ := s.History(q)
		q.Visible = visible
		q.Match = func(status store.Status, _ string) bool { return access.Reads(rt.Type, status, nil) }
		lastSeen, _, _ := s.History(q)
		seen = len(lastSeen) > 0 && lastSeen[0].Position == last[0].Position
	}
	if err := s.Err(); err != nil {
		return err
	}
	if !seen {
		return apierror.NotFound()
	}
	return nil
}

// everThere reports whether the document of a query is there, or was there as far as the log knows, in versions that
// the caller may read.
func (rt *Route) everThere(s *store.Snapshot, q store.HistoryQuery, access *permission.Access) bool {
	readable := func(st store.Status, _ string) bool { return access.Reads(rt.Type, st, nil) }
	found := false
	if doc, exists := s.Document(rt.Type, q.DocumentID); exists {
		s.Versions(rt.Type, doc, func(r store.Record) bool {
			found = readable(r.Status(), r.Locale())
			return !found
		})
	}
	if found {
		return true
	}
	q.Match, q.Limit = readable, 0
	_, total, _ := s.History(q)
	return total > 0
}

// shownTo returns a function that reports whether a caller may see that an attribute has changed. A relation to several
// types is shown only to callers who may find all types, because the targets are not told apart.
func shownTo(access *permission.Access) func(*contenttypes.Attribute) bool {
	return func(a *contenttypes.Attribute) bool {
		if a.IsRelation() {
			anyType := a.Target == nil && a.Type != contenttypes.Media
			return access.Follows(a) && (!anyType || access == permission.FullAccess)
		}
		return access.Sees(a)
	}
}

// history prints the items of a history.
func (p *printer) history(items []store.HistoryItem) {
	p.buf = append(p.buf, '[')
	for i := range items {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		item := &items[i]
		changed := make([]any, len(item.Changed))
		for k, a := range item.Changed {
			changed[k] = a.Name
		}
		p.buf = jsontree.Append(p.buf, jsontree.ObjectOf("seq", item.Position.String(),
			"at", item.Time.UTC().Format(contenttypes.TimeFormat), "by", p.writer(item.By),
			"action", item.Action.String(), "locale", localeOrNull(item.Locale), "status", item.Status.String(),
			"changed", changed))
	}
	p.buf = append(p.buf, ']')
}

// nameOf returns the name of a principal as the caller sees it: "" for a user unless the caller may find users, or
// histories show names.
func (p *printer) nameOf(by store.Principal) string {
	if by.Kind == "user" && !p.api.historyNames && !p.access.FindsUsers() {
		return ""
	}
	return by.Name
}

// asOf returns a function that calls answer with a snapshot of the past, the one that a request asks for. The caller
// needs the permission to read the history of each type that is shown, beside the permissions that a read needs.
func (rt *Route) asOf(c Call, one *params.One,
	answer func(*store.Snapshot) error) (func(*store.Snapshot) error, error) {
	if !c.Access.Allows(rt.Type, historyAction) || !showsHistory(c.Access, one.Selection) {
		return nil, apierror.Forbidden()
	}
	find, err := pastTimeOf(one.AsOf)
	if err != nil {
		return nil, err
	}
	return func(s *store.Snapshot) error {
		sequence, err := find(s)
		if err == nil {
			err = rt.seesHistory(s, c.Access, c.DocumentID)
		}
		if err == nil {
			err = s.ViewAt(sequence, answer)
		}
		return pastError(err)
	}, nil
}

// showsHistory reports whether a caller may read the history of all types that a selection populates. Files have no
// history of their own.
func showsHistory(access *permission.Access, s *documents.Selection) bool {
	if s == nil {
		return true
	}
	for i := range s.Populate {
		shown := &s.Populate[i]
		a := shown.Attr
		if shown.Related || a.IsRelation() && a.Type != contenttypes.Media && a.Target != nil &&
			!access.Allows(a.Target, historyAction) || !showsHistory(access, shown.Of) {
			return false
		}
		for k := range shown.On {
			if !showsHistory(access, shown.On[k].Of) || a.IsRelation() &&
				!access.AllowsAction(shown.On[k].Schema.UID+"."+historyAction) {
				return false
			}
		}
	}
	return true
}

// pastTimeOf parses what asOf names: a time, or a position from a history. The result finds the sequence of the last
// entry up to it.
func pastTimeOf(text string) (func(*store.Snapshot) (uint64, error), error) {
	if at, err := store.ParsePosition(text); err == nil {
		return func(s *store.Snapshot) (uint64, error) { return s.SequenceOf(at) }, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, apierror.Validation("asOf must be a time such as 2030-01-01T09:00:00Z, or a seq from the history")
	}
	return func(s *store.Snapshot) (uint64, error) {
		if at.After(time.Now()) {
			return 0, store.ErrFuture
		}
		return s.SequenceAt(at)
	}, nil
}

// pastError returns what a client is told when the content at a moment is not known.
func pastError(err error) error {
	switch {
	case errors.Is(err, store.ErrFuture):
		return apierror.Validation("This moment is in the future")
	case errors.Is(err, store.ErrTrimmed):
		return apierror.Gone("The log does not reach back to this moment")
	case errors.Is(err, store.ErrOtherEpoch):
		return apierror.Gone("This seq is not one of this server's log, or of one before a backup was restored")
	case errors.Is(err, store.ErrConverted):
		return apierror.Gone(
			"The content types have changed since this moment, so that former versions cannot be shown")
	}
	return err
}

// POST /api/{plural}/{documentId}/actions/restore, POST /api/{singular}/actions/restore: writes a former version as the
// draft, and answers with it.
func (rt *Route) restore(w http.ResponseWriter, r *http.Request, c Call) error {
	body, err := c.ReadBody(w, r)
	if err != nil {
		return err
	}
	written, err := rt.written(r, c)
	if err != nil {
		return err
	}
	of, err := readFormer(body)
	if err != nil {
		return err
	}
	restore := func(ctx context.Context, write documents.Write) error {
		if err := rt.api.store.View(func(s *store.Snapshot) error {
			s.Within(ctx, 0)
			return rt.seesHistory(s, c.Access, write.DocumentID)
		}); err != nil {
			return err
		}
		return pastError(rt.api.documents.Restore(ctx, write, of))
	}
	return rt.carryOut(w, r, c, http.StatusOK, printSingle(written), restore, documents.Write{
		Type: rt.Type, DocumentID: c.DocumentID, Status: store.Draft, Locale: written.Locale, Access: c.Access,
	})
}

// readFormer reads which version the body of a request names: {"data": {"seq": …, "status": …}}. Without a status it is
// the draft.
func readFormer(body any) (of documents.PastVersion, err error) {
	data, wrong := documents.ReadData(body)
	if wrong != nil {
		return of, wrong
	}
	for _, key := range data.Keys {
		if key != "seq" && key != "status" {
			return of, apierror.UnknownKey(key, "", "body", "")
		}
	}
	if of.Position, err = store.ParsePosition(data.Text("seq")); err != nil {
		return of, apierror.Validation("seq must be one from the history of the document")
	}
	switch status := data.Value("status"); status {
	case nil, "draft":
		of.Status = store.Draft
	case "published":
		of.Status = store.Published
	default:
		return of, apierror.Validation(`status must be "draft" or "published"`)
	}
	return of, nil
}
