package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/store"
)

// Limits bound answers. The zero value is bounded by DefaultAnswerBytes alone.
type Limits struct {
	Time   time.Duration  // of the work on an answer; 0 is none
	Bytes  int            // of an answer; 0 is DefaultAnswerBytes
	Memory *budget.Budget // of all answers together; nil is not bounded
	// TooLong is the error for an answer of more than Bytes; nil is one that names no setting.
	TooLong error
	// Send writes the body of an answer, as fast as the client takes it; nil writes it at once. An error has ended the connection.
	Send func(ctx context.Context, w http.ResponseWriter, body []byte) error
}

// DefaultAnswerBytes is how long an answer may become where nothing is said. Relations can be populated in circles, so that a
// short question asks for more than any memory holds.
const DefaultAnswerBytes = 16 << 20

// unlimited are the limits where none are given.
var unlimited = &Limits{}

// Answer is the memory of an answer.
func (l *Limits) Answer() budget.Answer { return l.Memory.Answer(l.bytes()) }

func (l *Limits) bytes() int { return cmp.Or(l.Bytes, DefaultAnswerBytes) }

// errTooLong is told where limits say nothing else.
var errTooLong = apierror.Validation("The answer is too large: ask for fewer documents, fields or populated relations")

// documentsAtATime are printed between two looks at the clock.
const documentsAtATime = 256

// A bound ends an answer that is too long, takes too long, or that nobody waits for any more.
type bound struct {
	ctx     context.Context
	limits  *Limits
	memory  *budget.Answer
	printed int
	until   time.Time // set at the first look
}

// view calls print with a snapshot. Where there is not enough memory for the answer, print lets go of what it has made, and the
// answer is begun anew when there is: nobody waits with a snapshot, which keeps pages of the file from being used again.
func (b *bound) view(st *store.Store, print func(*store.Snapshot) error) error {
	for {
		err := st.View(print)
		if err == nil || !errors.Is(err, budget.ErrExhausted) {
			return err
		}
		if err := b.memory.Wait(b.ctx); err != nil {
			return err
		}
		b.memory.Restart()
	}
}

// check is called before each document is printed.
func (b *bound) check() error {
	if b.printed++; b.printed%documentsAtATime != 0 {
		return nil
	}
	if err := b.ctx.Err(); err != nil || b.limits.Time == 0 {
		return err
	}
	now := time.Now()
	if b.until.IsZero() {
		b.until = now.Add(b.limits.Time)
	}
	if now.After(b.until) {
		return context.DeadlineExceeded
	}
	return nil
}

// reserve makes room for the fields of a row or component. What it populates does that for itself.
func (p *printer) reserve(r *store.Record, s *documents.Selection) {
	length := 0
	if r.Size() > budget.Small { // as much as is shown of it
		for _, a := range s.Fields {
			length += len(r.JSON(a))
		}
	}
	if p.bound.memory.Fits(len(p.buf), length) {
		return
	}
	text, err := p.bound.memory.Grow(p.buf, length)
	if p.buf = text; err != nil {
		p.fail(err)
	}
}
