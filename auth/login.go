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

// These are the answers to a failed login. They do not reveal whether the user exists.
var (
	errLogin       = apierror.Validation("Invalid identifier or password")
	errUnconfirmed = apierror.Application("Your account email is not confirmed")
	errBlocked     = apierror.Application("Your account has been blocked by an administrator")
	// ErrProvider is the answer to a login by a provider that the settings do not have.
	ErrProvider = apierror.Application("This provider is disabled")
)

// Login answers {identifier, password, deviceId} with credentials.
func (u *Users) Login(ctx context.Context, body any, show Show) (c Credentials, err error) {
	who, device, err := u.checkPassword(ctx, body)
	if err != nil {
		return c, err
	}
	err = u.o.Store.View(func(s *store.Snapshot) error {
		r := u.Row(s, who.id)
		if !r.Exists() {
			return errLogin // the user was deleted in the meantime
		}
		return show(s, r)
	})
	if err != nil {
		return c, err
	}
	return u.issue(ctx, who, device)
}

// checkPassword returns the user of {identifier, password, deviceId} if they may log in with that, and the device. If
// the user does not exist or has no password, it hashes the given password anyway, so that the answer takes as long.
func (u *Users) checkPassword(ctx context.Context, body any) (who account, device string, err error) {
	form := newForm(body)
	identifier, password := form.text("identifier"), form.text("password")
	device = u.readDevice(form)
	if err := form.err(); err != nil {
		return who, "", err
	}
	err = u.o.Store.View(func(s *store.Snapshot) error {
		if r := u.identified(s, identifier); r.Exists() {
			who = u.account(r)
		}
		return nil
	})
	if err != nil {
		return who, "", err
	}
	if !who.local {
		who.hash = nil
	}
	switch same, err := who.hasPassword(ctx, u.o.Documents.Passwords, password); {
	case err != nil:
		return who, "", err
	case !same:
		return who, "", errLogin
	case !who.confirmed && u.o.Settings.EmailConfirmation:
		return who, "", errUnconfirmed
	case who.blocked:
		return who, "", errBlocked
	}
	return who, device, nil
}

// identified returns the user with this identifier: their address, in any case, or their name. It looks for the address
// first, so that nobody can log in as another user by choosing their address as a name.
func (u *Users) identified(s *store.Snapshot, identifier string) store.Record {
	if r := u.with(s, u.email, lower(identifier)); r.Exists() {
		return r
	}
	return u.with(s, u.username, identifier)
}

// registered are the attributes that every registration contains.
var registered = []string{"username", "email", "password"}

// MayRegister reports whether the settings may allow users to set this attribute when they register. It never allows
// attributes that decide whether users can log in and what they may do.
func MayRegister(a *contenttypes.Attribute) bool {
	switch a.Name {
	case "role", "provider", "confirmed", "blocked", "resetPasswordToken", "confirmationToken":
		return false
	}
	return !a.System
}

// Register answers {username, email, password} with credentials, which are empty if the address must be confirmed
// first. The settings list the other attributes that the body may contain.
func (u *Users) Register(ctx context.Context, body any, show Show) (c Credentials, err error) {
	if !u.o.Settings.AllowRegister {
		return c, apierror.Application("Register action is currently disabled")
	}
	form := newForm(body)
	if others := form.others(slices.Concat(registered, u.o.Settings.RegisterFields)...); len(others) > 0 {
		return c, apierror.Validation("Invalid parameters: " + strings.Join(others, ", "))
	}
	email, username := lower(form.email("email")), form.text("username")
	form.password("password")
	if err := form.err(); err != nil {
		return c, err
	}
	role, err := u.defaultRole(ctx)
	if err != nil {
		return c, err
	}
	code := newCode(u.o.Now())
	data := form.values(u.typ)
	data.Set("email", email)
	data.Set("provider", localProvider)
	data.Set("confirmed", !u.o.Settings.EmailConfirmation)
	data.Set("role", role)
	if u.o.Settings.EmailConfirmation {
		data.Set("confirmationToken", digestOfCode(code))
	}
	var made account
	ctx, release, err := u.o.Documents.LockHooked(ctx, u.typ)
	if err != nil {
		return c, err
	}
	defer release()
	p, err := u.o.Documents.PrepareHooked(ctx, documents.CreateAction, u.written("", data, show, &made))
	if err != nil {
		return c, err
	}
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		if u.isTaken(tx.Snapshot, email, username) {
			return apierror.Application("Email or Username are already taken")
		}
		return tx.Create(p)
	})
	if err != nil {
		return c, err
	}
	if u.o.Settings.EmailConfirmation {
		u.mailConfirmation(made, code)
		return c, nil
	}
	return u.issue(ctx, made, randomName())
}

// isTaken reports whether a user has this address or name. It compares each with both, because users may log in with
// either.
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
	role, err := u.o.Documents.Query(contenttypes.RoleUID).Where(documents.Eq("type", u.o.Settings.DefaultRole)).First(
		ctx)
	switch {
	case err != nil:
		return "", err
	case role == nil:
		return "", apierror.Application("Impossible to find the default role")
	}
	return number(role.ID()), nil
}
