package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

var (
	errAnonymous = apierror.Application("You must be authenticated to reset your password")
	errCode      = apierror.Validation("Incorrect code provided")
)

// ChangePassword answers {currentPassword, password, passwordConfirmation} of the user with this id with new
// credentials; all earlier JWTs become invalid. The id is 0 for a request without a user, which is refused.
func (u *Users) ChangePassword(ctx context.Context, user uint64, body any, show Show) (c Credentials, err error) {
	if user == 0 {
		return c, errAnonymous
	}
	form := newForm(body)
	form.repeated("passwordConfirmation", "password")
	password, current := form.password("password"), form.text("currentPassword")
	form.only("currentPassword", "password", "passwordConfirmation")
	if err := form.err(); err != nil {
		return c, err
	}
	var who account
	err = u.o.Store.View(func(s *store.Snapshot) error {
		r := u.Row(s, user)
		if !r.Exists() {
			return errGone
		}
		who = u.account(r)
		return nil
	})
	if err != nil {
		return c, err
	}
	switch same, err := who.hasPassword(ctx, u.o.Documents.Passwords, current); {
	case err != nil:
		return c, err
	case !same:
		return c, apierror.Validation("The provided current password is invalid")
	case current == password:
		return c, apierror.Validation("Your new password must be different than your current password")
	}
	data := jsontree.NewObject()
	data.Set("password", password)
	data.Set(u.resetCode.Name, nil) // whoever could read the mailbox until now must not change it back
	return u.updateAndIssue(ctx, data, show, func(s *store.Snapshot) (store.Record, error) {
		now := u.Row(s, who.id)
		if string(now.JSON(u.password)) != string(who.hash) {
			return now, errGone // another request changed it first
		}
		return now, nil
	})
}

// updateAndIssue changes the user that find returns, and returns credentials for them.
func (u *Users) updateAndIssue(ctx context.Context, data *jsontree.Object, show Show,
	find func(*store.Snapshot) (store.Record, error)) (c Credentials, err error) {
	made, err := u.update(ctx, data, show, find)
	if err != nil {
		return c, err
	}
	return u.issue(ctx, made, randomName())
}

// update changes the user that find returns. A new password ends their sessions. find is called in the transaction of
// the change, perhaps more than once; its error is returned.
func (u *Users) update(ctx context.Context, data *jsontree.Object, show Show,
	find func(*store.Snapshot) (store.Record, error)) (made account, err error) {
	p, err := u.prepare(ctx, data, show, &made)
	if err != nil {
		return made, err
	}
	_, ends := data.Get("password")
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		r, err := find(tx.Snapshot)
		if err != nil {
			return err
		}
		documentID := r.DocumentID()
		if err := tx.Update(documentID, p); err != nil || !ends {
			return err
		}
		_, err = u.endSessions(tx, documentID, anySession)
		return err
	})
	return made, err
}

// ForgotPassword answers {email} and queues a mail with a code if a user has that address. The answer does not reveal
// whether one has: it is sent before the user is looked up.
func (u *Users) ForgotPassword(body any) error {
	form := newForm(body)
	email := lower(form.email("email"))
	form.only("email")
	if err := form.err(); err != nil {
		return err
	}
	u.mails.add(func(ctx context.Context, u *Users) error { return u.sendReset(ctx, email) })
	return nil
}

func (u *Users) sendReset(ctx context.Context, email string) error {
	code := newCode(u.o.Now())
	who, err := u.setCode(ctx, email, u.resetCode, code, func(a *account) bool { return !a.blocked })
	if err != nil || who.id == 0 {
		return err
	}
	return u.sender.send(ctx,
		u.o.Settings.Mail.Reset.write(who.email, u.values(who, cmp.Or(u.o.Settings.ResetURL, u.o.ServerURL()), code)))
}

// setCode stores a code in the attribute a of the user with this address and returns the user. who.id is 0 if there is
// no such user or may returns false.
func (u *Users) setCode(ctx context.Context, email string, a *contenttypes.Attribute, code string,
	may func(*account) bool) (who account, err error) {
	data := jsontree.NewObject()
	data.Set(a.Name, digestOfCode(code))
	p, err := u.prepare(ctx, data, nil, nil)
	if err != nil {
		return who, err
	}
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		who = account{}
		r := u.with(tx.Snapshot, u.email, email)
		if !r.Exists() {
			return nil
		}
		found := u.account(r)
		if !may(&found) {
			return nil
		}
		who = found
		return tx.Update(found.documentID, p)
	})
	if err != nil {
		return account{}, fmt.Errorf("store a code to be sent: %w", err)
	}
	return who, nil
}

// values returns the values for the placeholders of a mail.
func (u *Users) values(who account, url, code string) map[string]string {
	return map[string]string{
		"URL": url, "TOKEN": code, "CODE": code, "USER.username": who.username, "USER.email": who.email,
		"SERVER_URL": u.o.ServerURL(),
	}
}

// ResetPassword answers {code, password, passwordConfirmation} with credentials. The code works once. The password is
// hashed before the code is looked up, so that a wrong code takes as long as a right one.
func (u *Users) ResetPassword(ctx context.Context, body any, show Show) (c Credentials, err error) {
	form := newForm(body)
	form.repeated("passwordConfirmation", "password")
	password, code := form.password("password"), form.text("code")
	form.only("code", "password", "passwordConfirmation")
	if err := form.err(); err != nil {
		return c, err
	}
	data := jsontree.NewObject()
	data.Set("password", password)
	data.Set("resetPasswordToken", nil)
	return u.updateAndIssue(ctx, data, show, func(s *store.Snapshot) (store.Record, error) {
		r := u.withCode(s, u.resetCode, code)
		if !r.Exists() || isTrue(r, u.blocked) || u.isLate(code) {
			return r, errCode
		}
		return r, nil
	})
}

// codeLife is how long a code can be used to set a new password.
const codeLife = time.Hour

// newCode makes a code to send by mail: its creation time and 256 random bits.
func newCode(now time.Time) string {
	var b [32]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return strconv.FormatInt(now.Unix(), 36) + "_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// isLate reports whether a code is older than codeLife. A code that an administrator wrote into the user's document has
// no creation time and is never late.
func (u *Users) isLate(code string) bool {
	made, random, ok := strings.Cut(code, "_")
	seconds, err := strconv.ParseInt(made, 36, 64)
	return ok && err == nil && len(random) == 43 && u.o.Now().Sub(time.Unix(seconds, 0)) > codeLife
}

const digestMark = "sha256:"

// digestOfCode returns what is stored of a code: a digest, which is of no use to a reader of the store.
func digestOfCode(code string) string {
	sum := sha256.Sum256([]byte(code))
	return digestMark + base64.RawURLEncoding.EncodeToString(sum[:])
}

// withCode returns the user with this code: one that was sent by mail, or one that an administrator stored.
func (u *Users) withCode(s *store.Snapshot, a *contenttypes.Attribute, code string) store.Record {
	if r := u.with(s, a, digestOfCode(code)); r.Exists() || strings.HasPrefix(code, digestMark) {
		return r
	}
	return u.with(s, a, code)
}
