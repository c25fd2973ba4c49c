package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/lru"
	"lectern/store"
)

// A preview lets a front end show the draft of one document to somebody who has no account there. Its token is neither
// a JWT nor a key: it names the document and who made it, and is signed by a secret of its own. It is stored nowhere:
// each server with the secret can check it. What it shows is decided at each use by what its maker may do then.

// errOnlyReads is the answer to the token of a preview where it is no credential.
var errOnlyReads = &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError", Reason: apierror.Permission,
	Message: "The token of a preview reads the document that it was made for, and nothing else"}

// PreviewOptions are the arguments of NewPreviews.
type PreviewOptions struct {
	Model    *contenttypes.Model
	Secret   []byte        // of the project, from which that of previews is derived
	Lifespan time.Duration // how long a token works
	Now      func() time.Time
}

// Previews makes and checks the tokens of previews.
type Previews struct {
	PreviewOptions
	key  []byte
	kept *lru.Cache[previewOf, *permission.Access]
}

// NewPreviews returns the Previews of a project.
func NewPreviews(o PreviewOptions) *Previews {
	mac := hmac.New(sha256.New, o.Secret)
	mac.Write([]byte("tokens of previews"))
	return &Previews{o, mac.Sum(nil), lru.New[previewOf, *permission.Access](maxPreviews, 4*maxPreviews)}
}

// maxPreviews is how many Accesses are kept, so that caches by Access find what they have.
const maxPreviews = 256

// previewOf identifies the Access of a preview by that of its maker.
type previewOf struct {
	maker      *permission.Access
	typ        *contenttypes.ContentType
	documentID string
}

// previewClaims are what a token of a preview says. The maker is a user, an API token or, without both, the public.
type previewClaims struct {
	Type       string `json:"t"`
	DocumentID string `json:"d"`
	Expires    int64  `json:"e"`           // unix seconds
	User       uint64 `json:"u,omitempty"` // id of the user's row
	Stamp      string `json:"s,omitempty"` // of the user's password, as in a JWT
	Session    string `json:"n,omitempty"` // key of the user's session
	Key        string `json:"k,omitempty"` // the beginning of the digest of the API token's key, in hexadecimal
}

// previewPrefix begins each token of a preview.
const previewPrefix = "preview_"

// previewMAC is the length of the signature of a token.
const previewMAC = 16

// previewKey is the length of previewClaims.Key.
const previewKey = 32

// PreviewsOf returns a function that makes previews for the sender of a request, who was authenticated: it returns the
// token for a document, and when that expires.
func (a *Authenticator) PreviewsOf(r *http.Request) func(*contenttypes.ContentType, string) (string, time.Time, error) {
	return func(t *contenttypes.ContentType, documentID string) (token string, expires time.Time, err error) {
		expires = a.Previews.Now().Add(a.Previews.Lifespan).Truncate(time.Second)
		c := previewClaims{Type: t.UID, DocumentID: documentID, Expires: expires.Unix()}
		if key, ok := Bearer(r.Header.Get("Authorization")); !ok {
			// the public
		} else if d, ok := digestOf(key); ok {
			c.Key = d.String()[:previewKey]
		} else if err := a.claimUser(&c, key); err != nil {
			return "", expires, err
		}
		text, err := json.Marshal(c)
		if err != nil {
			return "", expires, err
		}
		signed := append(a.Previews.sign(text), text...)
		return previewPrefix + base64.RawURLEncoding.EncodeToString(signed), expires, nil
	}
}

// claimUser sets the user of a JWT as the maker of a preview.
func (a *Authenticator) claimUser(c *previewClaims, jwt string) error {
	if a.Users == nil {
		return errCredentials
	}
	k, ok := a.Users.signer.verify(jwt)
	if !ok {
		return errCredentials
	}
	c.User, c.Stamp, c.Session = k.user, k.stamp, k.session
	return nil
}

func (p *Previews) sign(text []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write(text)
	return mac.Sum(nil)[:previewMAC]
}

// read returns what a token says; ok is false if it is not valid.
func (p *Previews) read(token string) (c previewClaims, ok bool) {
	if len(token) > maxJWT {
		return c, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, previewPrefix))
	if err != nil || len(raw) < previewMAC || !hmac.Equal(p.sign(raw[previewMAC:]), raw[:previewMAC]) {
		return c, false
	}
	err = json.Unmarshal(raw[previewMAC:], &c)
	return c, err == nil && p.Now().Unix() < c.Expires
}

func isPreview(key string) bool { return strings.HasPrefix(key, previewPrefix) }

// AuthenticateReader does what Authenticate does for routes that read content: they take the tokens of previews, too.
func (a *Authenticator) AuthenticateReader(r *http.Request) (Principal, error) {
	return a.sender(r, a.Previews != nil)
}

// preview returns the sender of a request with the token of a preview.
func (a *Authenticator) preview(token string) (p Principal, err error) {
	c, ok := a.Previews.read(token)
	if !ok {
		return p, errCredentials
	}
	t := a.Previews.Model.Type(c.Type)
	if t == nil {
		return p, errCredentials
	}
	maker, err := a.maker(c)
	if err != nil {
		return p, err
	}
	if !maker.Allows(t, permission.PreviewAction) {
		return p, apierror.Forbidden()
	}
	of := previewOf{maker, t, c.DocumentID}
	access, ok := a.Previews.kept.Get(of)
	if !ok {
		access = maker.Preview(t, c.DocumentID)
		a.Previews.kept.Add(of, access, 1)
	}
	return Principal{Access: access}, nil
}

// maker returns what the maker of a preview may do now.
func (a *Authenticator) maker(c previewClaims) (*permission.Access, error) {
	switch {
	case c.Key != "":
		return a.Tokens.made(c.Key)
	case c.User == 0:
		access, err := a.public()
		if err != nil {
			return nil, err
		}
		return access.At(a.Now), nil
	case a.Users == nil:
		return nil, errCredentials
	}
	return a.Users.made(c)
}

// made returns what the user who has made a preview may do now.
func (u *Users) made(c previewClaims) (*permission.Access, error) {
	if c.Session != "" {
		var s session
		found := false
		err := u.o.Store.View(func(snap *store.Snapshot) error {
			s, found = u.sessions.withKey(snap, c.Session)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if !found || u.isOver(&s) {
			return nil, errCredentials
		}
	}
	table, err := u.roles.current()
	if err != nil {
		return nil, err
	}
	b, err := u.bearer(claims{user: c.User, session: c.Session, stamp: c.Stamp}, table, nil)
	if err != nil {
		return nil, err
	}
	return b.access.At(u.o.Now), nil
}

// made returns what the API token may do whose key has a digest that begins so.
func (t *Tokens) made(begins string) (*permission.Access, error) {
	var slot [8]byte
	if _, err := hex.Decode(slot[:], []byte(begins)[:min(len(begins), 2*len(slot))]); err != nil {
		return nil, errCredentials
	}
	for _, e := range t.table.Load().entries[slot] {
		if e.hash.String()[:previewKey] == begins && (e.expires == 0 || t.o.Now().Unix() < e.expires) {
			return e.access.At(t.o.Now), nil
		}
	}
	return nil, errCredentials
}
