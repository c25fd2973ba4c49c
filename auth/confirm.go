package auth

import (
	"context"

	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

// ConfirmEmail answers {confirmation}, the code from a mail, with credentials; without any if show is nil, because
// nobody asks for them. The code works once.
func (u *Users) ConfirmEmail(ctx context.Context, query any, show Show) (c Credentials, err error) {
	form := newForm(query)
	code := form.text("confirmation")
	if err := form.err(); err != nil {
		return c, err
	}
	var email string
	err = u.o.Store.View(func(s *store.Snapshot) error {
		if r := u.withCode(s, u.confirmCode, code); r.Exists() {
			email = textOf(r, u.email)
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	data := jsontree.ObjectOf("confirmed", true, u.confirmCode.Name, proofOf(email))
	confirmed, err := u.update(ctx, data, show, func(s *store.Snapshot) (store.Record, error) {
		r := u.withCode(s, u.confirmCode, code)
		if !r.Exists() || textOf(r, u.email) != email {
			return r, apierror.Validation("Invalid token")
		}
		return r, nil
	})
	if err != nil || show == nil {
		return c, err
	}
	return u.issue(ctx, confirmed, randomName())
}

// ConfirmedURL returns the page to which users are redirected after they confirm their address. It comes from the
// settings only, never from the request.
func (u *Users) ConfirmedURL() string { return u.o.Settings.ConfirmedURL }

// SendConfirmation answers {email}. It sends a new code to that address if a user has it and has not confirmed it.
func (u *Users) SendConfirmation(body any) (email string, err error) {
	form := newForm(body)
	email = form.email("email")
	if err := form.err(); err != nil {
		return "", err
	}
	err = u.o.Store.View(func(s *store.Snapshot) error {
		r := u.with(s, u.email, lower(email))
		switch {
		case !r.Exists():
			return nil
		case isTrue(r, u.confirmed):
			return apierror.Application("Already confirmed")
		case isTrue(r, u.blocked):
			return apierror.Application("User blocked")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	u.mails.add(func(ctx context.Context, u *Users) error {
		code := newCode(u.o.Now())
		who, err := u.setCode(ctx, lower(email), u.confirmCode, code,
			func(a *account) bool { return !a.confirmed && !a.blocked })
		if err != nil || who.id == 0 {
			return err
		}
		return u.sendConfirmation(ctx, who, code)
	})
	return email, nil
}

// mailConfirmation sends a new user the code that Register stored.
func (u *Users) mailConfirmation(who account, code string) {
	u.mails.add(func(ctx context.Context, u *Users) error { return u.sendConfirmation(ctx, who, code) })
}

func (u *Users) sendConfirmation(ctx context.Context, who account, code string) error {
	return u.sender.send(
		ctx, u.o.Settings.Mail.Confirm.write(who.email, u.values(who, u.o.ServerURL()+u.o.Settings.ConfirmPath, code)))
}
