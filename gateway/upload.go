package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway/admin"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/media"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// Actions of the routes of files.
const (
	uploadAction = "plugin::upload.content-api.upload"
	findFiles    = "plugin::upload.content-api.find"
	findOneFile  = "plugin::upload.content-api.findOne"
	destroyFile  = "plugin::upload.content-api.destroy"
)

var errOneID = apierror.Validation("File id is required and must be a single value")

// A fileSource has files that this server does not have yet: the origin of a replica, or the other nodes of a cluster.
type fileSource interface {
	// Missing fetches a file that a client asks for and that is not there, and reports whether it is there now.
	Missing(ctx context.Context, name string) bool
}

// uploads has the handlers of files.
type uploads struct {
	library *media.Library
	api     *rest.API
	params  *params.Parser
	limits  server.Limits
	answers *rest.AnswerLimits
	source  fileSource                              // nil if the server has its files for itself
	updates map[*contenttypes.ContentType]routeRule // of the routes that change documents of a type

	generation *generation
}

// uploadRoutes returns the routes of files; none where upload is switched off.
func (g *generation) uploadRoutes(api *rest.API, parser *params.Parser) []server.Route {
	if !g.Settings.Upload.Enabled {
		return nil
	}
	u := &uploads{library: g.media, api: api, params: parser, limits: server.Limits(g.Settings.Server.Limits.WithDefaults()), answers: g.answers,
		generation: g, updates: g.rules(api, "update")}
	if t := g.Model.Type(contenttypes.UserUID); t != nil {
		u.updates[t] = g.ruleOfUsers(t)
	}
	if g.project != nil {
		u.source = g.project.role.MissingFiles()
	}
	prefix := g.Settings.REST.Prefix + "/upload"
	return []server.Route{
		{Method: http.MethodPost, Path: prefix, Action: uploadAction, Handle: u.upload, Keyed: true, Streams: true},
		{Method: http.MethodGet, Path: prefix + "/files", Action: findFiles, Handle: u.list},
		{Method: http.MethodGet, Path: prefix + "/files/{id}", Action: findOneFile, Handle: u.one},
		{Method: http.MethodDelete, Path: prefix + "/files/{id}", Action: destroyFile, Handle: g.onceOnly(u.destroy), Keyed: true},
		{Method: http.MethodGet, Path: "/uploads/{path:.*}", Handle: u.fetch, Open: true, Streams: true},
	}
}

// openMedia opens the library of files, or shares the library of the former generation. It does nothing if upload is switched off.
func (g *generation) openMedia() (err error) {
	if !g.Settings.Upload.Enabled {
		return nil
	}
	shared := &g.project.shared
	if shared.library != nil {
		g.media, err = shared.library.Under(g.store, g.docs, g.Model)
		return err
	}
	o := media.Options{
		Dir: g.project.Data.Join(admin.UploadsName), Cache: g.project.Data.Join(admin.ImagesName), Store: g.store, Documents: g.docs, Model: g.Model, Settings: g.Settings.Upload.Settings, Memory: g.project.memory,
		Failed: func(err error) { g.project.log.Error(err.Error()) },
	}
	g.project.role.SetUpMedia(&o)
	g.media, err = media.Open(o)
	shared.library = g.media
	return err
}

// recoverMedia removes the files of uploads that were interrupted when the server ended. It first waits for the content that is still to come: before, it
// would remove files of documents that the server does not have yet.
func (p *Project) recoverMedia(ctx context.Context) {
	if p.role.AwaitContent(ctx) != nil {
		return
	}
	err := p.View(ctx, func(c admin.Content) error {
		if c.Media == nil {
			return nil
		}
		return c.Media.Recover(ctx)
	})
	if err != nil && ctx.Err() == nil {
		p.log.Error(err.Error())
	}
}

// plain returns a printer of files that prints only what access allows.
func (u *uploads) plain(ctx context.Context, access *permission.Access) *rest.Plain {
	return &rest.Plain{API: u.api, Access: access, Limits: u.answers, Memory: server.AnswerMemory(ctx), Last: `"isUrlSigned":false`}
}

// all returns the selection of all fields of a file, without populate.
func (u *uploads) all() (*documents.Selection, error) {
	list, err := u.params.PlainList(u.library.Type(), jsontree.NewObject(), permission.FullAccess)
	if err != nil {
		return nil, err
	}
	return list.Selection, nil
}

// GET /api/upload/files: a list without envelope.
func (u *uploads) list(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	q, err := readQuery(r)
	if err != nil {
		return err
	}
	list, err := u.params.PlainList(u.library.Type(), q, who.Access)
	if err != nil {
		return err
	}
	body, err := u.plain(r.Context(), who.Access).List(r.Context(), &list.Query, list.Selection)
	if err != nil {
		return err
	}
	return u.limits.SendJSON(w, r, http.StatusOK, body)
}

// GET /api/upload/files/{id}: a file with all its fields. The query can populate.
func (u *uploads) one(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	q, err := readQuery(r)
	if err != nil {
		return err
	}
	chosen := jsontree.NewObject()
	if populate, ok := q.Get("populate"); ok {
		chosen.Set("populate", populate)
	}
	one, err := u.params.One(u.library.Type(), chosen, who.Access)
	if err != nil {
		return err
	}
	id, err := strconv.ParseUint(mux.Vars(r)["id"], 10, 64)
	if err != nil {
		return media.ErrNoFile
	}
	body, err := u.plain(r.Context(), who.Access).One(r.Context(), &one.Query, one.Selection, func(s *store.Snapshot) (row store.Record) {
		if doc, status, locale, ok := s.DocumentByRow(u.library.Type(), id); ok {
			row = s.Version(u.library.Type(), doc, status, locale)
		}
		return row
	})
	if err != nil {
		return err
	}
	if body == nil {
		return media.ErrNoFile
	}
	return u.limits.SendJSON(w, r, http.StatusOK, body)
}

// DELETE /api/upload/files/{id}: deletes a file, and answers with it as it was.
func (u *uploads) destroy(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	id, err := strconv.ParseUint(mux.Vars(r)["id"], 10, 64)
	if err != nil {
		return media.ErrNoFile
	}
	body, show, err := u.shown(r.Context(), who.Access)
	if err != nil {
		return err
	}
	once.Keep(http.StatusOK, body)
	if err := u.library.Delete(r.Context(), once, id, show); err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, *body)
}

// shown returns a function that prints a file after a write, and the buffer that the function prints into.
func (u *uploads) shown(ctx context.Context, access *permission.Access) (*[]byte, func(*store.Snapshot, store.Record) error, error) {
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

// POST /api/upload: stores files. POST /api/upload?id=N: changes a file.
func (u *uploads) upload(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	q, err := readQuery(r)
	if err != nil {
		return err
	}
	if r.Body != nil {
		server.LimitRateOnly(r)
		r.Body = server.StreamedBody(r.Body)
	}
	switch id := q.Value("id").(type) {
	case nil:
		return u.add(w, r, who)
	case string:
		if id == "" {
			return u.add(w, r, who)
		}
		return u.change(w, r, who, id)
	}
	return errOneID
}

// add stores the files of a form, and answers with a list of them.
func (u *uploads) add(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.withForm(w, r, who, func(form *media.Form, once *store.Once) error {
		if err := u.permitLinks(form, who); err != nil {
			return err
		}
		all, err := u.all()
		if err != nil {
			return err
		}
		var body []byte
		plain := u.plain(r.Context(), who.Access)
		once.Keep(http.StatusCreated, &body)
		ctx, cancel := context.WithTimeout(r.Context(), u.limits.Write)
		defer cancel()
		err = u.library.Add(ctx, once, form, who.Access, func(i int, s *store.Snapshot, row store.Record) (err error) {
			if i == 0 {
				body = append(body[:0], '[')
			} else {
				body[len(body)-1] = ',' // in place of the end of the list
			}
			body, err = plain.Append(ctx, body, s, row, all)
			body = append(body, ']')
			return err
		})
		if err != nil {
			return err
		}
		return u.limits.SendJSON(w, r, http.StatusCreated, body)
	})
}

// permitLinks returns an error if a form links its files to a document that the caller may not change in this way. The library checks the other things that
// the fields of the form say.
func (u *uploads) permitLinks(form *media.Form, who auth.Principal) error {
	rule, ok := u.updates[u.generation.Model.Type(form.Ref())]
	if !ok {
		return nil
	}
	return rule.permit(who, "upload the files without ref, and link them with")
}

// change replaces the content of a file, or changes its name, alternative text and caption.
func (u *uploads) change(w http.ResponseWriter, r *http.Request, who auth.Principal, id string) error {
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		number = 0 // no file has this id
	}
	if isMultipart(r) {
		return u.withForm(w, r, who, func(form *media.Form, once *store.Once) error {
			if form.Files() > 0 {
				return u.replace(w, r, who, once, number, form)
			}
			info, err := form.Info()
			if err != nil {
				return err
			}
			return u.edit(w, r, who, once, number, info)
		})
	}
	return u.generation.onceOnly(func(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
		info, err := u.infoOf(w, r)
		if err != nil {
			return err
		}
		return u.edit(w, r, who, once, number, info)
	})(w, r, who)
}

// edit changes what the document of a file says, and answers with the file.
func (u *uploads) edit(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once, id uint64, info media.Info) error {
	body, show, err := u.shown(r.Context(), who.Access)
	if err != nil {
		return err
	}
	once.Keep(http.StatusOK, body)
	if err := u.library.Edit(r.Context(), once, id, info, show); err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, *body)
}

// errKeyReplacement refuses a key where the content of a file is replaced. A replacement that a crash interrupts is finished at the next
// start, when there is nobody to answer.
var errKeyReplacement = server.BadRequest("BadRequestError",
	"no answer is kept when the content of a file is replaced: send the request without an Idempotency-Key; sent twice, it leaves the same content")

// replace replaces the content of a file, and answers with the file.
func (u *uploads) replace(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once, id uint64, form *media.Form) error {
	if once != nil {
		return errKeyReplacement
	}
	body, show, err := u.shown(r.Context(), who.Access)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), u.limits.Write)
	defer cancel()
	if err := u.library.Replace(ctx, id, form, show); err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, *body)
}

// withForm answers a request by do, with the form that the request sends. A request with an Idempotency-Key is carried
// out once.
func (u *uploads) withForm(w http.ResponseWriter, r *http.Request, who auth.Principal, do func(*media.Form, *store.Once) error) error {
	form, done, err := u.form(w, r)
	if err != nil {
		return err
	}
	defer done()
	if r.Header[server.IdempotencyKey] == nil {
		return do(form, nil)
	}
	hash, err := form.Hash()
	if err != nil {
		return err
	}
	return u.generation.idempotency().carryOut(w, r, who, hash, func(once *store.Once) error {
		once.ContentType = server.JSON[0]
		return do(form, once)
	})
}

// infoOf reads the fileInfo of a body that is not a multipart form.
func (u *uploads) infoOf(w http.ResponseWriter, r *http.Request) (info media.Info, err error) {
	body, err := u.limits.ReadBody(w, r)
	if err != nil {
		return info, err
	}
	if o, ok := body.(*jsontree.Object); ok {
		if said, ok := o.Get("fileInfo"); ok {
			return media.ReadInfo(said)
		}
	}
	return info, nil
}

func isMultipart(r *http.Request) bool {
	kind, _, err := server.ContentType(r.Header)
	return err == nil && kind == "multipart/form-data"
}

// form reads a multipart form. A body of another type counts as a form without files. done closes the form, unless it is kept for a retry.
func (u *uploads) form(w http.ResponseWriter, r *http.Request) (form *media.Form, done func(), err error) {
	if kept := server.KeptForm(r); kept != nil {
		return kept, func() {}, nil
	}
	if form, err = u.readForm(w, r); err != nil {
		return nil, nil, err
	}
	if server.KeepForm(r, form) {
		return form, func() {}, nil
	}
	return form, func() { form.Close() }, nil
}

func (u *uploads) readForm(w http.ResponseWriter, r *http.Request) (*media.Form, error) {
	if !isMultipart(r) {
		if _, err := u.limits.ReadBody(w, r); err != nil {
			return nil, err
		}
		return &media.Form{}, nil
	}
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if params["boundary"] == "" {
		return nil, server.BadRequest("BadRequestError", "the multipart body has no boundary")
	}
	body, err := server.Inflate(r.Body, r.Header["Content-Encoding"])
	if err != nil {
		return nil, err
	}
	if body != io.Reader(r.Body) {
		body = u.library.Inflated(body)
	}
	form, err := u.library.ReadForm(r.Context(), multipart.NewReader(bufio.NewReader(body), params["boundary"]), server.TreeOfFields)
	if err == nil {
		return form, nil
	}
	if errors.Is(err, media.ErrMalformed) {
		return nil, server.Unreadable(err)
	}
	io.CopyN(io.Discard, r.Body, server.Drained) // a client that sends its whole body before it reads receives the answer, too
	return nil, err
}

// GET /uploads/{path}: the content of a file.
func (u *uploads) fetch(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if strings.HasSuffix(r.URL.Path, "/") {
		return apierror.NotFound()
	}
	// Files are not compressed, since their length and ranges are those of the stored bytes.
	w.Header()["No-Gzip-Compression"] = []string{"1"}
	to, name := server.ExtendDeadlines(w, r, u.limits.Write), mux.Vars(r)["path"]
	err := u.library.ServeFile(to, r, name)
	var told *apierror.Error
	if u.source != nil && errors.As(err, &told) && told.Status == http.StatusNotFound && u.source.Missing(r.Context(), name) {
		return u.library.ServeFile(to, r, name)
	}
	return err
}
