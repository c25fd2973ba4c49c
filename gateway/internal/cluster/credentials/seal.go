package credentials

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// clusterKeySize is the number of random bytes in a cluster key. The file has them in hexadecimal.
const clusterKeySize = 32

// sealedFormat is the first byte of sealed values.
const sealedFormat = 1

// ErrSealed is the error of Open for bytes that no node of the cluster has sealed for the purpose.
var ErrSealed = errors.New(
	"the sealed value was changed, or sealed with another cluster.key: all nodes must have the same")

// Seal encrypts a value with the first cluster key, so that nodes of the cluster alone can read it, by Open with the
// same purpose. It never returns the same bytes twice.
func (c *Credentials) Seal(purpose string, plain []byte) []byte {
	return c.sealing[0].Seal([]byte{sealedFormat}, nil, plain, additionalData(purpose))
}

// Open decrypts what Seal has returned, with any of the cluster keys. current reports whether that was the key with
// which Seal encrypts. The error is ErrSealed if a byte was changed, or the purpose or the cluster key was another one.
func (c *Credentials) Open(purpose string, sealed []byte) (plain []byte, current bool, err error) {
	if len(sealed) == 0 || sealed[0] != sealedFormat {
		return nil, false, ErrSealed
	}
	for i, key := range c.sealing {
		plain, err := key.Open(nil, nil, sealed[1:], additionalData(purpose))
		if err == nil {
			return plain, i == 0, nil
		}
	}
	return nil, false, ErrSealed // the errors of crypto/cipher say no more
}

func additionalData(purpose string) []byte { return append([]byte{sealedFormat}, purpose...) }

// makeClusterKey returns the text of a file with a new cluster key.
func makeClusterKey() []byte {
	var key [clusterKeySize]byte
	rand.Read(key[:]) // never fails: it ends the process rather than make a key that can be guessed
	return fmt.Appendf(nil, "%x\n", key)
}

// readClusterKeys reads a file with cluster keys, one on each line, and returns the ciphers that seal values.
func readClusterKeys(path string) (list []cipher.AEAD, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, key := range strings.Fields(string(text)) {
		sealing, err := parseClusterKey(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, sealing)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoClusterKey)
	}
	return list, nil
}

var errNoClusterKey = fmt.Errorf(
	"it does not hold a cluster key, which is %d hexadecimal digits; copy the file of another node", 2*clusterKeySize)

// parseClusterKey returns the cipher of a cluster key in hexadecimal, AES-256-GCM with a key that is derived from it.
func parseClusterKey(text string) (cipher.AEAD, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != clusterKeySize {
		return nil, errNoClusterKey
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "lectern cluster: sealed values", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
