package auth

import (
	"context"
	"errors"
	"net/http"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

var (
	errNoUser     = &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "User not found"}
	errEmailTaken = apierror.Application("Email already taken")
	errNameTaken  = apierror.Application("Username already taken")
)

// Create creates a user with all attributes in the body, roles included. It ignores keys that are not attributes of
// users. Only callers who may administer users may call it. once may be nil, as for Update and Delete; see
// store.WriteOnce.
func (u *Users) Create(ctx context.Context, once *store.Once, body any, show Show) error {
	form := newForm(body)
	email := lower(form.email("email"))
	form.text("username")
	form.password("password")
	role, err := u.readRole(form, true)
	if err != nil {
		return err
	}
	if err := form.err(); err != nil {
		return err
	}
	data := form.values(u.typ)
	data.Set("email", email)
	data.Set("provider", localProvider)
	data.Set("role", role)
	if data.Value("confirmed") == true && !form.has(u.confirmCode.Name) {
		data.Set(u.confirmCode.Name, proofOf(email)) // the administrator vouches for it
	}
	ctx, release, err := u.o.Documents.LockHooked(ctx, u.typ)
	if err != nil {
		return err
	}
	defer release()
	p, err := u.o.Documents.PrepareHooked(ctx, documents.CreateAction, u.written("", data, show, nil))
	if err == nil {
		err = u.o.Documents.TransactOnce(ctx, once, func(tx *documents.Transaction) error {
			if u.o.Settings.UniqueEmail && u.with(tx.Snapshot, u.email, email).Exists() {
				return errEmailTaken
			}
			return tx.Create(p)
		})
	}
	var refusal *apierror.Error
	if errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest {
		return apierror.Application(refusal.Message)
	}
	return err
}

// Update changes the user with this id, within the rules of access. Their JWTs and sessions end if they get a new
// password or are blocked.
func (u *Users) Update(ctx context.Context, once *store.Once, id uint64, body any, show Show,
	access *permission.Access) error {
	who, err := u.stored(id)
	if err != nil {
		return err
	}
	documentID := who.documentID
	form := newForm(body)
	w := u.written(documentID, form.values(u.typ), show, nil)
	w.Rules, w.KeysHeld = access, true
	switch err := u.o.Documents.Permits(w, documents.UpdateAction); {
	case isNotFound(err):
		return errNoUser
	case err != nil:
		return err
	}
	err = documents.HoldKeys(u.typ, w.Data, access.LimitOf(u.typ, documents.UpdateAction.String()))
	if err != nil {
		return err
	}
	email, hasEmail := form.filled("email")
	if hasEmail && email != "" {
		form.email("email")
	}
	username, hasName := form.filled("username")
	password, _ := form.filled("password")
	if password != "" {
		form.password("password")
	}
	hasRole := form.has("role")
	var role any
	if hasRole {
		if role, err = u.readRole(form, false); err != nil {
			return err
		}
	}
	if err := form.err(); err != nil {
		return err
	}
	data := w.Data
	if hasEmail {
		email = lower(email)
		data.Set("email", email)
	}
	if hasRole {
		data.Set("role", role)
	}
	if (password != "" || email != "") && !form.has(u.resetCode.Name) {
		data.Set(u.resetCode.Name, nil) // the code that was mailed ends
	}
	if !form.has(u.confirmCode.Name) {
		u.setProof(data, &who)
	}
	ctx, release, err := u.o.Documents.LockHooked(ctx, u.typ)
	if err != nil {
		return err
	}
	defer release()
	p, err := u.o.Documents.PrepareHooked(ctx, documents.UpdateAction, w)
	if err != nil {
		return err
	}
	return u.o.Documents.TransactOnce(ctx, once, func(tx *documents.Transaction) error {
		another := func(r store.Record) bool { return r.Exists() && r.ID() != id }
		if hasName && another(u.with(tx.Snapshot, u.username, username)) {
			return errNameTaken
		}
		if hasEmail && u.o.Settings.UniqueEmail {
			taken := false
			u.each(tx.Snapshot, u.email, email,
				func(r store.Record) bool { taken = taken || another(r); return !taken })
			if taken {
				return errEmailTaken
			}
		}
		err := tx.Update(documentID, p)
		if err != nil || password == "" && !isTrue(u.Row(tx.Snapshot, id), u.blocked) {
			return err
		}
		_, err = u.endSessions(tx, documentID, anySession)
		return err
	})
}

// Delete deletes the user with this id, within the rules of access, and calls show with the row as it was. If there is
// no such user, it does not call show.
func (u *Users) Delete(ctx context.Context, once *store.Once, id uint64, show Show, access *permission.Access) error {
	who, err := u.stored(id)
	if errors.Is(err, errNoUser) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, release, err := u.o.Documents.LockHooked(ctx, u.typ)
	if err != nil {
		return err
	}
	defer release()
	p, err := u.o.Documents.PrepareHooked(ctx, documents.DeleteAction,
		documents.Write{Type: u.typ, DocumentID: who.documentID, Rules: access})
	if err != nil {
		return err
	}
	return u.o.Documents.TransactOnce(ctx, once, func(tx *documents.Transaction) error {
		r := u.Row(tx.Snapshot, id)
		if !r.Exists() {
			return nil
		}
		if err := tx.Permits(p); isNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
		if err := show(tx.Snapshot, r); err != nil {
			return err
		}
		if _, err := u.endSessions(tx, who.documentID, anySession); err != nil {
			return err
		}
		return tx.Delete(p)
	})
}

// isNotFound reports whether an error is an Error 404.
func isNotFound(err error) bool {
	var missing *apierror.Error
	return errors.As(err, &missing) && missing.Status == http.StatusNotFound
}

// setProof adds to the data of an update what it says of the address of who: an administrator who confirms an account
// vouches for its address, and a code that was mailed to another address confirms it no longer.
func (u *Users) setProof(data *jsontree.Object, who *account) {
	email, has := data.Value("email").(string)
	if !has {
		email = who.email
	}
	switch {
	case data.Value("confirmed") == true && !who.confirmed:
		data.Set(u.confirmCode.Name, proofOf(email))
	case email != who.email:
		data.Set(u.confirmCode.Name, nil)
	}
}

// stored returns the user with this id.
func (u *Users) stored(id uint64) (who account, err error) {
	err = u.o.Store.View(func(s *store.Snapshot) error {
		r := u.Row(s, id)
		if !r.Exists() {
			return errNoUser
		}
		who = u.account(r)
		return nil
	})
	return who, err
}
