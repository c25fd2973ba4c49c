package store

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A client may send a write with an idempotency key, so that it can send the write again without having it carried out
// twice. The store keeps the answer to such a write, in the transaction of the write. The entry of the write in the log
// holds the answer too, so replicas and restored stores know it.
//
// Answers are in the bucket answers, in the order in which they were given, with an index by key and one by caller:
//
//	a · sequence u64 → key 32 bytes · the answer (see KeptAnswer.append)
//	c · caller 16 bytes → number of answers u64 · their bytes u64
//	k · key 32 bytes → sequence u64
//	o · caller 16 bytes · sequence u64 → bytes u64
//
// The counters answers/count, answers/bytes and answers/callers are in the bucket meta. Each write with a key removes
// answers that AnswerLimits do not allow, a bounded number at a time.

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

	// Print returns the answer to the write. It is called within the transaction, after the write was applied. The
	// answer may use memory that changes when the transaction has ended.
	Print func() Answer
	// ContentType is that of an answer with a body.
	ContentType string
	// MaxBody is how long the body of the answer may be. WriteOnce fails with TooLong if it is longer, and nothing is
	// written.
	MaxBody int64
	TooLong error
}

// Keep has Print return an answer with this status, and with the body that body has by then. It does nothing if o is
// nil.
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

// carryOut calls f, unless there is an answer under the key, and then keeps the answer. If f applies no batch, no
// answer is kept.
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

// When there are more answers than AnswerLimits allow, a caller loses their own before others lose theirs. The share of
// a caller is the limit, divided by the number of callers whose answers are kept. A caller who has more than that loses
// their oldest answers for those that they add. If the caller who adds an answer has no more than their share, the one
// who has the most loses the oldest, or, among very many callers, the oldest answer of all goes.

// callersCompared is among how many callers the one who has the most is looked for: every write with a key may have to,
// and other writes wait for it.
const callersCompared = 1000

// An answerShare is how many answers a caller has, and their bytes.
type answerShare struct{ count, bytes int64 }

func readShare(v []byte) answerShare {
	return answerShare{int64(be.Uint64(v)), int64(be.Uint64(v[8:]))}
}

func answerCallerName(caller []byte) []byte {
	return append([]byte{prefixAnswerCaller}, caller...)
}

func answerOfName(caller []byte, sequence uint64) []byte {
	return be.AppendUint64(append([]byte{prefixAnswerOf}, caller...), sequence)
}

// putAnswer stores an answer, given encoded with its key, that belongs to the entry of a sequence. It removes answers
// that AnswerLimits do not allow.
func (tx *Tx) putAnswer(sequence uint64, raw []byte) error {
	key, kept, err := logentry.ParseAnswer(raw)
	if err != nil {
		return err
	}
	t, size := tx.bucket(format.Answers), int64(len(raw)+answerOverhead)
	err = errors.Join(
		t.Put(answerName(sequence), copied(raw)),
		t.Put(answerKeyName(key), freshValue{be.AppendUint64(nil, sequence)}),
		t.Put(answerOfName(key.Caller(), sequence), freshValue{be.AppendUint64(nil, uint64(size))}),
		tx.countAnswer(key.Caller(), 1, size),
	)
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	for range trimmedAtOnce {
		old, err := tx.oldAnswer(kept.At, key.Caller(), sequence)
		if err == nil && old != 0 {
			err = tx.deleteAnswer(old)
		}
		if err != nil {
			return fmt.Errorf("remove an old answer: %w", err)
		}
		if old == 0 {
			break
		}
	}
	return nil
}

// countAnswer adds to the counters of all answers and to those of a caller.
func (tx *Tx) countAnswer(caller []byte, count, bytes int64) error {
	meta := tx.bucket(format.Meta)
	all, size := tx.KeptAnswers()
	err := errors.Join(putNumber(meta, format.KeyAnswerCount, uint64(int64(all)+count)),
		putNumber(meta, format.KeyAnswerBytes, uint64(size+bytes)))
	if err != nil {
		return err
	}
	t, name := tx.bucket(format.Answers), answerCallerName(caller)
	had := tx.shareOf(caller)
	share := answerShare{had.count + count, had.bytes + bytes}
	switch {
	case had.count == 0:
		err = putNumber(meta, format.KeyAnswerCallers, getNumber(meta, format.KeyAnswerCallers)+1)
	case share.count == 0:
		return errors.Join(t.Delete(name),
			putNumber(meta, format.KeyAnswerCallers, getNumber(meta, format.KeyAnswerCallers)-1))
	}
	return errors.Join(err,
		t.Put(name, freshValue{be.AppendUint64(be.AppendUint64(nil, uint64(share.count)), uint64(share.bytes))}))
}

// shareOf returns what a caller has.
func (tx *Tx) shareOf(caller []byte) (s answerShare) {
	if v := tx.bucket(format.Answers).Get(answerCallerName(caller)); len(v) == 16+format.ChecksumLen {
		s = readShare(v)
	}
	return s
}

// oldAnswer returns the sequence of an answer to remove at a time, after a caller has added the answer of the sequence
// newest, which is spared; 0 if none has to be removed.
func (tx *Tx) oldAnswer(now time.Time, caller []byte, newest uint64) (sequence uint64, err error) {
	k, v := tx.bucket(format.Answers).Cursor().First()
	if len(k) != 9 || be.Uint64(k[1:]) == newest {
		return 0, nil
	}
	first := be.Uint64(k[1:])
	key, kept, err := logentry.ParseAnswer(format.WithoutChecksum(v))
	if err != nil {
		return 0, err
	}
	l := tx.store.answers
	if now.Sub(kept.At) >= l.Keep {
		return first, nil
	}
	if !tx.exceeds(l) {
		return 0, nil
	}
	measure, limit := func(s answerShare) int64 { return s.bytes }, l.MaxSize
	if count, _ := tx.KeptAnswers(); count > l.Count {
		measure, limit = func(s answerShare) int64 { return s.count }, int64(l.Count)
	}
	callers := int64(getNumber(tx.bucket(format.Meta), format.KeyAnswerCallers))
	if own := tx.shareOf(caller); own.count > 1 && measure(own) > limit/callers {
		return tx.oldestOf(caller), nil
	}
	if callers > callersCompared {
		return first, nil
	}
	heaviest := tx.heaviest(caller, measure)
	if heaviest == nil || string(key.Caller()) != string(caller) &&
		measure(tx.shareOf(key.Caller())) == measure(tx.shareOf(heaviest)) {
		return first, nil
	}
	return tx.oldestOf(heaviest), nil
}

func (tx *Tx) exceeds(l AnswerLimits) bool {
	count, size := tx.KeptAnswers()
	return count > l.Count || size > l.MaxSize
}

// heaviest returns the caller, other than one, who has the most; nil if there is none.
func (tx *Tx) heaviest(except []byte, measure func(answerShare) int64) (heaviest []byte) {
	most := int64(-1)
	c := tx.bucket(format.Answers).Cursor()
	for k, v := c.Seek([]byte{prefixAnswerCaller}); len(k) == 1+logentry.CallerLen && k[0] == prefixAnswerCaller; k,
		v = c.Next() {
		if n := measure(readShare(v)); n > most && string(k[1:]) != string(except) {
			most, heaviest = n, append(heaviest[:0], k[1:]...)
		}
	}
	return heaviest
}

// oldestOf returns the sequence of the oldest answer of a caller.
func (tx *Tx) oldestOf(caller []byte) uint64 {
	k, _ := tx.bucket(format.Answers).Cursor().Seek(answerOfName(caller, 0))
	if len(k) != 1+logentry.CallerLen+8 {
		return 0
	}
	return be.Uint64(k[1+logentry.CallerLen:])
}

// deleteAnswer removes the answer of a sequence, and its key unless a later answer has the same.
func (tx *Tx) deleteAnswer(sequence uint64) error {
	t := tx.bucket(format.Answers)
	raw := t.Get(answerName(sequence))
	if raw == nil {
		return logentry.ErrAnswer
	}
	key, _, err := logentry.ParseAnswer(format.WithoutChecksum(raw))
	if err != nil {
		return err
	}
	size := int64(len(format.WithoutChecksum(raw)) + answerOverhead)
	if at := t.Get(answerKeyName(key)); len(at) == 8+format.ChecksumLen && be.Uint64(at) == sequence {
		if err := t.Delete(answerKeyName(key)); err != nil {
			return err
		}
	}
	caller := key.Caller()
	return errors.Join(t.Delete(answerOfName(caller, sequence)), t.Delete(answerName(sequence)),
		tx.countAnswer(caller, -1, -size))
}
