package rest

import (
	"context"
	"time"

	"lectern/documents"
)

// maxAnswer is how long an answer may become. Relations can be populated in circles, so that a short question asks for more
// than any memory holds.
const maxAnswer = 64 << 20

// documentsAtATime are printed between two looks at the clock.
const documentsAtATime = 256

// A bound ends an answer that is too long, takes too long, or that nobody waits for any more.
type bound struct {
	ctx     context.Context
	limit   time.Duration
	printed int
	until   time.Time // set at the first look
}

// check is called before each document is printed.
func (b *bound) check(length int) error {
	if length > maxAnswer {
		return documents.ValidationError("The answer is too large: ask for fewer documents, fields or populated relations")
	}
	if b.printed++; b.printed%documentsAtATime != 0 {
		return nil
	}
	if err := b.ctx.Err(); err != nil || b.limit == 0 {
		return err
	}
	now := time.Now()
	if b.until.IsZero() {
		b.until = now.Add(b.limit)
	}
	if now.After(b.until) {
		return context.DeadlineExceeded
	}
	return nil
}
