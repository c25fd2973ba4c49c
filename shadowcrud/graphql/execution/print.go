package execution

import (
	"math"
	"strconv"

	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A function that prints a value adds an error and returns false if the value is null but must not be. The nearest parent that may be null
// then replaces its own text with null.

// objectsAtATime is how many objects are printed between two checks of the context.
const objectsAtATime = 256

// mayContinue reports whether printing may continue: the context is not done, and buf has room.
func (x *execution) mayContinue() bool {
	x.fits(0)
	if x.sinceCheck++; x.sinceCheck%objectsAtATime == 0 {
		if err := x.ctx.Err(); err != nil {
			x.fail(err)
		}
	}
	return x.failed == nil
}

// countObject counts an object that is about to be printed, and reports whether the answer may hold it.
func (x *execution) countObject() bool {
	if x.objects++; x.objects > x.loader.Most {
		x.fail(x.tooManyObjects())
	}
	return x.mayContinue()
}

// object prints row i of a level.
func (x *execution) object(l *level, i int) bool {
	if !x.countObject() {
		return false
	}
	r := &l.Rows[i]
	if r.Size() > budget.Small {
		if x.fitsRow(l.Selection, r); x.failed != nil {
			return false
		}
	}
	x.buf = append(x.buf, '{')
	for n := 0; n < len(l.Selection.fields); n++ {
		if run := l.Selection.runs[n]; run > 0 {
			var printed int
			x.buf, printed = r.AppendMembers(x.buf, l.Selection.plain[n:n+run], n == 0)
			if n += printed; n == len(l.Selection.fields) {
				break
			}
		}
		if n > 0 {
			x.buf = append(x.buf, ',')
		}
		f := l.Selection.fields[n]
		x.buf = append(x.buf, f.key...)
		ok := true
		switch {
		case f.as == asTypename:
			x.text(l.Selection.typ.Name)
		case f.as <= asHidden:
			ok = x.value(f, r)
		case f.as == asCustom:
			ok = x.custom.field(f, l, i)
		default:
			ok = x.related(l, i, f)
		}
		if !ok {
			return false
		}
	}
	x.buf = append(x.buf, '}')
	return true
}

func (x *execution) null() { x.buf = append(x.buf, "null"...) }

// orNull replaces buf[begin:] by null and returns true, or returns false if f must not be null.
func (x *execution) orNull(f *field, begin int) bool {
	if f.nonNull {
		return false
	}
	x.buf = append(x.buf[:begin], "null"...)
	return true
}

// value prints a scalar of a row.
func (x *execution) value(f *field, r *store.Record) bool {
	switch f.as {
	case asHidden:
		return x.missing(f)
	case asUnsupported:
		return x.unsupported(f)
	case asUser:
		if !x.access.Sees(f.attr) {
			x.addError(f.name, errForbidden)
			return x.orNull(f, len(x.buf))
		}
	}
	raw := r.JSON(f.attr)
	if raw == nil {
		return x.missing(f)
	}
	switch f.as {
	case asStored, asUser:
		x.buf = append(x.buf, raw...)
	case asID:
		x.buf = append(append(append(x.buf, '"'), raw...), '"')
	case asLong:
		x.long(raw)
	case asInteger:
		if len(raw) > maxShortInt && !isInt32(raw) {
			x.addError(f.name, errOutput("Int cannot represent non 32-bit signed integer value: "+string(raw)))
			return x.orNull(f, len(x.buf))
		}
		x.buf = append(x.buf, raw...)
	case asEnum:
		return x.enum(f, raw)
	}
	return true
}

// missing prints null, or adds an error if f must not be null.
func (x *execution) missing(f *field) bool {
	if f.nonNull {
		x.addNullError(f, f.spec.Of.Name)
		return false
	}
	x.null()
	return true
}

// unsupported adds the error of a field that the engine cannot answer.
func (x *execution) unsupported(f *field) bool {
	x.addError(f.name, errOutput("This field cannot be answered yet"))
	return x.orNull(f, len(x.buf))
}

func isInt32(raw []byte) bool {
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f >= math.MinInt32 && f <= math.MaxInt32 && f == math.Trunc(f)
}

// maxSafeDigits is the number of digits up to which JSON holds every integer exactly.
const maxSafeDigits = 15

// long prints an integer that is stored as a string: as a number if JSON holds it exactly, otherwise as a string.
func (x *execution) long(raw []byte) {
	digits := raw
	if raw[0] == '"' {
		digits = raw[1 : len(raw)-1]
	}
	if len(digits) > maxSafeDigits {
		if n, err := strconv.ParseInt(string(digits), 10, 64); err != nil || n > jsontree.MaxSafeInteger || n < -jsontree.MaxSafeInteger {
			x.buf = append(append(append(x.buf, '"'), digits...), '"')
			return
		}
	}
	x.buf = append(x.buf, digits...)
}

func (x *execution) enum(f *field, raw []byte) bool {
	if len(raw) >= 2 && raw[0] == '"' {
		if name, ok := f.spec.Enum.NameOf(string(raw[1 : len(raw)-1])); ok {
			x.buf = append(append(append(x.buf, '"'), name...), '"')
			return true
		}
	}
	if v, err := jsontree.Parse(raw, 1); err == nil {
		if s, ok := v.(string); ok {
			if name, ok := f.spec.Enum.NameOf(s); ok {
				x.buf = append(append(append(x.buf, '"'), name...), '"')
				return true
			}
		}
	}
	x.addError(f.name, errOutput(`Enum "`+f.spec.Enum.Name+`" cannot represent value: `+string(raw)))
	return x.orNull(f, len(x.buf))
}

// text prints a string that needs no escaping.
func (x *execution) text(s string) { x.buf = append(append(append(x.buf, '"'), s...), '"') }

func (x *execution) number(n int) { x.buf = strconv.AppendInt(x.buf, int64(n), 10) }

// related prints the rows related to row i of a level by a field.
func (x *execution) related(l *level, i int, f *field) bool {
	begin := len(x.buf)
	if err := x.bindings[f.slot].err; err != nil {
		x.addError(f.name, err)
		return x.orNull(f, begin)
	}
	to := &l.To[f.load]
	items := to.Of(i)
	if f.spec.Kind == schema.MeRole && !x.printsCaller && !x.custom.showsCaller(l) && !x.access.Follows(f.attr) {
		items = nil
	}
	x.push(f.name)
	ok := false
	switch f.as {
	case asOne, asUnion:
		if ok = len(items) > 0; !ok {
			if f.nonNull {
				x.pop()
				x.addNullError(f, l.Selection.object.Name)
				return false
			}
		} else {
			ok = x.item(to, items[0])
		}
	case asList, asUnionList:
		ok = x.list(to, nil, f, items)
	case asConnection:
		ok = x.connection(to, f, items, nil, 0)
	}
	x.pop()
	return ok || x.orNull(f, begin)
}

// item prints one of the related rows of a field.
func (x *execution) item(to *loaded, row int32) bool {
	l, i := to.Item(row)
	return x.object(l, int(i))
}

// list prints the related rows of a field with the selection of level l, or, if l is nil, each with the selection of its union member. A row
// that cannot be printed becomes null if items of the list may be null.
func (x *execution) list(to *loaded, l *level, f *field, items []int32) bool {
	x.buf = append(x.buf, '[')
	for n, row := range items {
		if n > 0 {
			x.buf = append(x.buf, ',')
		}
		begin := len(x.buf)
		x.pushIndex(n)
		of, i := l, row
		if l == nil {
			of, i = to.Item(row)
		}
		ok := x.object(of, int(i))
		x.pop()
		if !ok {
			if f.items || x.failed != nil {
				return false
			}
			x.buf = append(x.buf[:begin], "null"...)
		}
	}
	x.buf = append(x.buf, ']')
	return true
}

// connection prints {nodes, pageInfo}. page may be nil if the connection has no pageInfo.
func (x *execution) connection(to *loaded, f *field, items []int32, page *paging, total int) bool {
	x.buf = append(x.buf, '{')
	for n, part := range f.of.fields {
		if n > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = append(x.buf, part.key...)
		begin := len(x.buf)
		ok := true
		switch part.as {
		case asTypename:
			x.text(f.of.typ.Name)
		case asNodes:
			x.push(part.name)
			ok = x.list(to, to.Levels[part.sub], part, items)
			x.pop()
		case asPageInfo:
			x.pageInfo(part, *page, total)
		default:
			ok = x.unsupported(part)
		}
		if !ok && !x.orNull(part, begin) {
			return false
		}
	}
	x.buf = append(x.buf, '}')
	return true
}

// payload prints an object that is not a document. print prints one field of it, and returns false if the field is null but must not be.
func (x *execution) payload(of *selection, print func(*field) bool) bool {
	x.buf = append(x.buf, '{')
	for i, f := range of.fields {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = append(x.buf, f.key...)
		begin, ok := len(x.buf), true
		switch f.as {
		case asTypename:
			x.text(of.typ.Name)
		case asOK:
			x.boolean(true)
		default:
			ok = print(f)
		}
		if !ok && !x.orNull(f, begin) {
			return false
		}
	}
	x.buf = append(x.buf, '}')
	return true
}

func (x *execution) pageInfo(f *field, p paging, total int) {
	x.buf = append(x.buf, '{')
	for n, part := range f.of.fields {
		if n > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = append(x.buf, part.key...)
		switch part.as {
		case asPageTotal:
			x.number(total)
		case asPageNumber:
			x.number(p.number(total))
		case asPageSize:
			x.number(p.size(total))
		case asPageCount:
			x.number(p.count(total))
		default:
			x.text(f.of.typ.Name)
		}
	}
	x.buf = append(x.buf, '}')
}
