package execution

import (
	"errors"
	"net/http"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/store"
)

// An execution reserves the memory of the text, the rows and levels, and the errors before it allocates it, or as soon as the amount is
// known. If there is not enough free memory, a query releases everything, waits and starts again. An operation that has changed something
// or called a function of a program fails.

// errorBytes estimates the memory of an error, as a value and as text.
const errorBytes = 512

// errNoMemory is the error of a field of Mutation when there is no free memory for its answer.
var errNoMemory = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Message: "other requests use the memory that limits.memory gives to all of them", Reason: apierror.Memory}

// errNeverMemory is the error of a document that needs more memory than there is.
var errNeverMemory = &apierror.Error{Status: http.StatusRequestEntityTooLarge, Name: "PayloadTooLargeError",
	Message: "the document takes more memory when it is parsed than limits.memory allows", Reason: apierror.BodySize}

// reserve reserves memory in addition to that of buf.
func (x *execution) reserve(bytes int64) {
	x.extra += bytes
	if err := x.reserved.Hold(x.extra); err != nil {
		x.fail(err)
	}
}

// fits makes room in buf for the next part of the answer, which has that many bytes. 0 stands for any small part.
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
	x.extra, x.objects, x.sinceCheck, x.printsCaller = 0, 0, 0, false
	if err := x.reserved.Wait(x.ctx); err != nil {
		return err
	}
	x.reserved.Restart()
	return nil
}
