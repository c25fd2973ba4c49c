package execution

import (
	"math"
	"strconv"

	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A function that prints a value adds an error and returns false if the value is null but must not be. The nearest
// parent that may be null then replaces its own text with null.

// countObject counts an object that is about to be printed, and reports whether the answer may hold it.
func (x *execution) countObject() bool {
	if x.objects++; x.objects > x.loader.Most {
		x.Fail(x.tooManyObjects())
	}
	return x.MayContinue()
}

// object prints row i of a level.
func (x *execution) object(l *level, i int) bool {
	if !x.countObject() {
		return false
	}
	r := &l.Rows[i]
	if r.Size() > budget.Small {
		if x.fitsRow(l.Selection, r); x.Failed != nil {
			return false
		}
	}
	x.Buf = append(x.Buf, '{')
	for n := 0; n < len(l.Selection.Fields); n++ {
		if run := l.Selection.Runs[n]; run > 0 && !x.limited {
			var printed int
			x.Buf, printed = r.AppendMembers(x.Buf, l.Selection.Stored[n:n+run], n == 0)
			if n += printed; n == len(l.Selection.Fields) {
				break
			}
		}
		f := l.Selection.Fields[n]
		x.Key(n, f.Key)
		ok := true
		switch {
		case f.As == plan.AsTypename:
			x.Text(l.Selection.Type.Name)
		case f.As <= plan.AsHidden:
			ok = x.value(f, r)
		case f.As == plan.AsCustom:
			ok = x.custom.field(f, l, i)
		default:
			ok = x.related(l, i, f)
		}
		if !ok {
			return false
		}
	}
	x.Buf = append(x.Buf, '}')
	return true
}

// fitsRow makes room for the printed values of a large row.
func (x *execution) fitsRow(s *plan.Selection, r *store.Record) {
	part := 0
	for _, f := range s.Fields {
		if f.As <= plan.AsHidden && f.Attr != nil {
			part += len(r.JSON(f.Attr))
		}
	}
	x.Fits(part)
}

// orNull replaces buf[begin:] by null and returns true, or returns false if f must not be null.
func (x *execution) orNull(f *plan.Field, begin int) bool { return x.NullFrom(begin, f.NonNull) }

// addNullError adds the error of a field that is null but must not be.
func (x *execution) addNullError(f *plan.Field, of string) {
	x.AddFault(x.plan.Doc.Location(f.Node.Position), f.Name,
		"Cannot return null for non-nullable field "+of+"."+f.Node.Name+".")
}

// isLimited reports whether a rule leaves the scalar that a field shows out of what the caller reads.
func (x *execution) isLimited(f *plan.Field) bool {
	return f.Attr != nil && f.As != plan.AsHidden && x.access.LimitsFields(f.Attr.Owner) && !x.access.Sees(f.Attr)
}

// value prints a scalar of a row.
func (x *execution) value(f *plan.Field, r *store.Record) bool {
	if x.limited && x.isLimited(f) {
		x.AddError(f.Name, binding.ErrForbidden)
		return x.orNull(f, len(x.Buf))
	}
	switch f.As {
	case plan.AsHidden:
		return x.missing(f)
	case plan.AsUnsupported:
		return x.unsupported(f)
	case plan.AsUser:
		if !x.access.Sees(f.Attr) {
			x.AddError(f.Name, binding.ErrForbidden)
			return x.orNull(f, len(x.Buf))
		}
	}
	raw := r.JSON(f.Attr)
	if raw == nil {
		return x.missing(f)
	}
	switch f.As {
	case plan.AsStored, plan.AsUser:
		x.Buf = append(x.Buf, raw...)
	case plan.AsID:
		x.Buf = append(append(append(x.Buf, '"'), raw...), '"')
	case plan.AsLong:
		x.Long(raw)
	case plan.AsInteger:
		if len(raw) > plan.MaxShortInt && !isInt32(raw) {
			x.AddError(f.Name, answer.Unrepresentable("Int cannot represent non 32-bit signed integer value: "+
				string(raw)))
			return x.orNull(f, len(x.Buf))
		}
		x.Buf = append(x.Buf, raw...)
	case plan.AsEnum:
		return x.enum(f, raw)
	}
	return true
}

// missing prints null, or adds an error if f must not be null.
func (x *execution) missing(f *plan.Field) bool {
	if f.NonNull {
		x.addNullError(f, f.Spec.Of.Name)
		return false
	}
	x.Null()
	return true
}

// unsupported adds the error of a field that the engine cannot answer.
func (x *execution) unsupported(f *plan.Field) bool {
	x.AddError(f.Name, answer.Unrepresentable("This field cannot be answered yet"))
	return x.orNull(f, len(x.Buf))
}

func isInt32(raw []byte) bool {
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f >= math.MinInt32 && f <= math.MaxInt32 && f == math.Trunc(f)
}

func (x *execution) enum(f *plan.Field, raw []byte) bool {
	if len(raw) >= 2 && raw[0] == '"' {
		if name, ok := f.Spec.Enum.NameOf(string(raw[1 : len(raw)-1])); ok {
			x.Buf = append(append(append(x.Buf, '"'), name...), '"')
			return true
		}
	}
	if v, err := jsontree.Parse(raw, 1); err == nil {
		if s, ok := v.(string); ok {
			if name, ok := f.Spec.Enum.NameOf(s); ok {
				x.Buf = append(append(append(x.Buf, '"'), name...), '"')
				return true
			}
		}
	}
	x.AddError(f.Name, answer.Unrepresentable(`Enum "`+f.Spec.Enum.Name+`" cannot represent value: `+string(raw)))
	return x.orNull(f, len(x.Buf))
}

// related prints the rows related to row i of a level by a field.
func (x *execution) related(l *level, i int, f *plan.Field) bool {
	begin := len(x.Buf)
	if err := x.bindings[f.Slot].Err; err != nil {
		x.AddError(f.Name, err)
		return x.orNull(f, begin)
	}
	to := &l.To[f.Load]
	items := to.Of(i)
	if f.Spec.Kind == schema.MeRole && !x.printsCaller && !x.custom.showsCaller(l) && !x.access.Follows(f.Attr) {
		items = nil
	}
	x.Push(f.Name)
	ok := false
	switch f.As {
	case plan.AsOne, plan.AsUnion:
		if ok = len(items) > 0; !ok {
			if f.NonNull {
				x.Pop()
				x.addNullError(f, l.Selection.Object.Name)
				return false
			}
		} else {
			ok = x.item(to, items[0])
		}
	case plan.AsList, plan.AsUnionList:
		ok = x.list(to, nil, f, items)
	case plan.AsConnection:
		ok = x.connection(to, f, items, nil, 0)
	}
	x.Pop()
	return ok || x.orNull(f, begin)
}

// item prints one of the related rows of a field.
func (x *execution) item(to *loaded, row int32) bool {
	l, i := to.Item(row)
	return x.object(l, int(i))
}

// list prints the related rows of a field with the selection of level l, or, if l is nil, each with the selection of
// its union member. A row that cannot be printed becomes null if items of the list may be null.
func (x *execution) list(to *loaded, l *level, f *plan.Field, items []int32) bool {
	x.Buf = append(x.Buf, '[')
	for n, row := range items {
		if n > 0 {
			x.Buf = append(x.Buf, ',')
		}
		begin := len(x.Buf)
		x.PushIndex(n)
		of, i := l, row
		if l == nil {
			of, i = to.Item(row)
		}
		ok := x.object(of, int(i))
		x.Pop()
		if !ok {
			if f.NonNullItems || x.Failed != nil {
				return false
			}
			x.Buf = append(x.Buf[:begin], "null"...)
		}
	}
	x.Buf = append(x.Buf, ']')
	return true
}

// connection prints {nodes, pageInfo}. page may be nil if the connection has no pageInfo.
func (x *execution) connection(to *loaded, f *plan.Field, items []int32, page *binding.Paging, total int) bool {
	x.Buf = append(x.Buf, '{')
	for n, part := range f.Parts.Fields {
		x.Key(n, part.Key)
		begin := len(x.Buf)
		ok := true
		switch part.As {
		case plan.AsTypename:
			x.Text(f.Parts.Type.Name)
		case plan.AsNodes:
			x.Push(part.Name)
			ok = x.list(to, to.Levels[part.Sub], part, items)
			x.Pop()
		case plan.AsPageInfo:
			x.pageInfo(part, *page, total)
		default:
			ok = x.unsupported(part)
		}
		if !ok && !x.orNull(part, begin) {
			return false
		}
	}
	x.Buf = append(x.Buf, '}')
	return true
}

// payload prints an object that is not a document. print prints one field of it, and returns false if the field is null
// but must not be.
func (x *execution) payload(of *plan.Selection, print func(*plan.Field) bool) bool {
	x.Buf = append(x.Buf, '{')
	for i, f := range of.Fields {
		x.Key(i, f.Key)
		begin, ok := len(x.Buf), true
		switch f.As {
		case plan.AsTypename:
			x.Text(of.Type.Name)
		case plan.AsOK:
			x.Boolean(true)
		default:
			ok = print(f)
		}
		if !ok && !x.orNull(f, begin) {
			return false
		}
	}
	x.Buf = append(x.Buf, '}')
	return true
}

func (x *execution) pageInfo(f *plan.Field, p binding.Paging, total int) {
	x.Buf = append(x.Buf, '{')
	for n, part := range f.Parts.Fields {
		x.Key(n, part.Key)
		switch part.As {
		case plan.AsPageTotal:
			x.Number(total)
		case plan.AsPageNumber:
			x.Number(p.Number(total))
		case plan.AsPageSize:
			x.Number(p.Size(total))
		case plan.AsPageCount:
			x.Number(p.Count(total))
		default:
			x.Text(f.Parts.Type.Name)
		}
	}
	x.Buf = append(x.Buf, '}')
}
