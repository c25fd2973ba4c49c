package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/store"
)

// DeskAction is the action that a role needs for its users to log in at the desk.
const DeskAction = "lectern::desk.use"

// errNoDesk is the answer to a user who may not use the desk, once the password was right.
var errNoDesk = &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError",
	Message: "Your role may not use the desk: it needs the permission " + DeskAction}

// DeskLogin answers {identifier, password} with the first credentials of a session of the desk. There are such sessions
// whatever the settings say of others. They begin like all others, end like them, and are listed among them.
func (u *Users) DeskLogin(ctx context.Context, body any) (Credentials, error) {
	who, _, err := u.checkPassword(ctx, body)
	if err != nil {
		return Credentials{}, err
	}
	return u.beginAtDesk(ctx, who)
}

// DeskLoginAs begins a session of the desk for the user with this name, address or id, who has shown otherwise who they
// are.
func (u *Users) DeskLoginAs(ctx context.Context, identifier string) (c Credentials, err error) {
	var who account
	id, err := u.find(identifier)
	if err != nil {
		return c, err
	}
	err = u.o.Store.View(func(s *store.Snapshot) error {
		r := u.Row(s, id)
		if !r.Exists() || isTrue(r, u.blocked) {
			return errGone
		}
		who = u.account(r)
		return nil
	})
	if err != nil {
		return c, err
	}
	return u.beginAtDesk(ctx, who)
}

func (u *Users) beginAtDesk(ctx context.Context, who account) (c Credentials, err error) {
	table, err := u.roles.current()
	if err != nil {
		return c, err
	}
	err = u.o.Store.View(func(s *store.Snapshot) error {
		if access, _ := table.of(u.roleOf(s, u.Row(s, who.id))); !access.AllowsAction(DeskAction) {
			return errNoDesk
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	return u.beginSession(ctx, who, "desk", deskSession)
}

// DeskRefresh is Refresh for a session of the desk.
func (u *Users) DeskRefresh(ctx context.Context, token string) (Credentials, error) {
	return u.refresh(ctx, token, deskSession)
}

// DeskLogout ends the session of the desk that a refresh token belongs to. It is no error if there is none.
func (u *Users) DeskLogout(ctx context.Context, token string) error {
	named, ok := u.signer.parse(token, deskRefresh)
	if !ok {
		return nil
	}
	_, err := u.endSome(ctx, named.user, func(s *session) bool { return s.key == named.session })
	return err
}

// linkLife is how long a link to the desk works.
const linkLife = 10 * time.Minute

// ownerLife is how long an owner stays logged in without a request to refresh.
const ownerLife = 12 * time.Hour

// maxOwners bounds the links and the owners who are logged in; the oldest go first.
const maxOwners = 100

// ownerPrefix is what the keys of owners begin with.
const ownerPrefix = "lectern_owner_"

// Owners logs people in who can run commands on the server, by links that work once. Such an owner is no user: they may
// do everything, as a token of the type full-access. Links and owners are kept in memory alone, so they end with the
// process. It is safe for concurrent use; a nil *Owners has none.
type Owners struct {
	now func() time.Time

	mu    sync.Mutex
	links map[[sha256.Size]byte]deskLink
	keys  map[[sha256.Size]byte]ownerKey
}

type deskLink struct {
	user string // their name, address or id; "" for an owner
	ends time.Time
}

// An ownerKey is what a key stands for.
type ownerKey struct {
	who  Principal
	ends time.Time
}

// NewOwners returns Owners with no links.
func NewOwners(now func() time.Time) *Owners {
	return &Owners{now: now, links: map[[sha256.Size]byte]deskLink{}, keys: map[[sha256.Size]byte]ownerKey{}}
}

// Link returns a code that logs a browser in, once, within ten minutes: the user of a name, address or id, or an owner
// if user is "".
func (o *Owners) Link(user string) string {
	code := rand.Text()
	o.mu.Lock()
	defer o.mu.Unlock()
	trim(o.links, func(l deskLink) time.Time { return l.ends }, o.now())
	o.links[sha256.Sum256([]byte(code))] = deskLink{user, o.now().Add(linkLife)}
	return code
}

// Open uses a link up. It returns the user whom it logs in, "" for an owner; ok is false if it does not work.
func (o *Owners) Open(code string) (user string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	digest := sha256.Sum256([]byte(code))
	l, ok := o.links[digest]
	delete(o.links, digest)
	return l.user, ok && o.now().Before(l.ends)
}

// Begin returns a new key, by which an owner authenticates requests.
func (o *Owners) Begin() string {
	return o.Lend(Principal{Access: permission.FullAccess, Token: ownerName})
}

// Lend returns a new key that stands for a caller until it ends, for a request of the server to itself.
func (o *Owners) Lend(who Principal) string {
	key := ownerPrefix + rand.Text()
	o.mu.Lock()
	defer o.mu.Unlock()
	trim(o.keys, func(k ownerKey) time.Time { return k.ends }, o.now())
	o.keys[sha256.Sum256([]byte(key))] = ownerKey{who, o.now().Add(ownerLife)}
	return key
}

// Extend makes a key work for longer; ok is false if it does not work.
func (o *Owners) Extend(key string) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	digest := sha256.Sum256([]byte(key))
	k := o.keys[digest]
	if ok = o.now().Before(k.ends); ok {
		k.ends = o.now().Add(ownerLife)
		o.keys[digest] = k
	}
	return ok
}

// End ends a key.
func (o *Owners) End(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.keys, sha256.Sum256([]byte(key)))
}

// trim makes room for one more: it removes what has ended, and the oldest if there are too many.
func trim[T any](m map[[sha256.Size]byte]T, endOf func(T) time.Time, now time.Time) {
	for len(m) > 0 {
		var oldest [sha256.Size]byte
		var ends time.Time
		for digest, v := range m {
			if t := endOf(v); ends.IsZero() || t.Before(ends) {
				oldest, ends = digest, t
			}
		}
		if now.Before(ends) && len(m) < maxOwners {
			return
		}
		delete(m, oldest)
	}
}

// ownerName is how an owner is called where tokens have a name.
const ownerName = "owner (desk)"

// principal returns the owner of a key.
func (o *Owners) principal(key string) (p Principal, ok bool) {
	if o == nil || !strings.HasPrefix(key, ownerPrefix) {
		return p, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.keys[sha256.Sum256([]byte(key))]
	return k.who, o.now().Before(k.ends)
}
