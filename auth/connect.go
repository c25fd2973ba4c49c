package auth

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// An Identity is who another identity provider says has logged in.
type Identity struct {
	Provider string // its name in the settings, such as google
	Email    string // the provider vouches that it is theirs
	Username string // as the provider calls them; may be empty, and others may have it
}

// These are the answers to a failed login by another provider, besides that of a blocked user.
var (
	errNoRegister = apierror.Application("Register action is actually not available.")
	errNoEmail    = apierror.Application("Email was not available.")
	errNoUsername = apierror.Application("no free username was found; try again")
)

// Connect logs in the user who has the address of an identity, and registers them if there is none.
//
// An account with a password is joined by its address as well. Unless a mail to the address, an administrator or a
// provider has proven that it is theirs, somebody else may have registered it: then its password and the JWTs of it
// end, and it becomes an account of the provider. If the settings allow several accounts of one address, only one of
// the same provider is joined.
func (u *Users) Connect(ctx context.Context, id Identity, show Show) (c Credentials, err error) {
	id.Email = lower(id.Email)
	if !values.IsEmail(id.Email) {
		return c, errNoEmail
	}
	var who account
	err = u.o.Store.View(func(s *store.Snapshot) error {
		who = account{}
		r := u.connected(s, id)
		if !r.Exists() {
			return nil
		}
		if who = u.account(r); who.blocked {
			return errBlocked
		}
		return show(s, r)
	})
	switch {
	case err != nil:
		return c, err
	case who.id == 0:
		return u.registerBy(ctx, id, show)
	case who.isProven():
		return u.issue(ctx, who, "")
	}
	return u.takeOver(ctx, id, show)
}

// connected returns the user whom an identity logs in.
func (u *Users) connected(s *store.Snapshot, id Identity) (found store.Record) {
	u.each(s, u.email, id.Email, func(r store.Record) bool {
		same := textOf(r, u.provider) == id.Provider
		if same || u.o.Settings.UniqueEmail && !found.Exists() {
			found = r
		}
		return !same
	})
	return found
}

// isProven reports whether the address of an account is known to be that of whoever can log in to it. That it counts
// as confirmed is not enough: that of everybody who registers does while the settings ask for no confirmation.
func (a *account) isProven() bool {
	salt, _, _ := strings.Cut(strings.TrimPrefix(a.proof, digestMark), ":")
	return a.confirmed && a.proof == proof(salt, a.email)
}

// proofOf returns what is stored of an address that was proven, in place of the code that confirms it. It holds for
// that address alone. It is no code: see withCode.
func proofOf(email string) string { return proof(randomName(), email) }

func proof(salt, email string) string {
	return digestMark + salt + ":" + strings.TrimPrefix(digestOfCode(salt+email), digestMark)
}

// takeOver gives an account to the owner of its address.
func (u *Users) takeOver(ctx context.Context, id Identity, show Show) (c Credentials, err error) {
	data := jsontree.ObjectOf("confirmed", true, "provider", id.Provider, "password", nil, u.resetCode.Name, nil,
		u.confirmCode.Name, proofOf(id.Email))
	return u.updateAndIssue(ctx, data, show, func(s *store.Snapshot) (store.Record, error) {
		r := u.connected(s, id)
		switch {
		case !r.Exists():
			return r, errGone
		case isTrue(r, u.blocked):
			return r, errBlocked
		}
		return r, nil
	})
}

// registerBy registers the user of an identity.
func (u *Users) registerBy(ctx context.Context, id Identity, show Show) (c Credentials, err error) {
	if !u.o.Settings.AllowRegister {
		return c, errNoRegister
	}
	role, err := u.defaultRole(ctx)
	if err != nil {
		return c, err
	}
	ctx, release, err := u.o.Documents.LockHooked(ctx, u.typ)
	if err != nil {
		return c, err
	}
	defer release()
	username, err := u.freeName(id)
	if err != nil {
		return c, err
	}
	var made account
	data := jsontree.ObjectOf("username", username, "email", id.Email, "provider", id.Provider, "confirmed", true,
		"role", role, u.confirmCode.Name, proofOf(id.Email))
	p, err := u.o.Documents.PrepareHooked(ctx, documents.CreateAction, u.written("", data, show, &made))
	if err != nil {
		return c, err
	}
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		if u.connected(tx.Snapshot, id).Exists() {
			return errEmailTaken // by a request at the same time
		}
		return tx.Create(p)
	})
	if err != nil {
		return c, err
	}
	return u.issue(ctx, made, "")
}

// nameAttempts is how many usernames are tried for a new user.
const nameAttempts = 10

// freeName returns a username that nobody has: what the provider calls the user, or the beginning of their address,
// with digits after it if need be.
func (u *Users) freeName(id Identity) (name string, err error) {
	base := id.Username
	if base == "" {
		base, _, _ = strings.Cut(id.Email, "@")
	}
	least := 0
	if u.username.MinLength != nil {
		least = *u.username.MinLength
	}
	for attempt := range nameAttempts {
		name = base
		if attempt > 0 || utf8.RuneCountInString(base) < least {
			name = base + strconv.Itoa(1000+rand.IntN(9000))
		}
		taken := false
		err = u.o.Store.View(func(s *store.Snapshot) error {
			taken = u.with(s, u.username, name).Exists() || u.with(s, u.email, lower(name)).Exists()
			return nil
		})
		if err != nil || !taken {
			return name, err
		}
	}
	return "", errNoUsername
}
