package auth

import (
	"context"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

// What somebody is told who does not get in. Whether there is such a user is not told.
var (
	errLogin       = apierror.Validation("Invalid identifier or password")
	errUnconfirmed = apierror.Application("Your account email is not confirmed")
	errBlocked     = apierror.Application("Your account has been blocked by an administrator")
	// ErrProvider is the answer to a login by another service: there is none yet.
	ErrProvider = apierror.Application("This provider is disabled")
)

// Login answers {identifier, password} with a JWT. The password is compared even where there is no user, or none who has one,
// so that the answer takes as long.
func (u *Users) Login(ctx context.Context, body any, show Show) (jwt string, err error) {
	form := documents.NewForm(body)
	identifier, password := form.Text("identifier"), form.Text("password")
	if err := form.Err(); err != nil {
		return "", err
	}
	var who account
	err = u.o.Store.View(func(s *store.Snapshot) error {
		if r := u.identified(s, identifier); r.Exists() {
			who = u.account(r)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if !who.local {
		who.hash = nil
	}
	switch same, err := who.same(ctx, password); {
	case err != nil:
		return "", err
	case !same:
		return "", errLogin
	case !who.confirmed && u.o.Settings.EmailConfirmation:
		return "", errUnconfirmed
	case who.blocked:
		return "", errBlocked
	}
	err = u.o.Store.View(func(s *store.Snapshot) error {
		r := u.Row(s, who.id)
		if !r.Exists() {
			return errLogin // deleted just now
		}
		return show(s, r)
	})
	if err != nil {
		return "", err
	}
	return u.signer.sign(who.id, who.hash)
}

// identified returns the user whom a text names: by his address, in whichever case, or by his name. The address goes first, so
// that nobody can take another's place by a name.
func (u *Users) identified(s *store.Snapshot, identifier string) store.Record {
	if r := u.with(s, u.email, lower(identifier)); r.Exists() {
		return r
	}
	return u.with(s, u.username, identifier)
}

// registered are what everybody says of himself who registers.
var registered = []string{"username", "email", "password"}

// MayRegister reports whether who registers may be let set an attribute of users. What decides whether somebody gets in, and
// what he may do, is never his to say.
func MayRegister(a *contenttypes.Attribute) bool {
	switch a.Name {
	case "role", "provider", "confirmed", "blocked", "resetPasswordToken", "confirmationToken":
		return false
	}
	return !a.System
}

// Register answers {username, email, password} with a JWT, or with none where the address is to be confirmed first. Of other
// attributes the settings say which he may set.
func (u *Users) Register(ctx context.Context, body any, show Show) (jwt string, err error) {
	if !u.o.Settings.AllowRegister {
		return "", apierror.Application("Register action is currently disabled")
	}
	form := documents.NewForm(body)
	if others := form.Others(slices.Concat(registered, u.o.Settings.RegisterFields)...); len(others) > 0 {
		return "", apierror.Validation("Invalid parameters: " + strings.Join(others, ", "))
	}
	email, username := lower(form.Email("email")), form.Text("username")
	form.Password("password")
	if err := form.Err(); err != nil {
		return "", err
	}
	role, err := u.defaultRole(ctx)
	if err != nil {
		return "", err
	}
	code := newCode(u.o.Now())
	data := form.Values(u.typ)
	data.Set("email", email)
	data.Set("provider", localProvider)
	data.Set("confirmed", !u.o.Settings.EmailConfirmation)
	data.Set("role", role)
	if u.o.Settings.EmailConfirmation {
		data.Set("confirmationToken", digestOfCode(code))
	}
	var made account
	ctx, release, err := u.o.Documents.HoldHooked(ctx, u.typ)
	if err != nil {
		return "", err
	}
	defer release()
	p, err := u.o.Documents.PrepareHooked(ctx, documents.CreateAction, u.written("", data, show, &made))
	if err != nil {
		return "", err
	}
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		if u.isTaken(tx.Snapshot, email, username) {
			return apierror.Application("Email or Username are already taken")
		}
		return tx.Create(p)
	})
	if err != nil {
		return "", err
	}
	if u.o.Settings.EmailConfirmation {
		u.mailConfirmation(made, code)
		return "", nil
	}
	return u.signer.sign(made.id, made.hash)
}

// isTaken reports whether somebody is known by one of two names already: each of them as either, since both let in.
func (u *Users) isTaken(s *store.Snapshot, email, username string) (taken bool) {
	look := func(r store.Record) bool {
		taken = taken || u.o.Settings.UniqueEmail || textOf(r, u.provider) == localProvider
		return !taken
	}
	u.each(s, u.email, email, look)
	u.each(s, u.email, lower(username), look)
	u.each(s, u.username, email, look)
	u.each(s, u.username, username, look)
	return taken
}

func (u *Users) defaultRole(ctx context.Context) (id jsontree.Number, err error) {
	role, err := u.o.Documents.Query(contenttypes.RoleUID).Where(documents.Eq("type", u.o.Settings.DefaultRole)).First(ctx)
	switch {
	case err != nil:
		return "", err
	case role == nil:
		return "", apierror.Application("Impossible to find the default role")
	}
	return number(role.ID()), nil
}
