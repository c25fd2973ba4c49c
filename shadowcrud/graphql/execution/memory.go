package execution

import (
	"errors"
	"net/http"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/store"
)

// The memory of an answer is reserved before it is taken, or as soon as what it takes is known: the text, the rows and levels that it is
// made of, and its errors. Where it is not free, a query lets go of all of it, waits and begins anew; whatever has changed
// something, or called what a program brought, fails.

const (
	// objectBytes is about what an object takes that was read: its row, its place in a list, its link.
	objectBytes = 160
	// errorBytes is about what an error takes: as a value, and as text.
	errorBytes = 512
)

// errNoMemory is told of a field of Mutation for whose answer no memory was free.
var errNoMemory = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Message: "other requests use the memory that limits.memory gives to all of them"}

// hold reserves memory that is needed beside the text.
func (x *execution) hold(bytes int64) {
	x.beside += bytes
	if err := x.reserved.Hold(x.beside); err != nil {
		x.fail(err)
	}
}

// fits makes room for a part of the text; 0 stands for any small one.
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

// fitsRow makes room for what is printed of a large row.
func (x *execution) fitsRow(s *selection, r *store.Record) {
	part := 0
	for _, f := range s.fields {
		if f.as <= asHidden && f.attr != nil {
			part += len(r.JSON(f.attr))
		}
	}
	x.fits(part)
}

// await lets go of all that was made, and waits until there is memory to begin anew.
func (x *execution) await() error {
	x.forget()
	x.buf, x.errors, x.path, x.failed = nil, nil, x.path[:0], nil
	x.beside, x.objects, x.since, x.own = 0, 0, 0, false
	if err := x.reserved.Wait(x.ctx); err != nil {
		return err
	}
	x.reserved.Restart()
	return nil
}
