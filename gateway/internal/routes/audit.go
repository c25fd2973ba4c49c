package routes

import (
	"net/http"
	"strconv"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/audit"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/store"
)

// AuditOptions are what the route of the audit needs.
type AuditOptions struct {
	Prefix string // of the content API
	Store  *store.Store
	Limits server.Limits
}

// The entries of a page of the audit: if the request does not say, and at most.
const (
	auditDefault = 50
	auditMost    = 500
)

// Audit returns the route of the audit: who changed what, of all types and whatever rules say.
func Audit(o AuditOptions) []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: o.Prefix + "/_audit", Action: "lectern::audit.find", Handle: o.list},
	}
}

// GET /api/_audit: the newest entries of the log that pass the parameters since, until, type, document and by. limit
// says how many; before is meta.next of the page that goes before.
func (o *AuditOptions) list(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	query := r.URL.Query()
	reader, err := audit.FilterOf(query).Reader()
	if err != nil {
		return apierror.Validation(err.Error())
	}
	limit, before := uint64(auditDefault), uint64(0)
	for name, n := range map[string]*uint64{"limit": &limit, "before": &before} {
		if !query.Has(name) {
			continue
		}
		if *n, err = strconv.ParseUint(query.Get(name), 10, 63); err != nil || *n == 0 {
			return apierror.Validation(name + " must be a number above 0")
		}
	}
	var page []audit.Entry
	var next uint64
	err = o.Store.View(func(s *store.Snapshot) error {
		page, next, err = reader.Newest(s, before, int(min(limit, auditMost)))
		return err
	})
	if err != nil {
		return err
	}
	data := []any{}
	for i := range page {
		data = append(data, describeEntry(&page[i]))
	}
	var more any
	if next > 0 {
		more = number(next)
	}
	body := jsontree.Append(nil, jsontree.ObjectOf("data", data, "meta", jsontree.ObjectOf("next", more)))
	return o.Limits.SendJSON(w, r, http.StatusOK, body)
}

func describeEntry(e *audit.Entry) *jsontree.Object {
	changes := []any{}
	for _, c := range e.Changes {
		changes = append(changes, jsontree.ObjectOf("type", c.Type, "documentId", c.DocumentID, "locale",
			textOr(c.Locale), "status", textOr(c.Status), "action", c.Action))
	}
	return jsontree.ObjectOf("seq", number(e.Sequence), "at", timeOr(e.At), "by",
		jsontree.ObjectOf("kind", e.By.Kind, "name", textOr(e.By.Name)), "kind", e.Kind,
		"changes", changes, "hash", e.Hash)
}
