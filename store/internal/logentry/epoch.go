package logentry

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// An Epoch is a random number that names a history of content. A restored store begins a new one, because its history
// differs from the one after its backup was taken.
type Epoch [8]byte

// NewEpoch returns a new random epoch.
func NewEpoch() (e Epoch) {
	_, _ = rand.Read(e[:]) // never fails
	return e
}

// String returns the epoch as 16 hexadecimal digits.
func (e Epoch) String() string { return hex.EncodeToString(e[:]) }

// MarshalText implements encoding.TextMarshaler.
func (e Epoch) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Epoch) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEpoch(string(text))
	return err
}

// ParseEpoch parses the text of an epoch.
func ParseEpoch(text string) (e Epoch, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(e) {
		return e, fmt.Errorf("%q is no epoch", text)
	}
	return Epoch(raw), nil
}
