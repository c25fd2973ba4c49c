package budget

import (
	"context"
	"errors"
	"time"
)

const (
	// Slack is how many bytes may be appended to an Answer without a call of Fits or Grow: punctuation, keys, small
	// rows.
	Slack = 36 << 10
	// Small is the largest part of an answer that may be appended without a call of Fits or Grow.
	Small = 32 << 10
	// holdUnit is the unit in which Hold reserves memory, in bytes.
	holdUnit = 256 << 10
	// maxWait is how long an answer may wait for memory, over all calls of Wait.
	maxWait = time.Second
)

// ErrTooLong is returned when an answer would exceed its length limit.
var ErrTooLong = errors.New("the answer is too long")

// An Answer accounts for the memory of an answer while it is printed: the text, and other memory that printing needs.
// Most answers are small and reserve nothing. Only one goroutine at a time may use an Answer.
//
//	if !answer.Fits(len(text), len(value)) {
//		if text, err = answer.Grow(text, len(value)); err != nil {
//			return err
//		}
//	}
//	text = append(text, value...)
type Answer struct {
	reservation Reservation
	limit       int       // limit of the text's length in bytes
	room        int       // length up to which memory for the text is available
	beside      int64     // bytes reserved by Hold
	wanted      int64     // bytes of the last reservation that failed
	until       time.Time // the time at which maxWait ends; zero before the first Wait
}

// Answer returns the account of an answer of at most limit bytes.
func (b *Budget) Answer(limit int) Answer {
	return Answer{reservation: b.Reservation(), limit: limit, room: min(Unreserved, limit+Slack)}
}

// Adopt reserves the memory of the text of an earlier answer, and returns the text emptied for reuse. It returns nil if
// the budget does not allow it.
func (a *Answer) Adopt(text []byte) []byte {
	if cap(text) > 2*Unreserved && a.reserve(cap(text), a.beside) != nil {
		return nil
	}
	return text[:0]
}

// Restart must be called before the text is printed again from the start. It keeps the reservation.
func (a *Answer) Restart() { a.room, a.beside = min(Unreserved, a.limit+Slack), 0 }

// Fits reports whether part more bytes may be appended to a text of that length without a call of Grow.
func (a *Answer) Fits(length, part int) bool { return length+part+Slack <= a.room }

// Grow reserves memory for a text that is to grow by part bytes, and returns the text with enough capacity. It fails
// with ErrTooLong or ErrExhausted. After ErrExhausted the caller may drop the text, call Wait, and print again.
func (a *Answer) Grow(text []byte, part int) ([]byte, error) {
	need := len(text) + part
	if need > a.limit {
		return text, ErrTooLong
	}
	// Doubling keeps the garbage of earlier copies smaller than the text, and leads to few different sizes, so that the
	// buffer of one answer fits another. Memory that is already reserved is used at once.
	room := max(a.room, int(a.reservation.Bytes()-a.beside))
	for room < need+Slack {
		room *= 2
	}
	room = max(min(room, a.limit+Slack), need+Slack)
	if err := a.reserve(room, a.beside); err != nil {
		return text, err
	}
	a.room = room
	if room <= cap(text) {
		return text, nil
	}
	return append(make([]byte, 0, room), text...), nil // slices.Grow would allocate more than room
}

// Hold reserves so many bytes in total for memory other than the text.
func (a *Answer) Hold(bytes int64) error {
	if bytes <= max(a.beside, Unreserved) {
		return nil
	}
	beside := (bytes + holdUnit - 1) / holdUnit * holdUnit
	if err := a.reserve(a.room, beside); err != nil {
		return err
	}
	a.beside = beside
	return nil
}

func (a *Answer) reserve(room int, beside int64) error {
	total := beside
	if room > Unreserved {
		total += int64(room)
	}
	err := a.reservation.Grow(total)
	if err != nil {
		a.wanted = total
	}
	return err
}

// Wait waits until the memory of the failed reservation is available, for at most a second over all calls. The caller
// must have dropped the text and must hold no snapshot and no lock, since the requests that hold the memory must be
// able to finish.
func (a *Answer) Wait(ctx context.Context) error {
	if a.until.IsZero() {
		a.until = time.Now().Add(maxWait)
	}
	ctx, cancel := context.WithDeadline(ctx, a.until)
	defer cancel()
	return a.reservation.Wait(ctx, a.wanted)
}

// Release gives back the reservation. It must be called when the answer was sent or is abandoned.
func (a *Answer) Release() { a.reservation.Release() }
