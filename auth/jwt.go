package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/lestrrat-go/jwx/v2/jwt"

	"lectern/documents/permission"
)

// maxJWT is the maximum length of a JWT; longer ones are refused unread.
const maxJWT = 4096

// claims are the contents of a JWT: its user, its session, its expiry, and a stamp of the password that the user had
// when it was made. A new password thus ends it at once.
type claims struct {
	user    uint64 // id of the user's row
	session string // key of the session; "" for a JWT without one
	stamp   string
	expires int64 // unix seconds
}

// The kinds of tokens that users get. Those of sessions have a claim type, and one kind is never taken for another.
const (
	lasting = ""        // a JWT without a session
	access  = "access"  // a JWT of a session, for requests
	refresh = "refresh" // the refresh token of a session

	deskAccess  = "desk"         // a JWT of a session of the desk, for requests
	deskRefresh = "desk-refresh" // the refresh token of such a session
)

// A signer makes and checks JWTs. It accepts only HS256 with its own secret and ignores all other instructions in a
// token's header.
type signer struct {
	secret   []byte
	stampKey []byte
	kind     string // of the JWTs of requests: lasting or access
	now      func() time.Time
	seen     verified
}

func newSigner(secret []byte, kind string, now func() time.Time) *signer {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("stamp of a password"))
	return &signer{secret: secret, stampKey: mac.Sum(nil), kind: kind, now: now}
}

// sign makes a JWT for requests. Its claims have no stamp yet; hash is the stored hash of the user's password.
func (s *signer) sign(c claims, hash []byte) (string, error) {
	return s.signAccess(s.kind, c, hash)
}

// signAccess makes a JWT for requests, of a kind.
func (s *signer) signAccess(kind string, c claims, hash []byte) (string, error) {
	b := jwt.NewBuilder().IssuedAt(s.now())
	if kind == lasting {
		b.Claim("id", c.user)
	}
	return s.build(b, kind, c, hash)
}

// signRefresh makes a refresh token of a kind, no two of which are equal.
func (s *signer) signRefresh(kind string, c claims, hash []byte) (string, error) {
	return s.build(jwt.NewBuilder().JwtID(rand.Text()), kind, c, hash)
}

func (s *signer) build(b *jwt.Builder, kind string, c claims, hash []byte) (string, error) {
	if kind != lasting {
		b.Claim("userId", strconv.FormatUint(c.user, 10)).Claim("sessionId", c.session).Claim("type", kind)
	}
	token, err := b.Expiration(time.Unix(c.expires, 0)).Claim("stamp", s.stamp(hash)).Build()
	if err != nil {
		return "", err
	}
	text, err := jwt.Sign(token, jwt.WithKey(jwa.HS256, s.secret))
	return string(text), err
}

// stamp returns a digest of a password hash. Without the secret it reveals nothing about the hash.
func (s *signer) stamp(hash []byte) string {
	mac := hmac.New(sha256.New, s.stampKey)
	mac.Write(hash)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// isOf reports whether the token was made when hash was the stored hash of the password.
func (s *signer) isOf(c claims, hash []byte) bool {
	return subtle.ConstantTimeCompare([]byte(c.stamp), []byte(s.stamp(hash))) == 1
}

// verify checks the signature and the times of a JWT of a request and returns it; ok is false if it is not valid.
func (s *signer) verify(token string) (k *known, ok bool) {
	if k = s.seen.get(token); k == nil {
		c, ok := s.parse(token, s.kind)
		if !ok {
			c, ok = s.parse(token, deskAccess)
		}
		if !ok {
			return nil, false
		}
		k = s.seen.put(token, &known{claims: c})
	}
	return k, s.now().Unix() < k.expires
}

// parse checks the signature and the times of a token of a kind and returns its claims; ok is false if it is not valid.
func (s *signer) parse(token, kind string) (c claims, ok bool) {
	if len(token) > maxJWT || !isHS256(token) {
		return c, false
	}
	t, err := jwt.ParseString(token, jwt.WithKey(jwa.HS256, s.secret), jwt.WithValidate(false))
	if err == nil {
		// When it was made (iat) is not checked: that may be in the future after the clock was set back.
		err = jwt.Validate(t, jwt.WithClock(jwt.ClockFunc(s.now)), jwt.WithResetValidators(true),
			jwt.WithValidator(jwt.IsExpirationValid()), jwt.WithValidator(jwt.IsNbfValid()))
	}
	if err != nil {
		return c, false
	}
	if c.user, ok = userOf(t, kind); !ok {
		return c, false
	}
	c.expires = t.Expiration().Unix() // 0 if absent: the token has expired
	c.stamp = textClaim(t, "stamp")   // "" if absent: it matches no password
	c.session = textClaim(t, "sessionId")
	return c, c.expires > 0 && (kind == lasting || c.session != "")
}

// userOf returns the user of a token of a kind; ok is false if it is of another kind, or names none.
func userOf(t jwt.Token, kind string) (id uint64, ok bool) {
	if kind != lasting {
		id, ok = ParseID(textClaim(t, "userId"))
		return id, ok && textClaim(t, "type") == kind
	}
	v, _ := t.Get("id")
	n, isNumber := v.(float64)
	if !isNumber || n < 1 || n > 1<<53 || n != math.Trunc(n) {
		return 0, false
	}
	return uint64(n), true
}

// textClaim returns the text of a claim, "" if it is absent or no text.
func textClaim(t jwt.Token, name string) string {
	v, _ := t.Get(name)
	s, _ := v.(string)
	return s
}

// isHS256 reports whether a token is a compact JWS with the algorithm HS256, that is neither encrypted nor JSON.
func isHS256(token string) bool {
	if strings.Count(token, ".") != 2 || token[0] == '{' {
		return false
	}
	message, err := jws.ParseString(token)
	return err == nil && len(message.Signatures()) == 1 &&
		message.Signatures()[0].ProtectedHeaders().Algorithm() == jwa.HS256
}

// known is a token with a valid signature, and the result of the last look-up of its user.
type known struct {
	claims
	bearer atomic.Pointer[bearer]
}

// bearer is the result of a look-up in the store: the user of a token may use it, and has this role. It is valid until
// the next commit, and as long as the roles are those of the table.
type bearer struct {
	revision uint64
	table    *roleTable
	username string
	role     string // type of the role
	ofRole   *permission.Access
	values   permission.Values  // of the variables in the rules of the role
	access   *permission.Access // that of the role, bound to the values
}

// verified caches tokens whose signature is valid, since checking a signature is the most expensive part of
// authentication. It has two halves. Each use of a token puts it into the young half. When the young half is full, it
// replaces the old one, and an empty half becomes the young one. This drops the tokens that were not used in the
// meantime.
type verified struct {
	mutex      sync.RWMutex
	young, old map[string]*known
}

// maxVerified is the maximum number of tokens in each half.
const maxVerified = 2048

func (v *verified) get(token string) *known {
	v.mutex.RLock()
	k, old := v.young[token], v.old[token]
	v.mutex.RUnlock()
	if k == nil && old != nil {
		k = v.put(token, old)
	}
	return k
}

func (v *verified) put(token string, k *known) *known {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if first := v.young[token]; first != nil {
		return first
	}
	if v.young == nil || len(v.young) >= maxVerified {
		v.young, v.old = make(map[string]*known), v.young
	}
	v.young[strings.Clone(token)] = k
	return k
}
