package rest

import (
	"context"
	"net/http"

	"lectern/documents"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// create answers POST /plural.
func (rt *Route) create(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.save(w, r, c, http.StatusCreated, rt.api.documents.Create)
}

// update answers PUT /plural/:documentId.
func (rt *Route) update(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.save(w, r, c, http.StatusOK, rt.api.documents.Update)
}

// saveSingle answers PUT /singular.
func (rt *Route) saveSingle(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.save(w, r, c, http.StatusOK, rt.api.documents.SaveSingle)
}

// delete answers DELETE /plural/:documentId and DELETE /singular. The body is not looked at.
func (rt *Route) delete(w http.ResponseWriter, r *http.Request, c Call) error {
	query, err := parseQuery(r)
	if err != nil {
		return err
	}
	locales, err := rt.api.params.DeleteEach(rt.Type, query)
	if err != nil {
		return err
	}
	gone := documents.Write{Type: rt.Type, DocumentID: c.DocumentID, Access: c.Access}
	if err := rt.api.documents.DeleteEach(r.Context(), gone, locales); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// publish answers POST …/actions/publish, unpublish …/actions/unpublish, discardDraft …/actions/discard-draft: each with
// the version that it made or left. The body is not looked at.
func (rt *Route) publish(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.act(w, r, c, store.Published, rt.api.documents.Publish)
}

func (rt *Route) unpublish(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.act(w, r, c, store.Draft, rt.api.documents.Unpublish)
}

func (rt *Route) discardDraft(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.act(w, r, c, store.Draft, rt.api.documents.DiscardDraft)
}

// An operation is a method of documents.Service.
type operation func(context.Context, documents.Write) error

// save writes the data of a body. The body must be one, then the query be right, then data be there: nothing of this is
// left for later, when something would be written already.
func (rt *Route) save(w http.ResponseWriter, r *http.Request, c Call, code int, do operation) error {
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
	return rt.do(w, r, c, code, written.Selection, do, documents.Write{
		Type: rt.Type, DocumentID: c.DocumentID, Data: data, Status: written.Status, Locale: written.Locale, Access: c.Access,
	})
}

// act publishes, or takes back. shows is the status of the version that the answer shows.
func (rt *Route) act(w http.ResponseWriter, r *http.Request, c Call, shows store.Status, do operation) error {
	written, err := rt.written(r, c)
	if err != nil {
		return err
	}
	return rt.do(w, r, c, http.StatusOK, written.Selection, do, documents.Write{
		Type: rt.Type, DocumentID: c.DocumentID, Status: shows, Locale: written.Locale, Access: c.Access,
	})
}

// written reads what the query says about a write and its answer.
func (rt *Route) written(r *http.Request, c Call) (*params.Written, error) {
	query, err := parseQuery(r)
	if err != nil {
		return nil, err
	}
	return rt.api.params.Write(rt.Type, query, c.Access)
}

// do carries out a write and answers with what it wrote, as it stood in the transaction.
func (rt *Route) do(w http.ResponseWriter, r *http.Request, c Call, code int, shown *documents.Selection, do operation, write documents.Write) error {
	p := rt.printer(r, c, write.Status, nil)
	write.After = func(s *store.Snapshot, row store.Record) error {
		p.begin(s)
		p.single(row, shown)
		return p.err
	}
	if err := do(r.Context(), write); err != nil {
		p.memory.Release()
		return err // the rest of p is not released: a write that was given up may still be printing
	}
	p.send(w, code)
	p.release()
	return nil
}
