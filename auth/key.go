package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// keySize is the length of an API token's key as clients send it: 128 random bytes in hexadecimal.
const keySize = 256

// newKey makes a key and the digest that is kept of it.
func newKey() (key string, d digest) {
	var b [keySize / 2]byte
	rand.Read(b[:]) // never fails: it ends the process rather than give out a key that can be guessed
	key = hex.EncodeToString(b[:])
	d, _ = digestOf(key)
	return key, d
}

// A digest is what is kept of a key: its SHA-256. A key has 1024 random bits, so there is no dictionary to try and no use
// for a salt, a secret to guard or a slow hash; whoever steals the file still cannot find a key to any digest in it.
type digest [sha256.Size]byte

// digestOf hashes a key; ok is false for what cannot be one, which is thus refused without hashing it.
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

// slot is where a digest lies in the lookup table. Finding the slot takes a time that depends on these few bytes of a hash,
// which a sender cannot choose; the rest is compared in constant time.
func (d digest) slot() [8]byte { return [8]byte(d[:8]) }

func (d digest) equal(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }
