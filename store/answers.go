package store

import (
	"bytes"
	"time"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A client may send a write with an idempotency key, so that it can send the write again without having it carried out twice. The store
// keeps the answer to such a write, in the transaction of the write. The entry of the write in the log holds the answer too, so replicas
// and restored stores know it.
//
// Answers are in the bucket answers, in the order in which they were given, with an index by key and one by caller:
//
//	a · sequence u64 → key 32 bytes · the answer (see KeptAnswer.append)
//	c · caller 16 bytes → number of answers u64 · their bytes u64
//	k · key 32 bytes → sequence u64
//	o · caller 16 bytes · sequence u64 → bytes u64
//
// The counters answers/count, answers/bytes and answers/callers are in the bucket meta. Each write with a key removes answers that AnswerLimits do
// not allow (see answers_trim.go), a bounded number at a time.

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

// A Once is a write that must not be carried out twice.
type Once struct {
	Key     Hash // of the caller and their idempotency key: see KeyOf
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

// A CarriedOutError is the error of a write that was carried out before, under the same key. Nothing was done.
type CarriedOutError struct{ Kept *KeptAnswer }

func (e *CarriedOutError) Error() string {
	return "a write with this idempotency key was carried out before"
}

const (
	prefixAnswer       = 'a'
	prefixAnswerCaller = 'c'
	prefixAnswerKey    = 'k'
	prefixAnswerOf     = 'o'
	// answerOverhead is how many bytes an answer counts in addition to its encoding: its two keys and their values.
	answerOverhead = 64
)

func answerName(sequence uint64) []byte { return be.AppendUint64([]byte{prefixAnswer}, sequence) }
func answerKeyName(key Hash) []byte     { return append([]byte{prefixAnswerKey}, key[:]...) }

// KeptAnswer returns a copy of the answer that is kept under a key, nil if there is none at that time.
func (s *Snapshot) KeptAnswer(key Hash, now time.Time) (*KeptAnswer, error) {
	t := s.bucket(format.Answers)
	at := t.Get(answerKeyName(key))
	if len(at) != 8+format.ChecksumLen {
		return nil, s.failed
	}
	raw := t.Get(answerName(be.Uint64(at)))
	if raw == nil {
		return nil, s.failed
	}
	named, kept, err := logentry.ParseAnswer(bytes.Clone(format.WithoutChecksum(raw)))
	if err == nil && named != key {
		err = logentry.ErrAnswer
	}
	if err != nil || now.Sub(kept.At) >= s.store.answers.Keep {
		return nil, err
	}
	return kept, nil
}

// Kept returns a copy of the answer that is kept for a write, nil if there is none.
func (o *Once) Kept(s *Snapshot) (*KeptAnswer, error) {
	return s.KeptAnswer(o.Key, o.At)
}

// KeptAnswers returns how many answers are kept, and their bytes.
func (s *Snapshot) KeptAnswers() (count int, bytes int64) {
	meta := s.bucket(format.Meta)
	return int(getNumber(meta, format.KeyAnswerCount)), int64(getNumber(meta, format.KeyAnswerBytes))
}

// carryOut calls f, unless there is an answer under the key, and then keeps the answer. If f applies no batch, no answer is kept.
func (o *Once) carryOut(tx *Tx, f func(*Tx) error) error {
	kept, err := o.Kept(tx.Snapshot)
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
	tx.log.answer = made.Append(append(make([]byte, 0, len(answer.Body)+200), o.Key[:]...))
	return tx.putAnswer(tx.sequence, tx.log.answer)
}
