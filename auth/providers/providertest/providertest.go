// Package providertest has a small provider of OpenID Connect for tests, which logs everybody in at once and can be
// made to give wrong answers.
package providertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that a Provider knows.
const (
	ClientID     = "lectern"
	ClientSecret = "the secret of a client of tests"
)

// A Provider is a provider at an address of this machine. Tests set its fields between requests.
type Provider struct {
	*httptest.Server
	Now func() time.Time // nil means time.Now

	// Claims are added to the id_token, in place of those that the provider sets itself; nil values are left out.
	// UserInfo is the answer of the userinfo endpoint.
	Claims, UserInfo map[string]any
	// Answer answers requests in place of the provider, if it is set and returns true.
	Answer func(http.ResponseWriter, *http.Request) bool
	// Methods are how the provider says that clients authenticate. It takes the first of them alone.
	Methods []string

	mutex sync.Mutex
	key   *ecdsa.PrivateKey
	keyID int
	codes map[string]login
	calls map[string]int
}

// A login is what the provider remembers of a request for authorization.
type login struct{ nonce, challenge, redirect string }

// New starts a provider, which ends with the test.
func New(t testing.TB) *Provider {
	p := &Provider{codes: map[string]login{}, calls: map[string]int{}, Methods: []string{"client_secret_basic"}}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { send(w, 200, p.UserInfo) })
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		p.calls[r.URL.Path]++
		p.mutex.Unlock()
		if p.Answer == nil || !p.Answer(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// Calls returns how many requests there were for a path.
func (p *Provider) Calls(path string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.calls[path]
}

// Rotate gives the provider another key, and takes the former one away.
func (p *Provider) Rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.key, p.keyID = key, p.keyID+1
}

func (p *Provider) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	send(w, 200, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri": p.URL + "/keys", "userinfo_endpoint": p.URL + "/userinfo",
		"id_token_signing_alg_values_supported": []string{"ES256"},
		"token_endpoint_auth_methods_supported": p.Methods,
	})
}

// authorize sends the browser back at once.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("client_id") != ClientID || query.Get("response_type") != "code" ||
		query.Get("code_challenge_method") != "S256" {
		http.Error(w, "not a request of this client: "+r.URL.RawQuery, 400)
		return
	}
	code := random()
	p.mutex.Lock()
	p.codes[code] = login{query.Get("nonce"), query.Get("code_challenge"), query.Get("redirect_uri")}
	p.mutex.Unlock()
	back := url.Values{"code": {code}, "state": {query.Get("state")}, "iss": {p.URL}}
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, inHeader := r.BasicAuth()
	if id, err := url.QueryUnescape(secret); err == nil {
		secret = id
	}
	if p.Methods[len(p.Methods)-1] == "client_secret_post" {
		id, secret, inHeader = r.FormValue("client_id"), r.FormValue("client_secret"), true
	}
	if !inHeader || id != ClientID || secret != ClientSecret {
		send(w, 401, map[string]any{"error": "invalid_client"})
		return
	}
	code := r.FormValue("code")
	p.mutex.Lock()
	asked, known := p.codes[code]
	delete(p.codes, code) // it works once
	key, keyID := p.key, p.keyID
	p.mutex.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || encode(sum[:]) != asked.challenge || r.FormValue("redirect_uri") != asked.redirect {
		send(w, 400, map[string]any{"error": "invalid_grant", "error_description": "the code is not valid"})
		return
	}
	claims := p.claims(nil)
	if _, set := p.Claims["nonce"]; !set {
		claims["nonce"] = asked.nonce
	}
	send(w, 200, map[string]any{"access_token": random(), "token_type": "Bearer",
		"id_token": sign(key, keyID, claims)})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	point, err := p.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		panic(err)
	}
	send(w, 200, map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig",
		"kid": fmt.Sprint(p.keyID), "x": encode(point[1:33]), "y": encode(point[33:])}}})
}

// IDToken returns an id_token that an app may have got, with these claims in place of those that the provider sets.
func (p *Provider) IDToken(change map[string]any) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return sign(p.key, p.keyID, p.claims(change))
}

// claims returns the claims of an id_token.
func (p *Provider) claims(change map[string]any) map[string]any {
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "sub": "1", "iat": p.now().Unix(),
		"exp": p.now().Add(time.Hour).Unix()}
	maps.Copy(claims, p.Claims)
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// sign returns a JWT.
func sign(key *ecdsa.PrivateKey, keyID int, claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	text := encode(fmt.Appendf(nil, `{"alg":"ES256","kid":"%d"}`, keyID)) + "." + encode(payload)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		panic(err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + encode(signature[:])
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func random() string { return rand.Text() }

func send(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
