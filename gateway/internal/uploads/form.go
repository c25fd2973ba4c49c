package uploads

import (
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
	form, done, err := u.Limits.ReadForm(w, r, u.Library)
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
