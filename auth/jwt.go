package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"math"
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

// claims are the contents of a JWT: its user, its expiry, and a stamp of the password that the user had when it was
// made. A new password thus ends it at once.
type claims struct {
	user    uint64 // id of the user's row
	stamp   string
	expires int64 // unix seconds
}

// A signer makes and checks JWTs. It accepts only HS256 with its own secret and ignores all other instructions in a
// token's header.
type signer struct {
	secret   []byte
	stampKey []byte
	lifespan time.Duration
	now      func() time.Time
	seen     verified
}

func newSigner(secret []byte, lifespan time.Duration, now func() time.Time) *signer {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("stamp of a password"))
	return &signer{secret: secret, stampKey: mac.Sum(nil), lifespan: lifespan, now: now}
}

// sign makes a token for a user; hash is the stored hash of their password.
func (s *signer) sign(user uint64, hash []byte) (string, error) {
	now := s.now()
	token, err := jwt.NewBuilder().Claim("id", user).IssuedAt(now).Expiration(now.Add(s.lifespan)).Claim(
		"stamp", s.stamp(hash)).Build()
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

// verify checks the signature and the times of a token and returns it; ok is false if it is not valid.
func (s *signer) verify(token string) (k *known, ok bool) {
	if k = s.seen.get(token); k == nil {
		c, ok := s.parse(token)
		if !ok {
			return nil, false
		}
		k = s.seen.put(token, &known{claims: c})
	}
	return k, s.now().Unix() < k.expires
}

func (s *signer) parse(token string) (c claims, ok bool) {
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
	id, _ := t.Get("id")
	n, isNumber := id.(float64)
	if !isNumber || n < 1 || n > 1<<53 || n != math.Trunc(n) {
		return c, false
	}
	stamp, _ := t.Get("stamp")
	c.user, c.expires = uint64(n), t.Expiration().Unix() // 0 if absent: the token has expired
	c.stamp, _ = stamp.(string)                          // "" if absent: it matches no password
	return c, true
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
