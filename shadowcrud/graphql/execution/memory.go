package execution

import (
	"errors"
	"net/http"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/store"
)

// An answer reserves its memory before it allocates it, or as soon as the amount is known: the text, the rows and levels, and the errors.
// Where memory is not free, a query releases everything, waits and starts again. Operations that have changed something or called code of a
// program fail.

const (
	// objectBytes estimates the memory of an object that was read: its row, its place in a list, its link.
	objectBytes = 160
	// errorBytes estimates the memory of an error, as a value and as text.
	errorBytes = 512
)

// errNoMemory is the error of a field of Mutation for whose answer there was no free memory.
var errNoMemory = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Message: "other requests use the memory that limits.memory gives to all of them"}

// reserve reserves memory beside the text of the answer.
func (x *execution) reserve(bytes int64) {
	x.beside += bytes
	if err := x.reserved.Hold(x.beside); err != nil {
		x.fail(err)
	}
}

// fits makes room for a part of the text; 0 stands for a small one.
func (x *execution) fits(part int) {
	if x.reserved.Fits(len(x.buf), part) {
		return
	}
	text, err := x.reserved.Grow(x.buf, part)
	switch {
	case err == nil:
		x.buf = text
	case errors.Is(err, budget.ErrTooLong):
		x.fail(x.tooManyBytes())
	default:
		x.fail(err)
	}
}

// fitsRow makes room for the printed values of a large row.
func (x *execution) fitsRow(s *selection, r *store.Record) {
	part := 0
	for _, f := range s.fields {
		if f.as <= asHidden && f.attr != nil {
			part += len(r.JSON(f.attr))
		}
	}
	x.fits(part)
}

// await releases everything and waits until there is memory to start again.
func (x *execution) await() error {
	x.forget()
	x.buf, x.errors, x.path, x.failed = nil, nil, x.path[:0], nil
	x.beside, x.objects, x.since, x.printsCaller = 0, 0, 0, false
	if err := x.reserved.Wait(x.ctx); err != nil {
		return err
	}
	x.reserved.Restart()
	return nil
}
