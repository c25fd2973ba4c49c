package changes

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"lectern/store"
)

// The text of a sealed position is sealedPrefix and, in base64, a random number, the position encrypted by AES in
// counter mode from that number on, and a signature of both. Its length says nothing either.
const (
	sealedPrefix = "s"
	nonceLen     = 16
	sealedStep   = 128 // the length of what is encrypted is a multiple of it
)

// appendSealed appends the text of a sealed position.
func (c *Codec) appendSealed(b []byte, p Position) []byte {
	raw := append(c.buf[:0], make([]byte, nonceLen)...)
	_, _ = rand.Read(raw) // never fails
	epoch := p.Epoch.String()
	raw = append(binary.AppendUvarint(raw, uint64(len(epoch))), epoch...)
	raw = binary.BigEndian.AppendUint64(raw, p.Sequence)
	raw = p.appendRest(raw)
	raw = binary.BigEndian.AppendUint64(raw, p.rules)
	wide := byte(0)
	if p.wide {
		wide = 1
	}
	raw = append(raw, wide)
	raw = append(raw, make([]byte, sealedStep-(len(raw)-nonceLen)%sealedStep)...)
	cipher.NewCTR(c.seal, raw[:nonceLen]).XORKeyStream(raw[nonceLen:], raw[nonceLen:])
	c.buf = c.sign(raw, []byte(sealedPrefix), raw)
	return base64.RawURLEncoding.AppendEncode(append(b, sealedPrefix...), c.buf)
}

// parseSealed parses the text of a sealed position. The error wraps store.ErrOtherEpoch.
func (c *Codec) parseSealed(text string) (Position, error) {
	bad := fmt.Errorf("%q: %w", text, store.ErrOtherEpoch)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(text, sealedPrefix))
	n := len(raw) - macLen
	if err != nil || n < nonceLen || !hmac.Equal(c.sign(nil, []byte(sealedPrefix), raw[:n]), raw[n:]) {
		return Position{}, bad
	}
	cipher.NewCTR(c.seal, raw[:nonceLen]).XORKeyStream(raw[nonceLen:n], raw[nonceLen:n])
	d := decoder{raw: raw[nonceLen:n]}
	epoch := d.take(d.number(1 << 6))
	var sequence, rules uint64
	if b := d.take(8); b != nil {
		sequence = binary.BigEndian.Uint64(b)
	}
	at, err := store.ParsePosition(fmt.Sprintf("%s-%d", epoch, sequence))
	p := d.position(at)
	if b := d.take(8); b != nil {
		rules = binary.BigEndian.Uint64(b)
	}
	p.sealed, p.rules, p.wide = true, rules, d.number(1) == 1
	if err != nil || d.failed || p.filter == 0 {
		return Position{}, bad
	}
	return p, nil
}
