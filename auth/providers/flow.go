package providers

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/jsontree"
)

const (
	// StateLife is how long users may take to log in at the provider.
	StateLife = 10 * time.Minute
	// CodeLife is how long the front end may take to trade its code.
	CodeLife = 2 * time.Minute
	// maxCode is how long a code of a provider may be.
	maxCode = 4096
	// maxCallback is how long the address of a page may be: browsers keep no cookie of a longer one.
	maxCallback = 2000
)

// A state is what the browser keeps while the user logs in at the provider.
type state struct {
	State     string `json:"s"`
	Nonce     string `json:"n"`
	Verifier  string `json:"v"`           // of PKCE, between this server and the provider
	Redirect  string `json:"r"`           // the address to which the provider sends the browser back
	Callback  string `json:"c"`           // the page of the front end
	Challenge string `json:"h,omitempty"` // of PKCE, between the front end and this server
}

// A code is what the front end trades for the identity.
type code struct {
	Code      string `json:"c"` // that of the provider
	Nonce     string `json:"n"`
	Verifier  string `json:"v"`
	Redirect  string `json:"r"`
	Challenge string `json:"h,omitempty"`
	Page      string `json:"o"` // origin of the front end
}

// Begin returns the page of the provider where users log in, and a state for Return, which only their browser may get.
// The provider will send the browser back to redirectURI. callback is the page of the front end if it is not the one of
// the settings: another query of that same page. challenge, if there is one, is that of a verifier which the front end
// must show in Finish (RFC 7636, S256).
func (p *Provider) Begin(ctx context.Context, redirectURI, callback, challenge string) (
	location, sealed string, err error) {
	if callback == "" {
		callback = p.Callback
	} else if !samePage(callback, p.Callback) {
		e := apierror.Validation("Invalid callback URL provided")
		e.Details = jsontree.ObjectOf("callback", callback)
		return "", "", e
	}
	if len(callback) > maxCallback {
		return "", "", apierror.Validation("the callback URL is longer than " + strconv.Itoa(maxCallback) + " bytes")
	}
	if challenge != "" && !isChallenge(challenge) {
		return "", "", apierror.Validation("code_challenge must be the SHA-256 of a verifier in base64url: 43 characters")
	}
	config, err := p.config(ctx, redirectURI)
	if err != nil {
		return "", "", err
	}
	st := state{State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(), Redirect: redirectURI,
		Callback: callback, Challenge: challenge}
	var options []oauth2.AuthCodeOption
	if p.preset.profile == nil {
		options = append(options, oauth2.SetAuthURLParam("nonce", st.Nonce))
	}
	if p.usesPKCE() {
		options = append(options, oauth2.S256ChallengeOption(st.Verifier))
	}
	for name, value := range p.preset.params {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	sealed, err = p.seal.seal("state "+p.Name, StateLife, st)
	return config.AuthCodeURL(st.State, options...), sealed, err
}

func (p *Provider) usesPKCE() bool { return p.preset.profile == nil || p.preset.withPKCE }

// isChallenge reports whether s is the SHA-256 of something in base64url.
func isChallenge(s string) bool {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// samePage reports whether two addresses differ in their queries alone.
func samePage(a, b string) bool {
	x, err := url.Parse(a)
	if err != nil || x.User != nil || x.Fragment != "" {
		return false
	}
	y, err := url.Parse(b)
	return err == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host) && x.Path == y.Path
}

// Return takes the query with which the provider has sent the browser back, and the state of its cookie. It returns the
// page of the front end to send the browser on to, with a code for Finish in its query, or with an error. code is that
// same code, "" if there is an error. Return asks the provider nothing.
func (p *Provider) Return(ctx context.Context, sealed string, query url.Values) (location, sealedCode string) {
	var st state
	ok, late := p.seal.open("state "+p.Name, sealed, &st)
	fail := func(page, name, why string) (string, string) {
		p.log.InfoContext(ctx, "login by another provider refused", "provider", p.Name, "error", name+": "+why)
		return withQuery(page, "error", name, "error_description", why), ""
	}
	switch {
	case late:
		return fail(p.Callback, "oauth_error", "the login has taken too long: begin again")
	case !ok, subtle.ConstantTimeCompare([]byte(st.State), []byte(query.Get("state"))) != 1:
		return fail(p.Callback, "oauth_error", "OAuth2 state mismatch")
	case !p.isIssuer(query):
		return fail(st.Callback, "oauth_error", "the answer comes from another provider")
	case query.Get("error") != "":
		return fail(st.Callback, shorten(query.Get("error"), 64), shorten(query.Get("error_description"), 200))
	case query.Get("code") == "" || len(query.Get("code")) > maxCode:
		return fail(st.Callback, "oauth_error", "OAuth2 missing code parameter")
	}
	sealedCode, err := p.seal.seal("code "+p.Name, CodeLife, code{Code: query.Get("code"), Nonce: st.Nonce,
		Verifier: st.Verifier, Redirect: st.Redirect, Challenge: st.Challenge, Page: originOf(st.Callback)})
	if err != nil {
		return fail(st.Callback, "server_error", "the code cannot be sealed")
	}
	return withQuery(st.Callback, "access_token", sealedCode), sealedCode
}

// isIssuer reports whether the answer comes from this provider, as far as it says where it comes from (RFC 9207).
func (p *Provider) isIssuer(query url.Values) bool {
	return p.preset.profile != nil || !query.Has("iss") || query.Get("iss") == p.Issuer
}

func originOf(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// withQuery adds pairs of name and value to the query of a page, in place of those of the same names.
func withQuery(page string, pairs ...string) string {
	u, err := url.Parse(page)
	if err != nil {
		return page
	}
	query := u.Query()
	for _, name := range []string{"access_token", "error", "error_description"} {
		query.Del(name)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Errors of Finish.
var (
	// ErrNoCode is the answer to a request without a code.
	ErrNoCode   = apierror.Application("OAuth authentication requires a completed provider session")
	errLate     = apierror.Application("the login has taken too long: begin again")
	errVerifier = apierror.Application("code_verifier does not fit the code_challenge with which the login began")
)

// A Trade is what the front end sends to Finish.
type Trade struct {
	Code     string // from the query of its page, or from the cookie
	Verifier string // of the challenge that was given to Begin; "" if none was
	// FromCookie says that the browser has sent the code by itself. Then the request must come from a page of Origin.
	FromCookie bool
	Origin     string // header Origin of the request; "" if it has none
}

// Finish trades the code of a page for the identity of the user. The code works once, and only for a short time. If the
// provider does not vouch for the address of the user, Finish returns an *apierror.Error with status 400; if it cannot
// be reached, one with status 503; if its answer cannot be used, one with status 502.
func (p *Provider) Finish(ctx context.Context, t Trade) (id auth.Identity, err error) {
	var c code
	switch ok, late := p.seal.open("code "+p.Name, t.Code, &c); {
	case late:
		return id, errLate
	case !ok:
		return id, apierror.Application("the access_token is none of this server: send the one with which the browser " +
			"came back from /connect/" + p.Name + "; tokens of the provider are not taken")
	case !fits(c.Challenge, t.Verifier):
		return id, errVerifier
	case t.FromCookie && t.Origin != "" && t.Origin != c.Page:
		return id, ErrNoCode
	}
	ctx, end, err := p.work(ctx)
	if err != nil {
		return id, err
	}
	defer end()
	got, err := p.identify(ctx, &c)
	if err != nil {
		return id, err
	}
	return p.identity(ctx, &got)
}

// identity returns who the claims are about, if the provider vouches for the address.
func (p *Provider) identity(ctx context.Context, got *claims) (id auth.Identity, err error) {
	email := strings.TrimSpace(got.Email)
	switch {
	case email == "":
		return id, p.refused(ctx, errNoAddress, "Email was not available.")
	case !bool(got.EmailVerified) && !bool(got.DomainVerified) && !p.TrustAddresses:
		return id, p.refused(ctx, errNotVerified, p.Name+" does not vouch for your email address: "+
			"confirm it there, and log in again")
	}
	return auth.Identity{Provider: p.Name, Email: email, Username: got.username()}, nil
}

// fits reports whether a verifier is that of a challenge. Without a challenge there must be no verifier: a front end
// that sends one would otherwise take a code of a login that it has not begun.
func fits(challenge, verifier string) bool {
	if challenge == "" || verifier == "" {
		return challenge == verifier
	}
	return subtle.ConstantTimeCompare([]byte(oauth2.S256ChallengeFromVerifier(verifier)), []byte(challenge)) == 1
}
