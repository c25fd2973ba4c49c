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

// AnswerLimits limit the work on answers. The zero value has only the limit DefaultAnswerBytes.
type AnswerLimits struct {
	Time   time.Duration  // maximum time of the work on an answer; 0: no limit
	Bytes  int            // maximum length of an answer; 0: DefaultAnswerBytes
	Memory *budget.Budget // memory that all answers share; nil: no limit
	// TooLong is the error for an answer of more than Bytes; nil: an error that names no setting.
	TooLong error
	// Send writes the body of an answer as fast as the client reads it; nil: write it at once. After an error the
	// connection is closed.
	Send func(ctx context.Context, w http.ResponseWriter, body []byte) error
}

// DefaultAnswerBytes is the default maximum length of an answer. Without a limit, a short request could have an answer
// longer than any memory, since relations can be populated in circles.
const DefaultAnswerBytes = 16 << 20

// unlimited are the limits of a caller that sets none.
var unlimited = &AnswerLimits{}

// Answer returns the account of the memory that one answer reserves.
func (l *AnswerLimits) Answer() budget.Answer { return l.Memory.Answer(l.bytes()) }

func (l *AnswerLimits) bytes() int { return cmp.Or(l.Bytes, DefaultAnswerBytes) }

// tooLong returns the error for an answer that is too long.
func (l *AnswerLimits) tooLong() error { return cmp.Or[error](l.TooLong, errTooLong) }

// errTooLong is the error for an answer that is too long, unless Limits.TooLong is set.
var errTooLong = apierror.Validation("The answer is too large: ask for fewer documents, fields or populated relations")

// documentsAtATime is the number of documents that are printed between two checks of the deadline.
const documentsAtATime = 256

// A bound ends an answer that is too long or takes too long, or whose request was cancelled.
type bound struct {
	ctx     context.Context
	limits  *AnswerLimits
	memory  *budget.Answer
	printed int
	until   time.Time // the deadline; set by the first check
}

// view calls print with a snapshot. If print fails because there is not enough memory for the answer, view waits for
// memory and calls print again. It does not hold a snapshot while it waits, since a snapshot keeps pages of the file
// from being reused.
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

// check returns an error if the answer must end. It is called before each document is printed.
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

// reserve reserves memory for the fields of a row or component, without what it populates.
func (p *printer) reserve(r *store.Record, s *documents.Selection) {
	length := 0
	if r.Size() > budget.Small { // count only the fields that are printed
		for _, a := range s.Fields {
			length += len(r.JSON(a))
		}
	}
	p.reserveBytes(length)
}

// reserveBytes reserves memory for a text of this length.
func (p *printer) reserveBytes(length int) {
	if p.bound.memory.Fits(len(p.buf), length) {
		return
	}
	text, err := p.bound.memory.Grow(p.buf, length)
	if p.buf = text; err != nil {
		p.fail(err)
	}
}
