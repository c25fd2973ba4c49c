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
	t, err := jwt.ParseString(token, jwt.WithKey(jwa.HS256, s.secret), jwt.WithValidate(true), jwt.WithClock(jwt.ClockFunc(s.now)))
	if err != nil {
		return c, false
	}
	id, _ := t.Get("id")
	n, isNumber := id.(float64)
	if !isNumber || n < 1 || n > 1<<53 || n != math.Trunc(n) {
		return c, false
	}
	stamp, _ := t.Get("stamp")
	c.user, c.expires = uint64(n), t.Expiration().Unix() // without that it ended long ago
	c.stamp, _ = stamp.(string)                          // without one it is of no password
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

// known is a token whose signature was found right, and what was found of its user when it was last looked at.
type known struct {
	claims
	bearer atomic.Pointer[bearer]
}

// bearer says that the user of a token may use it, and his role, as of a commit: until the next one nothing can change that.
type bearer struct {
	revision uint64
	username string
	role     uint64 // number of the role's document, 0 for none
}

// verified remembers tokens whose signature was found right, since checking it takes longer than all else that is done to learn who
// asks. There are two generations: a token that is used is put into the young one, and when that is full it becomes the old one,
// and the tokens that were in the old one and not used since are forgotten.
type verified struct {
	mutex      sync.RWMutex
	young, old map[string]*known
}

// maxVerified is how many tokens each generation holds.
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
