// Package uploads has the routes of uploaded files: uploading, listing, changing and deleting them, and the files
// themselves.
package uploads

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway/internal/idempotency"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/media"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// Options are what the routes need.
type Options struct {
	Prefix  string // of the content API
	Model   *contenttypes.Model
	Library *media.Library
	REST    *rest.API // prints files, within Answers
	Params  *params.Parser
	Limits  server.Limits
	Answers *rest.AnswerLimits
	Keys    *idempotency.Keys
	// PermitLink returns an error unless a caller may link files to documents of a type by uploading them.
	PermitLink func(*contenttypes.ContentType, auth.Principal) error
	// Missing fetches a file that a client asks for and that is not there, and reports whether it is there now; nil:
	// the server has its files for itself.
	Missing func(ctx context.Context, name string) bool
}

// Actions of the routes.
const (
	uploadAction = "plugin::upload.content-api.upload"
	findFiles    = "plugin::upload.content-api.find"
	findOneFile  = "plugin::upload.content-api.findOne"
	destroyFile  = "plugin::upload.content-api.destroy"
	findUsage    = "plugin::upload.content-api.findUsage"
)

// routes has the handlers.
type routes struct{ Options }

// Routes returns the routes. Without a Library, they have names but cannot answer.
func Routes(o Options) []server.Route {
	u, prefix := &routes{o}, o.Prefix+"/upload"
	return []server.Route{
		{Method: http.MethodPost, Path: prefix, Action: uploadAction, Handle: u.upload, Keyed: true, Streams: true},
		{Method: http.MethodGet, Path: prefix + "/files", Action: findFiles, Handle: u.list},
		{Method: http.MethodGet, Path: prefix + "/files/count", Action: findFiles, Handle: u.count},
		{Method: http.MethodGet, Path: prefix + "/files/{id}", Action: findOneFile, Handle: u.one},
		{Method: http.MethodGet, Path: prefix + "/files/{id}/usage", Action: findUsage, Handle: u.usage},
		{Method: http.MethodDelete, Path: prefix + "/files/{id}", Action: destroyFile, Handle: u.Keys.Once(u.destroy),
			Keyed: true},
		{Method: http.MethodGet, Path: "/uploads/{path:.*}", Handle: u.fetch, Open: true, Streams: true},
	}
}

// plain returns a printer of files that prints only what access allows.
func (u *routes) plain(ctx context.Context, access *permission.Access) *rest.Plain {
	return &rest.Plain{API: u.REST, Access: access, Limits: u.Answers, Memory: server.AnswerMemory(ctx),
		Last: `"isUrlSigned":false`}
}

// all returns the selection of all fields of a file, without populate.
func (u *routes) all() (*documents.Selection, error) {
	list, err := u.Params.PlainList(u.Library.Type(), jsontree.NewObject(), permission.FullAccess)
	if err != nil {
		return nil, err
	}
	return list.Selection, nil
}

// GET /api/upload/files: a list without envelope. With unused=true, it has the files that nothing uses.
func (u *routes) list(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	list, err := u.listed(r, who)
	if err != nil {
		return err
	}
	body, err := u.plain(r.Context(), who.Access).List(r.Context(), &list.Query, list.Selection)
	if err != nil {
		return err
	}
	return u.Limits.SendJSON(w, r, http.StatusOK, body)
}

// GET /api/upload/files/count: how many files the list has on all pages.
func (u *routes) count(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	list, err := u.listed(r, who)
	if err != nil {
		return err
	}
	total, err := u.plain(r.Context(), who.Access).Count(r.Context(), list.Query)
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, strconv.AppendInt(nil, int64(total), 10))
}

// GET /api/upload/files/{id}: a file with all its fields. The query can populate.
func (u *routes) one(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	one, err := u.single(r, who)
	if err != nil {
		return err
	}
	body, err := u.plain(r.Context(), who.Access).One(r.Context(), &one.Query, one.Selection, u.named(r))
	if err != nil {
		return err
	}
	if body == nil {
		return media.ErrNoFile
	}
	return u.Limits.SendJSON(w, r, http.StatusOK, body)
}

// single reads the parameters of a request for one file.
func (u *routes) single(r *http.Request, who auth.Principal) (*params.One, error) {
	q, err := rest.ParseQuery(r)
	if err != nil {
		return nil, err
	}
	chosen := jsontree.NewObject()
	if populate, ok := q.Get("populate"); ok {
		chosen.Set("populate", populate)
	}
	return u.Params.One(u.Library.Type(), chosen, who.Access)
}

// named returns a function that finds the file that a request names by its id.
func (u *routes) named(r *http.Request) func(*store.Snapshot) store.Record {
	id, err := strconv.ParseUint(mux.Vars(r)["id"], 10, 64)
	return func(s *store.Snapshot) (row store.Record) {
		if err != nil {
			return row
		}
		if doc, status, locale, ok := s.DocumentByRow(u.Library.Type(), id); ok {
			row = s.Version(u.Library.Type(), doc, status, locale)
		}
		return row
	}
}

// DELETE /api/upload/files/{id}: deletes a file, and answers with it as it was.
func (u *routes) destroy(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	id, err := strconv.ParseUint(mux.Vars(r)["id"], 10, 64)
	if err != nil {
		return media.ErrNoFile
	}
	body, show, err := u.shown(r.Context(), who.Access)
	if err != nil {
		return err
	}
	once.Keep(http.StatusOK, body)
	if err := u.Library.Delete(r.Context(), once, id, show, who.Access); err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, *body)
}

// shown returns a function that prints a file after a write, and the buffer that the function prints into.
func (u *routes) shown(ctx context.Context,
	access *permission.Access) (*[]byte, func(*store.Snapshot, store.Record) error, error) {
	all, err := u.all()
	if err != nil {
		return nil, nil, err
	}
	body, plain := new([]byte), u.plain(ctx, access)
	return body, func(s *store.Snapshot, row store.Record) (err error) {
		*body, err = plain.Append(ctx, (*body)[:0], s, row, all)
		return err
	}, nil
}

// GET /uploads/{path}: the content of a file.
func (u *routes) fetch(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if strings.HasSuffix(r.URL.Path, "/") {
		return apierror.NotFound()
	}
	// Files are not compressed, since their length and ranges are those of the stored bytes.
	w.Header()["No-Gzip-Compression"] = []string{"1"}
	to, name := server.ExtendDeadlines(w, r, u.Limits.Write), mux.Vars(r)["path"]
	err := u.Library.ServeFile(to, r, name)
	var missing *apierror.Error
	if u.Missing != nil && errors.As(err, &missing) && missing.Status == http.StatusNotFound && u.Missing(r.Context(), name) {
		return u.Library.ServeFile(to, r, name)
	}
	return err
}
