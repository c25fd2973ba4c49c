package uploads

import (
	"context"
	"net/http"
	"strconv"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/media"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

var errOneID = apierror.Validation("File id is required and must be a single value")

// POST /api/upload: stores files. POST /api/upload?id=N: changes a file.
func (u *routes) upload(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	q, err := rest.ParseQuery(r)
	if err != nil {
		return err
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
func (u *routes) add(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
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
		ctx, cancel := context.WithTimeout(r.Context(), u.Limits.Write)
		defer cancel()
		err = u.Library.Add(ctx, once, form, who.Access, func(i int, s *store.Snapshot, row store.Record) (err error) {
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
		return u.Limits.SendJSON(w, r, http.StatusCreated, body)
	})
}

// permitLinks returns an error if a form links its files to a document that the caller may not change in this way. The
// library checks the other things that the fields of the form say.
func (u *routes) permitLinks(form *media.Form, who auth.Principal) error {
	t := u.Model.Type(form.Ref())
	if t == nil {
		return nil
	}
	return u.PermitLink(t, who)
}

// change replaces the content of a file, or changes its name, alternative text and caption.
func (u *routes) change(w http.ResponseWriter, r *http.Request, who auth.Principal, id string) error {
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
	return u.Keys.Once(func(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
		info, err := u.infoOf(w, r)
		if err != nil {
			return err
		}
		return u.edit(w, r, who, once, number, info)
	})(w, r, who)
}

// edit changes what the document of a file says, and answers with the file.
func (u *routes) edit(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once, id uint64,
	info media.Info) error {
	body, show, err := u.shown(r.Context(), who.Access)
	if err != nil {
		return err
	}
	once.Keep(http.StatusOK, body)
	if err := u.Library.Edit(r.Context(), once, id, info, show); err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, *body)
}

// errKeyReplacement refuses a key where the content of a file is replaced. A replacement that a crash interrupts is
// finished at the next start, when there is nobody to answer.
var errKeyReplacement = server.BadRequest("BadRequestError",
	"no answer is kept when the content of a file is replaced: send the request without an Idempotency-Key; "+
		"sent twice, it leaves the same content")

// replace replaces the content of a file, and answers with the file.
func (u *routes) replace(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once, id uint64,
	form *media.Form) error {
	if once != nil {
		return errKeyReplacement
	}
	body, show, err := u.shown(r.Context(), who.Access)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), u.Limits.Write)
	defer cancel()
	if err := u.Library.Replace(ctx, id, form, show); err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, *body)
}
