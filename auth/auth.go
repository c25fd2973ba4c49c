// Package auth says who asks and what they may do.
//
// A request carries no credential (the public role), or a bearer: an API token, or the JWT of a user. An Authenticator turns
// the request into the permission.Access that everything else is held to:
//
//	tokens, err := auth.OpenTokens(auth.TokenOptions{Store: st, Documents: docs, Model: model})
//	users, err := auth.OpenUsers(ctx, auth.UserOptions{Store: st, Documents: docs, Model: model, Secret: secret})
//	authenticate := (&auth.Authenticator{Users: users, Tokens: tokens}).Authenticate
//
// What an Access allows is compiled when roles change and when a token is made, not when a request comes in. Authenticate
// touches no disk, but for the user of a JWT, who is looked up again whenever something was written since the last time.
//
// Users also does what users ask for (to register, log in, change and reset their passwords, confirm their addresses), and what others
// do with users and roles. Its methods take bodies as they were sent, and their errors say what is wrong with them.
package auth

import (
	"net/http"
	"strings"

	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/store"
)

// An Authenticator finds out who sent a request.
type Authenticator struct {
	Users  *Users // nil where there are none
	Roles  Roles  // what everybody may who has no token, where there are no users
	Tokens *Tokens
}

// A Principal is who sent a request.
type Principal struct {
	Access *permission.Access
	User   User // zero for the public and for API tokens
}

// A User is who sent a request with the token of somebody who logged in.
type User struct {
	ID       uint64 // of the user's row; never 0
	Username string
	Role     string // its type, as config/permissions.yaml names it: authenticated
}

var (
	// errCredentials is the answer to a bearer that is not known or no longer valid, on public routes too: a client that
	// sends a credential wants to be told that it does not work. What is wrong with it is not told.
	errCredentials = &apierror.Error{
		Status: http.StatusUnauthorized, Name: "UnauthorizedError", Message: "Missing or invalid credentials",
	}
	// errGone is the answer to a JWT that is valid, but whose user is gone, blocked, or has another password by now.
	errGone = &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError", Message: "Invalid credentials"}
)

// Authenticate returns what the sender of r may do: what the public role may for a request without credential. An unknown,
// expired or revoked bearer is an *apierror.Error 401.
func (a *Authenticator) Authenticate(r *http.Request) (*permission.Access, error) {
	p, err := a.Identify(r)
	return p.Access, err
}

// Identify is Authenticate that also says which user it is.
func (a *Authenticator) Identify(r *http.Request) (Principal, error) {
	key, ok := Bearer(r.Header.Get("Authorization"))
	if !ok {
		access, err := a.public()
		return Principal{Access: access}, err
	}
	if access, ok := a.Tokens.Access(key); ok {
		return Principal{Access: access}, nil
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

// identify finds the user of a JWT.
func (u *Users) identify(token string) (p Principal, err error) {
	k, ok := u.signer.verify(token)
	if !ok {
		return p, errCredentials
	}
	b := k.bearer.Load()
	if b == nil || b.revision != u.o.Store.Revision() {
		if b, err = u.bearer(k.claims); err != nil {
			return p, err
		}
		k.bearer.Store(b)
	}
	table, err := u.roles.current()
	if err != nil {
		return p, err
	}
	access, role := table.of(b.role)
	return Principal{Access: access, User: User{ID: k.user, Username: b.username, Role: role}}, nil
}

// bearer looks up whether the user of a token may use it.
func (u *Users) bearer(c claims) (*bearer, error) {
	b := &bearer{revision: u.o.Store.Revision()} // taken before the snapshot: see Store.Revision
	err := u.o.Store.View(func(s *store.Snapshot) error {
		r := u.Row(s, c.user)
		if !r.Exists() || isTrue(r, u.blocked) || u.o.Settings.EmailConfirmation && !isTrue(r, u.confirmed) ||
			!u.signer.isOf(c, r.JSON(u.password)) {
			return errGone
		}
		b.username = textOf(r, u.username)
		s.LinksFrom(u.role, store.Published, r.Ref(), func(l store.Link) bool {
			b.role = l.To.Doc
			return false
		})
		return nil
	})
	return b, err
}

// Bearer takes the credential out of an Authorization header. Another scheme, none, or more than two words count as no
// credential at all.
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

// cutWord splits s behind its first word; blanks before the word are dropped.
func cutWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
