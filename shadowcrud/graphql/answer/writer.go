package answer

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/store"
)

// Settings are the same for all answers of a schema.
type Settings struct {
	TooLong error // the error of an answer that is longer than its budget.Answer allows
	Log     *slog.Logger
}

// A Writer holds the text of an answer while it is printed: JSON values, the path of the field that is being printed,
// and the errors of fields. A function that prints a value with it appends to Buf. When one of its methods fails, the
// failure is kept in Failed, and nothing more should be printed.
//
// It reserves the memory of the text, of the errors and of what is read before that is allocated, or as soon as the
// amount is known. If there is not enough free memory, its user may call Restart and print again, unless it has changed
// something or called a function of a program.
type Writer struct {
	*Settings
	Ctx context.Context
	id  string // identifies the request in the log

	Buf        []byte // the data
	full       []byte // used if there are errors: the errors, then Buf
	path       []pathSegment
	Errors     []*language.Error
	Failed     error // set when nothing more can be read or printed
	sinceCheck int   // how many objects were printed since the context was checked

	reserved budget.Answer // the memory of Buf, full, path, Errors, and what Reserve was called for
	extra    int64         // bytes reserved for all of them except Buf
	pooled   int64         // bytes of extra that the pool holds from an earlier answer
}

// A pathSegment is a part of the path to a field: its name, or an index in a list.
type pathSegment struct {
	name  string // if empty, the segment is index
	index int
}

// maxPooled is how many bytes of answers and how many bytes of levels a writer may keep for the next answer. More is
// left to the garbage collector.
const maxPooled = 1 << 20

// New returns a Writer, for Begin.
func New() Writer { return Writer{Buf: make([]byte, 0, 8<<10)} }

// Begin begins an answer. It returns false if there is no free memory for what its user kept of the answer before, and
// must drop now.
func (w *Writer) Begin(ctx context.Context, memory budget.Answer, settings *Settings, requestID string) bool {
	w.Ctx, w.Settings, w.id, w.reserved = ctx, settings, requestID, memory
	w.Buf = w.reserved.Adopt(w.Buf)
	if w.reserved.Hold(w.pooled) != nil {
		w.pooled = 0
		return false
	}
	return true
}

// End ends an answer and releases its memory. It returns false if the answer was so large that neither w nor what its
// user has should be kept for another answer.
func (w *Writer) End() bool {
	w.reserved.Release()
	if cap(w.Buf)+cap(w.full) > maxPooled || w.extra > maxPooled {
		return false
	}
	*w = Writer{pooled: max(w.pooled, w.extra), Buf: w.Buf[:0], full: w.full[:0], path: w.path[:0]}
	return true
}

// Restart drops what was printed, and releases all memory. It returns when there is memory to print the answer again,
// or with an error if there is none within the time that an answer may wait.
func (w *Writer) Restart() error {
	w.Buf, w.Errors, w.path, w.Failed = nil, nil, w.path[:0], nil
	w.extra, w.pooled, w.sinceCheck = 0, 0, 0
	if err := w.reserved.Wait(w.Ctx); err != nil {
		return err
	}
	w.reserved.Restart()
	return nil
}

// Fail ends the printing: nothing more is read or printed. The first error wins.
func (w *Writer) Fail(err error) {
	if w.Failed == nil {
		w.Failed = err
	}
}

// objectsAtATime is how many objects are printed between two checks of the context.
const objectsAtATime = 256

// MayContinue reports whether printing may continue: the context is not done, and Buf has room. It is to be called for
// each object.
func (w *Writer) MayContinue() bool {
	w.Fits(0)
	if w.sinceCheck++; w.sinceCheck%objectsAtATime == 0 {
		if err := w.Ctx.Err(); err != nil {
			w.Fail(err)
		}
	}
	return w.Failed == nil
}

// Reserve reserves memory in addition to that of Buf.
func (w *Writer) Reserve(bytes int64) {
	w.extra += bytes
	if err := w.reserved.Hold(w.extra); err != nil {
		w.Fail(err)
	}
}

// Hold does the same as Reserve, and returns Failed.
func (w *Writer) Hold(bytes int64) error {
	w.Reserve(bytes)
	return w.Failed
}

// Fits makes room in Buf for the next part of the answer, which has that many bytes. 0 stands for any small part.
func (w *Writer) Fits(part int) {
	if w.reserved.Fits(len(w.Buf), part) {
		return
	}
	text, err := w.reserved.Grow(w.Buf, part)
	switch {
	case err == nil:
		w.Buf = text
	case errors.Is(err, budget.ErrTooLong):
		w.Fail(w.TooLong)
	default:
		w.Fail(err)
	}
}

// beginOfData is what an answer without errors begins with.
const beginOfData = `{"data":`

// BeginData begins the object of root fields.
func (w *Writer) BeginData() { w.Buf = append(append(w.Buf[:0], beginOfData...), '{') }

// EndData ends the object of root fields. If ok is false it prints null in its place.
func (w *Writer) EndData(ok bool) {
	if ok {
		w.Buf = append(w.Buf, "}}\n"...)
	} else {
		w.Buf = append(w.Buf[:len(beginOfData)], "null}\n"...)
	}
}

// TakeBack removes what was printed from begin on, and all errors but the first of them.
func (w *Writer) TakeBack(begin, errors int) {
	w.Buf, w.Errors, w.path = w.Buf[:begin], w.Errors[:errors], w.path[:0]
}

// ReserveErrors reserves the memory that Answer takes if there are errors.
func (w *Writer) ReserveErrors() {
	if len(w.Errors) > 0 { // Answer copies all of it to full
		w.Reserve(int64(len(w.Buf) + errorBytes*len(w.Errors)))
	}
}

// Answer returns the complete answer: the errors, if there are any, and the data.
func (w *Writer) Answer() []byte {
	if len(w.Errors) == 0 {
		return w.Buf
	}
	w.full = language.AppendErrors(append(w.full[:0], '{'), w.Errors)
	w.full = append(w.full, ',')
	w.full = append(w.full, w.Buf[1:]...)
	return w.full
}

// Push and PushIndex add a field or an index to the path, Pop removes the last part of it.
func (w *Writer) Push(name string) { w.path = append(w.path, pathSegment{name: name}) }
func (w *Writer) PushIndex(i int)  { w.path = append(w.path, pathSegment{index: i}) }
func (w *Writer) Pop()             { w.path = w.path[:len(w.path)-1] }

// pathTo copies the current path, and appends name unless that is "".
func (w *Writer) pathTo(name string) []any {
	path := make([]any, 0, len(w.path)+1)
	for _, s := range w.path {
		if s.name != "" {
			path = append(path, s.name)
		} else {
			path = append(path, s.index)
		}
	}
	if name != "" {
		path = append(path, name)
	}
	return path
}

// Key prints the key of member i of an object, with the comma before it.
func (w *Writer) Key(i int, key []byte) {
	if i > 0 {
		w.Buf = append(w.Buf, ',')
	}
	w.Buf = append(w.Buf, key...)
}

// Null prints null.
func (w *Writer) Null() { w.Buf = append(w.Buf, "null"...) }

// NullFrom replaces what was printed from begin on by null and returns true, or returns false if the value must not be
// null.
func (w *Writer) NullFrom(begin int, nonNull bool) bool {
	if nonNull {
		return false
	}
	w.Buf = append(w.Buf[:begin], "null"...)
	return true
}

// Text prints a string that needs no escaping; String prints any string.
func (w *Writer) Text(s string)   { w.Buf = append(append(append(w.Buf, '"'), s...), '"') }
func (w *Writer) String(s string) { w.Buf = jsontree.AppendString(w.Buf, s) }
func (w *Writer) Boolean(b bool)  { w.Buf = strconv.AppendBool(w.Buf, b) }
func (w *Writer) Number(n int)    { w.Buf = strconv.AppendInt(w.Buf, int64(n), 10) }

// maxSafeDigits is the number of digits up to which JSON holds every integer exactly.
const maxSafeDigits = 15

// Long prints an integer that is stored as a string: as a number if JSON holds it exactly, otherwise as a string.
func (w *Writer) Long(raw []byte) {
	digits := raw
	if raw[0] == '"' {
		digits = raw[1 : len(raw)-1]
	}
	if len(digits) > maxSafeDigits {
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil || n > jsontree.MaxSafeInteger || n < -jsontree.MaxSafeInteger {
			w.Buf = append(append(append(w.Buf, '"'), digits...), '"')
			return
		}
	}
	w.Buf = append(w.Buf, digits...)
}

// errorBytes estimates the memory of an error, as a value and as text.
const errorBytes = 512

// AddError adds the error of the field called name at the current path. Errors that clients may not see are logged.
func (w *Writer) AddError(name string, err error) {
	var carriedOut *store.CarriedOutError
	if errors.Is(err, store.ErrRedefined) || errors.As(err, &carriedOut) {
		w.Fail(err) // the gateway runs the request again, or answers with the answer that was kept
		return
	}
	w.Reserve(errorBytes)
	e, known := ClientError(err)
	if !known {
		w.LogError("field", name, err)
	}
	wrong := ErrorOf(e)
	wrong.Path = w.pathTo(name)
	w.Errors = append(w.Errors, wrong)
}

// LogError logs the error of a field, which is named by an attribute of the record.
func (w *Writer) LogError(key string, field any, err error) {
	w.Log.ErrorContext(w.Ctx, "a GraphQL field failed", "id", w.id, key, field, "error", err)
}

// AddFault adds an error that says what is wrong with the answer itself: a null where none may be, or a value that does
// not fit its type.
func (w *Writer) AddFault(at language.Location, name, message string) {
	w.Reserve(errorBytes)
	w.Errors = append(w.Errors, &language.Error{
		Message: message, Locations: []language.Location{at}, Path: w.pathTo(name), Code: language.Internal,
	})
}
