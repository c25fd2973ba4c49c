package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// SessionSettings are the settings of sessions. With them a login begins a session: it answers with a JWT that works
// for a short time, and with a refresh token that gets the next JWT, and the next refresh token, once.
type SessionSettings struct {
	On     bool          // otherwise there are none, and a JWT works for UserSettings.Lifespan
	Access time.Duration // validity of a JWT
	Idle   time.Duration // how long a refresh token works
	Max    time.Duration // how long a session can be refreshed, from its login
}

// maxSessions is how many sessions a user can have. When another begins, the one ends that was inactive for longest.
const maxSessions = 100

// reuseAfter is how long after a refresh the token before it may still come: two tabs refresh at once, or a client
// sends a request again whose answer it did not get. When it comes later, somebody has a copy of it.
const reuseAfter = time.Minute

// maxDevice is the length to which clients may name a device, in bytes.
const maxDevice = 255

var (
	errNoRefresh = &apierror.Error{Status: http.StatusBadRequest, Name: "BadRequestError",
		Message: "Missing refresh token"}
	// errRefresh is the answer to a refresh token that does not work, for whatever reason.
	errRefresh = &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError",
		Message: "Invalid refresh token", Reason: apierror.Credential}
	// errReused means that the session of a refresh token must end: see reuseAfter. Clients get errRefresh.
	errReused  = errors.New("a refresh token was used again")
	errNoLogin = &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError",
		Message: "Missing authentication", Reason: apierror.Anonymous}
	errNoSession = &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "Session not found"}
)

// A sessionKind says which kinds of tokens a session has. Tokens of one kind of session are refused for another.
type sessionKind struct{ access, refresh string }

var (
	apiSession  = sessionKind{access, refresh}
	deskSession = sessionKind{deskAccess, deskRefresh}
)

// beginSession stores a session of a user and returns its first credentials.
func (u *Users) beginSession(ctx context.Context, who account, device string, kind sessionKind) (c Credentials,
	err error) {
	now := u.o.Now()
	s := session{key: randomName(), user: who.documentID, device: device, login: now}
	if c, err = u.renew(&s, &who, now, kind); err != nil {
		return c, err
	}
	p, err := u.prepareSession(ctx, s.data())
	if err != nil {
		return c, err
	}
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		r := u.Row(tx.Snapshot, who.id)
		if !r.Exists() || isTrue(r, u.blocked) || string(r.JSON(u.password)) != string(who.hash) {
			return errGone // the user was deleted, blocked, or given another password in the meantime
		}
		if err := u.makeRoom(tx, who.documentID, now); err != nil {
			return err
		}
		return tx.Create(p)
	})
	if err != nil {
		return Credentials{}, err
	}
	return c, nil
}

// randomName returns a name that nobody can guess.
func randomName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return hex.EncodeToString(b[:])
}

func (u *Users) prepareSession(ctx context.Context, data *jsontree.Object) (*documents.Prepared, error) {
	return u.o.Documents.Prepare(ctx, documents.Write{Type: u.sessions.typ, Data: data, Access: permission.FullAccess})
}

// Refresh returns the next credentials of the session with this refresh token, which works no longer. Of several calls
// with one token, one succeeds. A token that comes again after reuseAfter ends the session: whoever has stolen a token
// may have refreshed it first, and nobody else would notice.
func (u *Users) Refresh(ctx context.Context, token string) (c Credentials, err error) {
	if !u.o.Settings.Sessions.On {
		return c, apierror.NotFound()
	}
	return u.refresh(ctx, token, apiSession)
}

// refresh is Refresh for sessions of a kind.
func (u *Users) refresh(ctx context.Context, token string, kind sessionKind) (c Credentials, err error) {
	if token == "" {
		return c, errNoRefresh
	}
	named, ok := u.signer.parse(token, kind.refresh)
	if !ok {
		return c, errRefresh
	}
	var s session
	var who account
	err = u.o.Store.View(func(snap *store.Snapshot) error {
		s, who, err = u.refreshed(snap, named, token)
		return err
	})
	if errors.Is(err, errReused) {
		_, err = u.endSome(ctx, named.user, func(s *session) bool { return s.key == named.session })
		return c, cmp.Or(err, error(errRefresh))
	}
	if err != nil {
		return c, err
	}
	if c, err = u.renew(&s, &who, u.o.Now(), kind); err != nil {
		return c, err
	}
	p, err := u.prepareSession(ctx, s.renewal())
	if err != nil {
		return c, err
	}
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		switch _, _, err := u.refreshed(tx.Snapshot, named, token); {
		case errors.Is(err, errReused):
			return errRefresh
		case err != nil:
			return err // another request was faster
		}
		return tx.Update(s.documentID, p)
	})
	if err != nil {
		return Credentials{}, err
	}
	return c, nil
}

// refreshed returns the session that a refresh token belongs to, and its user. It returns errRefresh if the session is
// over, or the user may not use it, or the token works no longer; errReused if the token has not worked for long.
func (u *Users) refreshed(snap *store.Snapshot, named claims, token string) (s session, who account, err error) {
	r := u.Row(snap, named.user)
	if !r.Exists() || !u.signer.isOf(named, r.JSON(u.password)) {
		return s, who, errRefresh
	}
	who = u.account(r)
	s, ok := u.sessions.withKey(snap, named.session)
	switch {
	case !ok, s.user != who.documentID, u.isOver(&s), who.blocked,
		u.o.Settings.EmailConfirmation && !who.confirmed:
		return s, who, errRefresh
	case s.hash != digestOfCode(token) && u.o.Now().Sub(s.active) > reuseAfter:
		return s, who, errReused
	case s.hash != digestOfCode(token):
		return s, who, errRefresh
	}
	return s, who, nil
}

func (u *Users) isOver(s *session) bool { return !u.o.Now().Before(s.end(u.o.Settings.Sessions)) }

// A Session is a session as its user sees it.
type Session struct {
	ID           string    `json:"id"`
	Device       string    `json:"deviceId"` // "" if the client did not name it
	Current      bool      `json:"current"`  // it is the session of the request
	LoginAt      time.Time `json:"loginAt"`
	LastActiveAt time.Time `json:"lastActiveAt"` // of its last refresh, or the login
}

// MayRefresh reports whether the public may refresh sessions, without which they end with their first JWT. The public
// of a store that was made before there were sessions may not, unless it is granted.
func (u *Users) MayRefresh() (bool, error) {
	table, err := u.roles.current()
	return err == nil && table.public().AllowsAction(authActions+".refresh"), err
}

// SessionOf returns the key of the session whose JWT a request has; "" if it has none.
func (u *Users) SessionOf(r *http.Request) string {
	token, _ := Bearer(r.Header.Get("Authorization"))
	if k, ok := u.signer.verify(token); ok {
		return k.session
	}
	return ""
}

// Sessions returns the sessions of a user: first the one with the key current, which is that of the request, then those
// that were active last.
func (u *Users) Sessions(who User, current string) (list []Session, err error) {
	if err := u.haveSessions(who); err != nil {
		return nil, err
	}
	err = u.o.Store.View(func(snap *store.Snapshot) error {
		list = nil
		for _, s := range u.sessionsOf(snap, who.ID) {
			list = append(list, Session{s.key, s.device, s.key == current, s.login, s.active})
		}
		return nil
	})
	if i := slices.IndexFunc(list, func(s Session) bool { return s.Current }); i > 0 {
		first := list[i]
		list = slices.Insert(slices.Delete(list, i, i+1), 0, first)
	}
	return list, err
}

// haveSessions returns an error if there are no sessions, or who is no user.
func (u *Users) haveSessions(who User) error {
	switch {
	case !u.o.Settings.Sessions.On:
		return apierror.NotFound()
	case who.ID == 0:
		return errNoLogin
	}
	return nil
}

// RevokeSession ends the session of a user with this id. JWTs that were issued in it work until they expire.
func (u *Users) RevokeSession(ctx context.Context, who User, id string) error {
	if err := u.haveSessions(who); err != nil {
		return err
	}
	n, err := u.endSome(ctx, who.ID, func(s *session) bool { return s.key == id })
	if err == nil && n == 0 {
		err = errNoSession
	}
	return err
}

// Logout ends sessions of a user: with {scope: "all"} all of them, with {deviceId} those of that device, otherwise the
// one with the key current, which is that of the request. JWTs that were issued in them work until they expire.
func (u *Users) Logout(ctx context.Context, who User, current string, body any) error {
	if err := u.haveSessions(who); err != nil {
		return err
	}
	sent, _ := body.(*jsontree.Object)
	which := func(s *session) bool { return s.key == current }
	if device := textIn(sent, "deviceId"); device != "" {
		which = func(s *session) bool { return s.device == device }
	}
	if textIn(sent, "scope") == "all" {
		which = anySession
	}
	_, err := u.endSome(ctx, who.ID, which)
	return err
}

// textIn returns a text of an object, "" if there is none.
func textIn(o *jsontree.Object, key string) string {
	if o == nil {
		return ""
	}
	s, _ := o.Value(key).(string)
	return s
}

// readDevice reads what a client calls the device on which a user logs in. Only a text names one. Without sessions it
// is ignored.
func (u *Users) readDevice(form *form) string {
	device := textIn(form.body, "deviceId")
	if len(device) > maxDevice && u.o.Settings.Sessions.On {
		form.issue([]string{"deviceId"}, "deviceId must be at most 255 bytes long", device)
	}
	return device
}
