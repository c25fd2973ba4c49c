package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// streamAction is the permission to read a list of any length in one answer. The caller needs the permission find, too.
const streamAction = "stream"

// Lines says how a list is sent as JSON Lines: every document that matches, on a line of its own. All lines show one
// snapshot, which the answer holds until its end.
type Lines struct {
	Time    time.Duration // how long the answer may take
	TooLate error         // the error of an answer that takes longer
	// Open counts the answer among those that may be sent at a time, until done is called.
	Open func() (done func(), err error)
	// Write sends lines at once. It returns an error if the client does not read them in time.
	Write func(text []byte) error
	// Cut ends an answer that has begun and cannot be completed, so that the client sees that. It does not return.
	Cut func(error)
}

var typeLines = []string{"application/x-ndjson"}

// GET /api/{plural} with Accept: application/x-ndjson: all documents of a list. HEAD has the same head, and reads one
// document.
func (rt *Route) lines(w http.ResponseWriter, r *http.Request, c Call) error {
	if !c.Access.Allows(rt.Type, streamAction) {
		return apierror.Forbidden()
	}
	list, err := plan(rt, r, c, (*params.Parser).Stream)
	if err != nil {
		return err
	}
	done, err := c.Lines.Open()
	if err != nil {
		return err
	}
	defer done()
	limits := *c.limits()
	limits.Time = c.Lines.Time
	c.Limits = &limits
	l := lineWriter{printer: rt.printer(r, c, list.Query.Status, list.Publication), w: w, lines: c.Lines}
	defer l.release()
	err = l.list(r, list)
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
		err = c.Lines.TooLate
	}
	if err != nil && l.begun {
		c.Lines.Cut(err)
	}
	return err
}

// A lineWriter prints documents as lines, and sends each block of them when it is printed.
type lineWriter struct {
	*printer
	w     http.ResponseWriter
	lines *Lines
	begun bool // the head was sent
}

// list prints and sends all documents of a list. Of these, HEAD needs one: whether there is any, and whether it can be
// printed, decides the head.
func (l *lineWriter) list(r *http.Request, list *params.List) error {
	sorting := l.bound.limits.Memory.Reservation()
	defer sorting.Release()
	err := l.api.store.View(func(s *store.Snapshot) error {
		s.Within(r.Context(), l.lines.Time)
		l.snapshot = s
		if err := s.Covers(&list.Query); err != nil {
			return err
		}
		if r.Method == http.MethodHead && list.Query.Limit != 0 {
			list.Query.Limit, list.Query.Sort = 1, nil // another order could take all documents to find the first one
		}
		return s.Each(&list.Query, sorting.Grow,
			func(rows []store.Record) error { return l.block(rows, list.Selection) })
	})
	if err == nil && !l.begun {
		l.begin()
	}
	return err
}

func (l *lineWriter) begin() {
	l.begun = true
	l.w.Header()["Content-Type"] = typeLines
	l.w.WriteHeader(http.StatusOK)
}

// block prints and sends rows. If there is not enough memory for all of them at a time, it begins with fewer.
func (l *lineWriter) block(rows []store.Record, shown *documents.Selection) error {
	for n := len(rows); len(rows) > 0; {
		n = min(n, len(rows))
		if err := l.print(rows[:n], shown); err != nil {
			if n == 1 || !l.isTooMuch(err) {
				return err
			}
			n /= 2
			continue
		}
		if !l.begun {
			l.begin()
		}
		l.snapshot.Rest() // the client may be slow
		if err := l.lines.Write(l.buf); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// isTooMuch reports whether fewer documents would not have had this error.
func (l *lineWriter) isTooMuch(err error) bool {
	return errors.Is(err, budget.ErrExhausted) || errors.Is(err, l.bound.limits.tooLong())
}

// print prints rows to the empty buffer.
func (l *lineWriter) print(rows []store.Record, shown *documents.Selection) error {
	l.buf, l.err = l.buf[:0], nil
	l.memory.Restart()
	top := l.load(rows, shape{Selection: shown})
	for i := range rows {
		begin := len(l.buf)
		if l.document(top, i); l.err != nil {
			return l.err
		}
		joinLines(l.buf[begin:])
		l.buf = append(l.buf, '\n')
	}
	return l.err
}
