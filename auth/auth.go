// Package auth authenticates requests, decides what they may do, and manages users and roles.
//
// A request has no credential (the public role) or a bearer token: an API token or the JWT of a user. An Authenticator
// turns it into a Principal, with the permission.Access that all other packages check:
//
//	tokens, err := auth.OpenTokens(auth.TokenOptions{Store: st, Documents: docs, Model: model})
//	users, err := auth.OpenUsers(ctx, auth.UserOptions{Store: st, Documents: docs, Model: model, Secret: secret})
//	authenticate := (&auth.Authenticator{Users: users, Tokens: tokens}).Authenticate
//
// An Access is compiled when roles or tokens change, not when a request arrives. Authenticate works in memory; it reads
// the user of a JWT from the store only on the first request after a commit.
//
// The methods of Users serve the routes by which users register, log in, change and reset their passwords and confirm
// their addresses, and the routes that administer users and roles. They take request bodies as clients sent them.
package auth

import (
	"net/http"
	"strings"
	"time"

	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/store"
)

// An Authenticator authenticates requests: it returns the sender of a request and what they may do. It is safe for
// concurrent use.
type Authenticator struct {
	Users  *Users // nil if the project has no users
	Roles  *Roles // roles of requests without a token; used only if the project has no users
	Tokens *Tokens
	// Previews makes and checks the tokens of previews; nil: there are none.
	Previews *Previews
	Owners   *Owners          // nil: there are none
	Now      func() time.Time // the clock for rules of access; nil means time.Now
}

// A Principal is the sender of a request and what they may do.
type Principal struct {
	Access *permission.Access
	User   User   // zero for requests without credential and for API tokens
	Token  string // the name of the API token; "" for requests without one
}

// A User is the user whose JWT a request carries.
type User struct {
	ID       uint64 // id of the user's row; never 0
	Username string
	Role     string // type of their role, as in config/permissions.yaml: authenticated
}

var (
	// errCredentials is the answer to an unknown or invalid bearer token, on public routes too, since a client that
	// sends a credential expects it to work. The answer does not say what is wrong with it.
	errCredentials = &apierror.Error{
		Status: http.StatusUnauthorized, Name: "UnauthorizedError", Message: "Missing or invalid credentials",
		Reason: apierror.Credential,
	}
	// errGone is the answer to a valid JWT whose user was deleted or blocked, or has changed their password since.
	errGone = &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError",
		Message: "Invalid credentials", Reason: apierror.Account}
)

// Authenticate returns the sender of r and what they may do. A request without credential has the public role. For an
// unknown, expired or revoked token it returns an *apierror.Error with status 401, and for the token of a preview one
// with status 403.
func (a *Authenticator) Authenticate(r *http.Request) (Principal, error) {
	return a.sender(r, false)
}

// sender returns the sender of a request. It reads the header once, since every request pays for that.
func (a *Authenticator) sender(r *http.Request, previews bool) (Principal, error) {
	key, ok := Bearer(r.Header.Get("Authorization"))
	if !ok {
		access, err := a.public()
		if err != nil {
			return Principal{}, err
		}
		return Principal{Access: access.At(a.Now)}, nil
	}
	if isPreview(key) {
		if !previews {
			return Principal{}, errOnlyReads
		}
		return a.preview(key)
	}
	if p, ok := a.Tokens.Principal(key); ok {
		return p, nil
	}
	if p, ok := a.Owners.principal(key); ok {
		return p, nil
	}
	if a.Users == nil {
		return Principal{}, errCredentials
	}
	return a.Users.identify(key)
}

func (a *Authenticator) public() (*permission.Access, error) {
	if a.Users == nil {
		return a.Roles.Access(PublicRole), nil
	}
	table, err := a.Users.roles.current()
	if err != nil {
		return nil, err
	}
	return table.public(), nil
}

// identify returns the user of a JWT and what they may do.
func (u *Users) identify(token string) (p Principal, err error) {
	k, ok := u.signer.verify(token)
	if !ok {
		return p, errCredentials
	}
	table, err := u.roles.current()
	if err != nil {
		return p, err
	}
	b := k.bearer.Load()
	if b == nil || b.revision != u.o.Store.Revision() || b.table != table {
		if b, err = u.bearer(k.claims, table, b); err != nil {
			return p, err
		}
		k.bearer.Store(b)
	}
	return Principal{Access: b.access.At(u.o.Now), User: User{ID: k.user, Username: b.username, Role: b.role}}, nil
}

// bearer reads the user of a token from the store and checks that they may use it. last is the result of the last time;
// nil for none.
func (u *Users) bearer(c claims, table *roleTable, last *bearer) (*bearer, error) {
	b := &bearer{revision: u.o.Store.Revision(), table: table} // read before the snapshot: see Store.Revision
	err := u.o.Store.View(func(s *store.Snapshot) error {
		r := u.Row(s, c.user)
		if !r.Exists() && c.session != "" {
			return errCredentials
		}
		if !r.Exists() || isTrue(r, u.blocked) || u.o.Settings.EmailConfirmation && !isTrue(r, u.confirmed) ||
			!u.signer.isOf(c, r.JSON(u.password)) {
			return errGone
		}
		b.username = textOf(r, u.username)
		access, kind := table.of(u.roleOf(s, r))
		b.role = kind
		b.bind(access, u.valuesOf(s, r, access.Variables()), last)
		return nil
	})
	return b, err
}

// roleOf returns the id of the role of a user, 0 if they have none.
func (u *Users) roleOf(s *store.Snapshot, user store.Record) (role uint64) {
	s.LinksFrom(u.role, store.PublishedLinks, user.Ref(), func(l store.Link) bool {
		role = l.To.Doc
		return false
	})
	return role
}

// Bearer returns the credential in an Authorization header. A header with another scheme, without a credential or with
// more than two words has none.
func Bearer(header string) (credential string, ok bool) {
	scheme, rest := cutWord(header)
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	credential, rest = cutWord(rest)
	if more, _ := cutWord(rest); credential == "" || more != "" {
		return "", false
	}
	return credential, true
}

// cutWord returns the first word of s and the rest after it. Blanks before the word are dropped.
func cutWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
