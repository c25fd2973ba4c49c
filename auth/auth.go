// Package auth says who asks and what they may do.
//
// A request carries no credential (the public role), or a bearer: an API token. An Authenticator turns the request into
// the documents.Access that everything else is held to:
//
//	actions := auth.ActionsOf(model)
//	roles := auth.CompileRoles(granted)
//	tokens, err := auth.OpenTokens(auth.TokenOptions{Store: st, Documents: docs, Model: model})
//	authenticate := (&auth.Authenticator{Roles: roles, Tokens: tokens}).Authenticate
//
// Authenticate touches neither disk nor lock: what an Access allows is compiled when roles are read and when a token is
// made, not when a request comes in.
package auth

import (
	"net/http"
	"strings"

	"lectern/documents"
)

// An Authenticator finds out who sent a request.
type Authenticator struct {
	Roles  Roles
	Tokens *Tokens
}

// errCredentials is the answer to a bearer that is not known or no longer valid, on public routes too: a client that
// sends a credential wants to be told that it does not work. What is wrong with it is not told.
var errCredentials = &documents.Error{
	Status: http.StatusUnauthorized, Name: "UnauthorizedError", Message: "Missing or invalid credentials",
}

// Authenticate returns what the sender of r may do: what the public role may for a request without credential. An unknown,
// expired or revoked bearer is a *documents.Error 401.
func (a *Authenticator) Authenticate(r *http.Request) (*documents.Access, error) {
	key, ok := Bearer(r.Header.Get("Authorization"))
	if !ok {
		return a.Roles.Access(PublicRole), nil
	}
	if access, ok := a.Tokens.Access(key); ok {
		return access, nil
	}
	return nil, errCredentials
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
