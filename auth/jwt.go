package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/lestrrat-go/jwx/v2/jwt"
)

// maxJWT bounds the length of a token that is looked at.
const maxJWT = 4096

// claims are what a JWT says: who its bearer is, and how long. The stamp is that of the password which the user had when the
// token was made, so that a new password ends it, however soon it comes.
type claims struct {
	user    uint64 // id of the user's row
	stamp   string
	expires int64 // unix seconds
}

// A signer makes and checks JWTs. HS256 is the only algorithm it knows, and its own secret the only key: nothing that a token
// says of how it is to be checked is heeded.
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

// sign makes a token for a user whose password is stored as hash.
func (s *signer) sign(user uint64, hash []byte) (string, error) {
	now := s.now()
	token, err := jwt.NewBuilder().Claim("id", user).IssuedAt(now).Expiration(now.Add(s.lifespan)).Claim("stamp", s.stamp(hash)).Build()
	if err != nil {
		return "", err
	}
	text, err := jwt.Sign(token, jwt.WithKey(jwa.HS256, s.secret))
	return string(text), err
}

// stamp is a digest of a stored password that says nothing of it to who lacks the secret.
func (s *signer) stamp(hash []byte) string {
	mac := hmac.New(sha256.New, s.stampKey)
	mac.Write(hash)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// isOf reports whether a token was made for the password that is stored as hash now.
func (s *signer) isOf(c claims, hash []byte) bool {
	return subtle.ConstantTimeCompare([]byte(c.stamp), []byte(s.stamp(hash))) == 1
}

// verify returns what a token says; ok is false unless it is signed with the secret and its time is now.
func (s *signer) verify(token string) (c claims, ok bool) {
	if c, ok = s.seen.get(token); !ok {
		if c, ok = s.parse(token); !ok {
			return c, false
		}
		s.seen.put(token, c)
	}
	return c, s.now().Unix() < c.expires
}

func (s *signer) parse(token string) (c claims, ok bool) {
	if len(token) > maxJWT || !isHS256(token) {
		return c, false
	}
	t, err := jwt.ParseString(token, jwt.WithKey(jwa.HS256, s.secret), jwt.WithValidate(true), jwt.WithClock(jwt.ClockFunc(s.now)),
		jwt.WithRequiredClaim(jwt.ExpirationKey))
	if err != nil {
		return c, false
	}
	id, _ := t.Get("id")
	n, isNumber := id.(float64)
	if !isNumber || n < 1 || n > 1<<53 || n != math.Trunc(n) {
		return c, false
	}
	stamp, _ := t.Get("stamp")
	c.user, c.expires = uint64(n), t.Expiration().Unix()
	c.stamp, _ = stamp.(string) // without one it is of no password
	return c, true
}

// isHS256 reports whether a token is a signature in the compact form (not encrypted, not JSON) that says so itself.
func isHS256(token string) bool {
	if strings.Count(token, ".") != 2 || token[0] == '{' {
		return false
	}
	message, err := jws.ParseString(token)
	return err == nil && len(message.Signatures()) == 1 && message.Signatures()[0].ProtectedHeaders().Algorithm() == jwa.HS256
}

// verified remembers tokens whose signature was found right, since to find that takes longer than all else that is done to
// learn who asks. It says nothing of whether their user may still use them. Of the tokens that were not used lately it
// forgets the older half whenever there are too many.
type verified struct {
	mutex      sync.RWMutex
	young, old map[string]claims
}

// maxVerified is how many tokens each generation holds.
const maxVerified = 2048

func (v *verified) get(token string) (claims, bool) {
	v.mutex.RLock()
	c, ok := v.young[token]
	if ok {
		v.mutex.RUnlock()
		return c, true
	}
	c, ok = v.old[token]
	v.mutex.RUnlock()
	if ok {
		v.put(token, c)
	}
	return c, ok
}

func (v *verified) put(token string, c claims) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.young == nil || len(v.young) >= maxVerified {
		v.young, v.old = make(map[string]claims), v.young
	}
	v.young[strings.Clone(token)] = c
}
