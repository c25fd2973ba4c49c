package rest

import (
	"context"
	"net/http"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// addWrites adds the routes that write documents of a type. Of the actions, types without drafts have restore alone.
func (a *API) addWrites(t *contenttypes.ContentType) {
	one := "/" + t.Plural + "/{documentId}"
	if t.Kind == contenttypes.SingleType {
		one = "/" + t.Singular
		a.add("PUT", one, t, "update", (*Route).saveSingle)
	} else {
		a.add("POST", "/"+t.Plural, t, "create", (*Route).create)
		a.add("PUT", one, t, "update", (*Route).update)
	}
	a.add("DELETE", one, t, "delete", (*Route).delete)
	if t.DraftAndPublish {
		a.add("POST", one+"/actions/publish", t, "publish", (*Route).publish)
		a.add("POST", one+"/actions/unpublish", t, "unpublish", (*Route).unpublish)
		a.add("POST", one+"/actions/discard-draft", t, "discardDraft", (*Route).discardDraft)
	}
	a.add("POST", one+"/actions/restore", t, "restore", (*Route).restore)
}

// POST /api/{plural}: creates a document, and answers with it.
func (rt *Route) create(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.save(w, r, c, http.StatusCreated, rt.api.documents.Create)
}

// PUT /api/{plural}/{documentId}: changes a document, and answers with it.
func (rt *Route) update(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.save(w, r, c, http.StatusOK, rt.api.documents.Update)
}

// PUT /api/{singular}: creates or changes the document of a single type, and answers with it.
func (rt *Route) saveSingle(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.save(w, r, c, http.StatusOK, rt.api.documents.SaveSingle)
}

// DELETE /api/{plural}/{documentId}, DELETE /api/{singular}: deletes a document. It ignores the body.
func (rt *Route) delete(w http.ResponseWriter, r *http.Request, c Call) error {
	query, err := ParseQuery(r)
	if err != nil {
		return err
	}
	locales, err := rt.api.params.DeleteEach(rt.Type, query)
	if err != nil {
		return err
	}
	gone := documents.Write{Type: rt.Type, DocumentID: c.DocumentID, Access: c.Access, If: precondition(r.Header),
		Once: c.Once}
	c.Once.Keep(http.StatusNoContent, new([]byte))
	if err := rt.api.documents.DeleteEach(r.Context(), gone, locales); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// POST /api/{plural}/{documentId}/actions/publish: publishes a draft, and answers with the published version. With
// publishAt in its data it schedules the publication, and answers with the draft. With unpublishAt it also schedules
// the unpublication.
func (rt *Route) publish(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.actTimed(w, r, c, store.Published, rt.api.documents.Publish, "publishAt", "unpublishAt")
}

// POST /api/{plural}/{documentId}/actions/unpublish: removes the published version, and answers with the draft. With
// unpublishAt in its data it schedules that.
func (rt *Route) unpublish(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.actTimed(w, r, c, store.Draft, rt.api.documents.Unpublish, "unpublishAt")
}

// POST /api/{plural}/{documentId}/actions/discard-draft: replaces the draft by the published version, and answers with
// the draft. It takes no times: a body that has one is an error, because ignoring it would discard the draft at once.
func (rt *Route) discardDraft(w http.ResponseWriter, r *http.Request, c Call) error {
	if _, err := readTiming(w, r, c, nil); err != nil {
		return err
	}
	return rt.act(w, r, c, store.Draft, rt.api.documents.DiscardDraft)
}

// A writeFunc is a method of documents.Service that writes a document.
type writeFunc func(context.Context, documents.Write) error

// A printFunc prints the answer to a write: the version that was written.
type printFunc func(*printer, store.Record)

// save writes the data of a body. It checks the body, then the query, then the data, before it writes anything.
func (rt *Route) save(w http.ResponseWriter, r *http.Request, c Call, code int, do writeFunc) error {
	body, err := c.ReadBody(w, r)
	if err != nil {
		return err
	}
	written, err := rt.written(r, c)
	if err != nil {
		return err
	}
	data, wrong := documents.ReadData(body)
	if wrong != nil {
		return wrong
	}
	return rt.carryOut(w, r, c, code, printSingle(written), do, documents.Write{
		Type: rt.Type, DocumentID: c.DocumentID, Data: data, Status: written.Status, Locale: written.Locale,
		Access: c.Access,
	})
}

// act publishes, unpublishes or discards a draft. shows is the status of the version that the answer shows.
func (rt *Route) act(w http.ResponseWriter, r *http.Request, c Call, shows store.Status, do writeFunc) error {
	written, err := rt.written(r, c)
	if err != nil {
		return err
	}
	return rt.carryOut(w, r, c, http.StatusOK, printSingle(written), do, documents.Write{
		Type: rt.Type, DocumentID: c.DocumentID, Status: shows, Locale: written.Locale, Access: c.Access,
	})
}

// actTimed is act for an action that can be scheduled. times lists the keys that the data of the body may have.
func (rt *Route) actTimed(w http.ResponseWriter, r *http.Request, c Call, shows store.Status, do writeFunc,
	times ...string) error {
	timing, err := readTiming(w, r, c, times)
	if err != nil {
		return err
	}
	if timing == nil {
		return rt.act(w, r, c, shows, do)
	}
	written, err := rt.written(r, c)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if shows == store.Draft || !timing.PublishAt.IsZero() {
		code, shows = http.StatusAccepted, store.Draft
	}
	timing.By = c.By
	print := func(p *printer, row store.Record) { p.scheduled(row, written.Selection) }
	return rt.carryOut(w, r, c, code, print, do, documents.Write{
		Type: rt.Type, DocumentID: c.DocumentID, Status: shows, Locale: written.Locale, Access: c.Access,
		Timing: timing,
	})
}

// readTiming reads the times in the body of an action; nil if it has none. A body of a type that cannot be read is an
// error, because ignoring its times would carry out the action at once.
func readTiming(w http.ResponseWriter, r *http.Request, c Call, times []string) (*documents.Timing, error) {
	if c.ReadBody == nil {
		return nil, nil
	}
	body, err := c.ReadBody(w, r)
	if err != nil {
		return nil, err
	}
	if body == nil && r.ContentLength > 0 {
		return nil, apierror.Validation("the body must be JSON, with the header Content-Type: application/json")
	}
	return documents.ReadTiming(body, times...)
}

// scheduled prints the answer to an action that made schedules: the document, and all schedules of its localization.
func (p *printer) scheduled(row store.Record, s *documents.Selection) {
	p.one[0] = row
	p.document(p.load(p.one[:], shape{Selection: s}), 0)
	p.buf = append(p.buf, `,"meta":{"schedules":[`...)
	begin, fields := len(p.buf), p.access.Seen(p.api.schedule.Fields)
	p.api.documents.EachSchedule(p.snapshot, row, func(schedule store.Record, action documents.Action) bool {
		if !p.access.Allows(row.Type(), action.String()) {
			return true
		}
		if len(p.buf) > begin {
			p.buf = append(p.buf, ',')
		}
		p.buf = append(schedule.AppendFields(append(p.buf, '{'), fields, true), '}')
		return true
	})
	p.buf = append(p.buf, "]}}"...)
}

// written reads the query parameters of a write.
func (rt *Route) written(r *http.Request, c Call) (*params.Written, error) {
	query, err := ParseQuery(r)
	if err != nil {
		return nil, err
	}
	return rt.api.params.Write(rt.Type, query, c.Access)
}

// keptBy has what is printed kept as the answer to a write with an idempotency key. It returns nil if the request has
// none.
func (p *printer) keptBy(c Call, code int) *store.Once {
	if c.Once != nil {
		c.Once.ContentType = typeJSON[0]
		c.Once.Keep(code, &p.buf)
	}
	return c.Once
}

// printSingle returns the printFunc of a write that is carried out at once.
func printSingle(written *params.Written) printFunc {
	return func(p *printer, row store.Record) { p.single(row, written.Selection) }
}

// carryOut carries out a write under the precondition of the request, and answers with what print prints within the
// transaction.
func (rt *Route) carryOut(w http.ResponseWriter, r *http.Request, c Call, code int, print printFunc, do writeFunc,
	write documents.Write) error {
	p := rt.printer(r, c, write.Status, nil)
	write.If = precondition(r.Header)
	write.Once = p.keptBy(c, code)
	write.After = func(s *store.Snapshot, row store.Record) error {
		p.begin(s)
		print(p, row)
		return p.err
	}
	if err := do(r.Context(), write); err != nil {
		p.memory.Release()
		return err // p does not go back to the pool: a write that was cancelled may still print into it
	}
	p.send(w, code)
	p.release()
	return nil
}
