package budget

import (
	"context"
	"errors"
	"time"
)

const (
	// Slack is how many bytes may be appended to an Answer without asking Fits or Grow: punctuation, keys, small rows.
	Slack = 36 << 10
	// Small is the greatest length of a part of an answer for which Fits and Grow need not be asked.
	Small = 32 << 10
	// step is how many bytes Hold reserves at a time.
	step = 256 << 10
	// maxWait is how long an answer waits for memory, all its waits together.
	maxWait = time.Second
)

// ErrTooLong says that an answer is longer than the limit of an answer.
var ErrTooLong = errors.New("the answer is too long")

// An Answer accounts for the memory of an answer while it is printed: its text, and what printing needs besides. Most answers are
// small and reserve nothing. An Answer is for one goroutine at a time.
//
//	if !answer.Fits(len(text), len(value)) {
//		if text, err = answer.Grow(text, len(value)); err != nil {
//			return err
//		}
//	}
//	text = append(text, value...)
type Answer struct {
	reservation Reservation
	most        int       // bytes that the text may have
	room        int       // up to which length the text needs no more memory
	beside      int64     // needed beside the text, in steps
	wanted      int64     // in all, when that could not be reserved
	until       time.Time // when maxWait is over
}

// Answer returns the account of an answer that may have at most so many bytes.
func (b *Budget) Answer(most int) Answer {
	return Answer{reservation: b.Reservation(), most: most, room: min(Unreserved, most+Slack)}
}

// Adopt reserves the memory of a text that an earlier answer had, and returns it empty; nil where that is not free.
func (a *Answer) Adopt(text []byte) []byte {
	if cap(text) > 2*Unreserved && a.reserve(cap(text), a.beside) != nil {
		return nil
	}
	return text[:0]
}

// Restart must be called before the text is printed again from the start. The reservation is kept.
func (a *Answer) Restart() { a.room, a.beside = min(Unreserved, a.most+Slack), 0 }

// Fits reports whether part more bytes may be appended to a text of that length. Otherwise Grow has to be asked.
func (a *Answer) Fits(length, part int) bool { return length+part+Slack <= a.room }

// Grow reserves memory for a text that is to become part bytes longer, and returns the text with room for them. It fails with
// ErrTooLong, or with ErrExhausted: then the text can be let go of, waited for memory, and begun anew.
func (a *Answer) Grow(text []byte, part int) ([]byte, error) {
	need := len(text) + part
	if need > a.most {
		return text, ErrTooLong
	}
	// Twice as much each time, so that what is left behind in growing is less than the text; and always the same few sizes, so that
	// the memory of one answer fits the next. What is reserved already is had at once.
	room := max(a.room, int(a.reservation.Bytes()-a.beside))
	for room < need+Slack {
		room *= 2
	}
	room = max(min(room, a.most+Slack), need+Slack)
	if err := a.reserve(room, a.beside); err != nil {
		return text, err
	}
	a.room = room
	if room <= cap(text) {
		return text, nil
	}
	return append(make([]byte, 0, room), text...), nil // slices.Grow would take more
}

// Hold reserves memory that is needed beside the text: so many bytes in all.
func (a *Answer) Hold(bytes int64) error {
	if bytes <= max(a.beside, Unreserved) {
		return nil
	}
	beside := (bytes + step - 1) / step * step
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

// Wait waits, for a second in all, until there is memory for what could not be reserved. The caller must have dropped the text and
// must hold no snapshot and no lock, since the requests that hold the memory must be able to finish.
func (a *Answer) Wait(ctx context.Context) error {
	if a.until.IsZero() {
		a.until = time.Now().Add(maxWait)
	}
	ctx, cancel := context.WithDeadline(ctx, a.until)
	defer cancel()
	return a.reservation.Wait(ctx, a.wanted)
}

// Release gives the reservation back, when the answer was sent or will not be.
func (a *Answer) Release() { a.reservation.Release() }
