package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// A client may send a write with an idempotency key, so that it can send the write again without having it carried out twice. The store
// keeps the answer to such a write, in the transaction of the write. The entry of the write in the log holds the answer too, so replicas
// and restored stores know it.
//
// Answers are in the bucket answers, in the order in which they were given, with an index by key:
//
//	a · sequence u64 → key 32 bytes · the answer (see KeptAnswer.append)
//	k · key 32 bytes → sequence u64
//
// The counters answers/count and answers/bytes are in the bucket meta. Each write with a key removes answers that AnswerLimits do not allow,
// oldest first, a bounded number at a time. Files of older versions of Lectern have no such bucket; the first answer makes it.

// AnswerLimits bound the answers that are kept.
type AnswerLimits struct {
	Keep    time.Duration // 0: DefaultAnswerLimits.Keep
	Count   int           // 0: DefaultAnswerLimits.Count
	MaxSize int64         // bytes of all answers; 0: DefaultAnswerLimits.MaxSize
}

// DefaultAnswerLimits are the limits of a store whose Options name none.
var DefaultAnswerLimits = AnswerLimits{Keep: 24 * time.Hour, Count: 100_000, MaxSize: 64 << 20}

func (l AnswerLimits) withDefaults() AnswerLimits {
	d := DefaultAnswerLimits
	if l.Keep == 0 {
		l.Keep = d.Keep
	}
	if l.Count == 0 {
		l.Count = d.Count
	}
	if l.MaxSize == 0 {
		l.MaxSize = d.MaxSize
	}
	return l
}

// A Hash identifies a key of a caller, a request, or the permissions of a caller.
type Hash [sha256.Size]byte

// A Once is a write that must not be carried out twice.
type Once struct {
	Key     Hash // of the caller and their idempotency key
	Request Hash // of the request
	Access  Hash // of what the caller may do and see
	At      time.Time

	// Print returns the answer to the write. It is called within the transaction, after the write was applied. The answer may use memory
	// that changes when the transaction has ended.
	Print func() Answer
	// ContentType is that of an answer with a body.
	ContentType string
	// MaxBody is how long the body of the answer may be. WriteOnce fails with TooLong if it is longer, and nothing is written.
	MaxBody int64
	TooLong error
}

// Keep has Print return an answer with this status, and with the body that body has by then. It does nothing if o is nil.
func (o *Once) Keep(status int, body *[]byte) {
	if o != nil {
		o.Print = func() Answer { return Answer{Status: status, Body: *body} }
	}
}

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

// A CarriedOutError is the error of a write that was carried out before, under the same key. Nothing was done.
type CarriedOutError struct{ Kept *KeptAnswer }

func (e *CarriedOutError) Error() string {
	return "a write with this idempotency key was carried out before"
}

// keptVersion is the first byte of a stored answer.
const keptVersion = 1

// append appends the encoding of an answer:
//
//	version u8 · time in ms · request 32 bytes · access 32 bytes · status · content type · body, up to the end
func (k *KeptAnswer) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, keptVersion), uint64(k.At.UnixMilli()))
	b = append(append(b, k.Request[:]...), k.Access[:]...)
	b = appendCounted(binary.AppendUvarint(b, uint64(k.Status)), k.ContentType)
	return append(b, k.Body...)
}

var errAnswer = errors.New("the kept answer is malformed")

// decodeAnswer decodes the key and the answer under it. The answer refers to the memory of raw.
func decodeAnswer(raw []byte) (key Hash, kept *KeptAnswer, err error) {
	d := entryDecoder{raw: raw}
	copy(key[:], d.take(uint64(len(key))))
	d.failed = d.byte() != keptVersion || d.failed
	kept = &KeptAnswer{At: time.UnixMilli(int64(d.number(1 << 52)))}
	copy(kept.Request[:], d.take(uint64(len(kept.Request))))
	copy(kept.Access[:], d.take(uint64(len(kept.Access))))
	kept.Status, kept.ContentType, kept.Body = int(d.number(999)), string(d.counted()), d.raw
	if d.failed {
		return key, nil, errAnswer
	}
	return key, kept, nil
}

const (
	prefixAnswer    = 'a'
	prefixAnswerKey = 'k'
	// answerOverhead is how many bytes an answer counts in addition to its encoding: its two keys and their values.
	answerOverhead = 64
)

func answerName(sequence uint64) []byte { return be.AppendUint64([]byte{prefixAnswer}, sequence) }
func answerKeyName(key Hash) []byte     { return append([]byte{prefixAnswerKey}, key[:]...) }

// withoutNamedChecksum cuts the checksum off a value that ends with one.
func withoutNamedChecksum(v []byte) []byte { return v[:len(v)-checksumLen] }

// KeptAnswer returns a copy of the answer that is kept under a key, nil if there is none at that time.
func (s *Snapshot) KeptAnswer(key Hash, now time.Time) (*KeptAnswer, error) {
	t := s.bucket(answers)
	if !t.exists() {
		return nil, s.failed
	}
	at := t.Get(answerKeyName(key))
	if len(at) != 8+checksumLen {
		return nil, s.failed
	}
	raw := t.Get(answerName(be.Uint64(at)))
	if raw == nil {
		return nil, s.failed
	}
	named, kept, err := decodeAnswer(bytes.Clone(withoutNamedChecksum(raw)))
	if err == nil && named != key {
		err = errAnswer
	}
	if err != nil || now.Sub(kept.At) >= s.store.answers.Keep {
		return nil, err
	}
	return kept, nil
}

// KeptAnswers returns how many answers are kept, and their bytes.
func (s *Snapshot) KeptAnswers() (count int, bytes int64) {
	meta := s.bucket(metas)
	return int(getNumber(meta, keyAnswerCount)), int64(getNumber(meta, keyAnswerBytes))
}

// carryOut calls f, unless there is an answer under the key, and then keeps the answer. If f applies no batch, no answer is kept.
func (o *Once) carryOut(tx *Tx, f func(*Tx) error) error {
	kept, err := tx.KeptAnswer(o.Key, o.At)
	switch {
	case err != nil:
		return err
	case kept != nil:
		return &CarriedOutError{kept}
	}
	return tx.Together(func() error {
		if err := f(tx); err != nil || tx.joint.batches == 0 {
			return err
		}
		return o.keep(tx)
	})
}

// keep stores the answer, and has the next entry of the log hold it.
func (o *Once) keep(tx *Tx) error {
	answer := o.Print()
	if int64(len(answer.Body)) > o.MaxBody {
		return o.TooLong
	}
	made := KeptAnswer{At: o.At, Request: o.Request, Access: o.Access, Answer: answer}
	if len(answer.Body) > 0 {
		made.ContentType = o.ContentType
	}
	tx.log.answer = made.append(append(make([]byte, 0, len(answer.Body)+200), o.Key[:]...))
	return tx.putAnswer(tx.sequence, tx.log.answer)
}

// putAnswer stores an answer, given encoded with its key, that belongs to the entry of a sequence. It removes answers that AnswerLimits do not
// allow.
func (tx *Tx) putAnswer(sequence uint64, raw []byte) error {
	key, kept, err := decodeAnswer(raw)
	if err != nil {
		return err
	}
	t := tx.bucket(answers)
	if err := errors.Join(t.Put(answerName(sequence), copied(raw)), t.Put(answerKeyName(key), freshValue{be.AppendUint64(nil, sequence)})); err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	count, size := tx.KeptAnswers()
	count, size = count+1, size+int64(len(raw)+answerOverhead)
	for _, old := range tx.oldAnswers(kept.At, &count, &size, sequence) {
		if err := tx.deleteAnswer(old); err != nil {
			return fmt.Errorf("remove an old answer: %w", err)
		}
	}
	meta := tx.bucket(metas)
	return errors.Join(putNumber(meta, keyAnswerCount, uint64(count)), putNumber(meta, keyAnswerBytes, uint64(size)))
}

// oldAnswers returns the sequences of answers to remove at a time, oldest first, and counts the answers without them. It spares the answer of
// the sequence newest.
func (tx *Tx) oldAnswers(now time.Time, count *int, size *int64, newest uint64) (old []uint64) {
	l := tx.store.answers
	c := tx.bucket(answers).Cursor()
	for k, v := c.First(); len(k) == 9 && len(old) < trimmedAtOnce; k, v = c.Next() {
		sequence := be.Uint64(k[1:])
		if sequence == newest {
			break
		}
		raw := withoutNamedChecksum(v)
		if *count <= l.Count && *size <= l.MaxSize {
			if _, kept, err := decodeAnswer(raw); err != nil || now.Sub(kept.At) < l.Keep {
				break
			}
		}
		*count, *size = *count-1, *size-int64(len(raw)+answerOverhead)
		old = append(old, sequence)
	}
	return old
}

// deleteAnswer removes the answer of a sequence, and its key unless a later answer has the same.
func (tx *Tx) deleteAnswer(sequence uint64) error {
	t := tx.bucket(answers)
	raw := t.Get(answerName(sequence))
	key, _, err := decodeAnswer(withoutNamedChecksum(raw))
	if err != nil {
		return err
	}
	if at := t.Get(answerKeyName(key)); len(at) == 8+checksumLen && be.Uint64(at) == sequence {
		if err := t.Delete(answerKeyName(key)); err != nil {
			return err
		}
	}
	return t.Delete(answerName(sequence))
}

// answers checks that the answers, their index by key and their counters agree.
func (c *checker) answers() {
	if !c.snap.bucket(answers).exists() {
		return
	}
	count, size := 0, int64(0)
	names := map[Hash]uint64{} // the latest sequence under each key
	c.each(answers, func(k, v []byte) {
		v = withoutNamedChecksum(v)
		switch {
		case len(k) == 9 && k[0] == prefixAnswer:
			count, size = count+1, size+int64(len(v)+answerOverhead)
			key, _, err := decodeAnswer(v)
			if err != nil {
				c.report("answer %x: %w", k, err)
			}
			c.take(len(key))
			names[key] = be.Uint64(k[1:]) // answers come before keys
		case len(k) == 1+len(Hash{}) && k[0] == prefixAnswerKey && len(v) == 8:
			key := Hash(k[1:])
			if sequence, ok := names[key]; !ok || sequence != be.Uint64(v) {
				c.report("answer key %x: leads to %d, the answer is under %d", k, be.Uint64(v), sequence)
			}
			delete(names, key)
		default:
			c.report("answer %x: malformed", k)
		}
	})
	for key, sequence := range names {
		c.report("answer %d: its key %x is missing", sequence, key)
	}
	if n, bytes := c.snap.KeptAnswers(); n != count || bytes != size {
		c.report("answers: the counters say %d with %d bytes, there are %d with %d", n, bytes, count, size)
	}
}
