package providers

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// A sealer encrypts values that clients keep for the server, so that they can neither read nor change them.
type sealer struct {
	aead cipher.AEAD
	now  func() time.Time
}

func newSealer(secret []byte, now func() time.Time) (*sealer, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "lectern login by other providers", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead, now}, err
}

// An envelope is what is encrypted.
type envelope struct {
	Until int64 `json:"u"` // unix seconds
	Value any   `json:"v"`
}

// seal returns a text from which open gets the value back until life has passed. Another use cannot open it.
func (s *sealer) seal(use string, life time.Duration, value any) (string, error) {
	plain, err := json.Marshal(envelope{s.now().Add(life).Unix(), value})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(use))), nil
}

// maxSealed is the longest text that open looks at.
const maxSealed = 16 << 10

// open decodes what seal has encrypted for the same use. late says that the text is one of seal, but too old.
func (s *sealer) open(use, text string, into any) (ok, late bool) {
	if len(text) > maxSealed {
		return false, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return false, false
	}
	plain, err := s.aead.Open(nil, nil, raw, []byte(use))
	if err != nil {
		return false, false
	}
	e := envelope{Value: into}
	if json.Unmarshal(plain, &e) != nil {
		return false, false
	}
	late = s.now().Unix() > e.Until
	return !late, late
}

// random returns a text of 128 random bits.
func random() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}
