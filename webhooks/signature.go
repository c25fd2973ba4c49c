package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Secret is a key that signs requests, as Standard Webhooks defines it. It is printed and logged without its value.
type Secret struct{ key []byte }

const (
	secretPrefix = "whsec_"
	// leastSecret and mostSecret are the lengths of a key in bytes that Standard Webhooks allows.
	leastSecret, mostSecret = 24, 64
)

// ParseSecret parses the text of a secret: whsec_ and 24 to 64 bytes in base64.
func ParseSecret(text string) (Secret, error) {
	encoded, prefixed := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !prefixed || err != nil || len(key) < leastSecret || len(key) > mostSecret {
		return Secret{}, fmt.Errorf(
			"a secret is %s and %d to %d bytes in base64, as `echo %s$(openssl rand -base64 32)` prints it",
			secretPrefix, leastSecret, mostSecret, secretPrefix)
	}
	return Secret{key}, nil
}

// String implements fmt.Stringer.
func (Secret) String() string { return secretPrefix + "…" }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// sign returns the signature of a request: of its id, its time and its body.
func (s Secret) sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signatures returns the signatures of a request by several secrets, as one header has them.
func signatures(secrets []Secret, id string, at time.Time, body []byte) string {
	all := make([]string, len(secrets))
	for i, s := range secrets {
		all[i] = s.sign(id, at, body)
	}
	return strings.Join(all, " ")
}
