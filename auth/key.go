package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// keySize is the length of an API token's key as clients send it: 128 random bytes in hexadecimal.
const keySize = 256

// newKey makes a key and the digest to store of it.
func newKey() (key string, d digest) {
	var b [keySize / 2]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	key = hex.EncodeToString(b[:])
	d, _ = digestOf(key)
	return key, d
}

// A digest is the SHA-256 of a key, which is stored instead of the key. A key has 1024 random bits: no dictionary
// attack is possible, so it needs neither salt nor a slow hash, and a stolen digest reveals no key.
type digest [sha256.Size]byte

// digestOf hashes a key; ok is false for a string that cannot be a key, which is not hashed.
func digestOf(key string) (d digest, ok bool) {
	if len(key) != keySize {
		return d, false
	}
	var b [keySize]byte
	copy(b[:], key)
	return sha256.Sum256(b[:]), true
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func parseDigest(s string) (d digest, ok bool) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return d, false
	}
	return digest(b), true
}

// slot returns the part of a digest that is its key in the lookup table. Only these bytes affect the time of a look-up,
// and a sender cannot choose the bytes of a hash; the rest is compared in constant time.
func (d digest) slot() [8]byte { return [8]byte(d[:8]) }

func (d digest) equal(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }
