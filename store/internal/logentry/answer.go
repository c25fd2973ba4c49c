package logentry

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// A Hash identifies a key of a caller, a request, or the permissions of a caller.
type Hash [sha256.Size]byte

// KeyOf returns the Hash of a key of a caller, given the hashes of the caller and of both: half of either, so that the
// key tells whose it is.
func KeyOf(caller, key Hash) Hash {
	copy(key[:CallerLen], caller[:])
	return key
}

// CallerLen is how many bytes of a key name its caller.
const CallerLen = 16

// Caller returns the part of a key that names its caller.
func (h *Hash) Caller() []byte { return h[:CallerLen] }

// An Answer is what a client was answered.
type Answer struct {
	Status int
	Body   []byte
}

// A KeptAnswer is the answer to a write that was carried out.
type KeptAnswer struct {
	At              time.Time
	Request, Access Hash
	ContentType     string
	Answer
}

// keptVersion is the first byte of a stored answer.
const keptVersion = 1

// Append appends the encoding of an answer:
//
//	version u8 · time in ms · request 32 bytes · access 32 bytes · status · content type · body, up to the end
func (k *KeptAnswer) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, keptVersion), uint64(k.At.UnixMilli()))
	b = append(append(b, k.Request[:]...), k.Access[:]...)
	b = appendCounted(binary.AppendUvarint(b, uint64(k.Status)), k.ContentType)
	return append(b, k.Body...)
}

// ErrAnswer is the error of ParseAnswer.
var ErrAnswer = errors.New("the kept answer is malformed")

// ParseAnswer decodes the key and the answer under it. The answer refers to the memory of raw.
func ParseAnswer(raw []byte) (key Hash, kept *KeptAnswer, err error) {
	d := entryDecoder{raw: raw}
	copy(key[:], d.take(uint64(len(key))))
	d.failed = d.byte() != keptVersion || d.failed
	kept = &KeptAnswer{At: time.UnixMilli(int64(d.number(1 << 52)))}
	copy(kept.Request[:], d.take(uint64(len(kept.Request))))
	copy(kept.Access[:], d.take(uint64(len(kept.Access))))
	kept.Status, kept.ContentType, kept.Body = int(d.number(999)), string(d.counted()), d.raw
	if d.failed {
		return key, nil, ErrAnswer
	}
	return key, kept, nil
}
