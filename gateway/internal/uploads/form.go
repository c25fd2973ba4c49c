package uploads

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"lectern/auth"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/media"
	"lectern/store"
)

// withForm answers a request by do, with the form that the request sends. A request with an Idempotency-Key is carried
// out once.
func (u *routes) withForm(w http.ResponseWriter, r *http.Request, who auth.Principal,
	do func(*media.Form, *store.Once) error) error {
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
	return u.Keys.CarryOut(w, r, who, hash, func(once *store.Once) error {
		once.ContentType = server.JSON[0]
		return do(form, once)
	})
}

// infoOf reads the fileInfo of a body that is not a multipart form.
func (u *routes) infoOf(w http.ResponseWriter, r *http.Request) (info media.Info, err error) {
	body, err := u.Limits.ReadBody(w, r)
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

// form reads a multipart form. A body of another type counts as a form without files. done closes the form, unless it
// is kept for a retry.
func (u *routes) form(w http.ResponseWriter, r *http.Request) (form *media.Form, done func(), err error) {
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

func (u *routes) readForm(w http.ResponseWriter, r *http.Request) (*media.Form, error) {
	if !isMultipart(r) {
		if _, err := u.Limits.ReadBody(w, r); err != nil {
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
		body = u.Library.Inflated(body)
	}
	form, err := u.Library.ReadForm(r.Context(), multipart.NewReader(bufio.NewReader(body), params["boundary"]),
		server.TreeOfFields)
	if err == nil {
		return form, nil
	}
	if errors.Is(err, media.ErrMalformed) {
		return nil, server.Unreadable(err)
	}
	io.CopyN(io.Discard, r.Body,
		server.Drained) // a client that sends its whole body before it reads receives the answer, too
	return nil, err
}
