package execution

import (
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/shadowcrud/graphql/plan"
)

// A value is the value of a custom field, or an item of such a value.
type value struct {
	kind  valueKind
	gone  bool // it refers to a document that does not exist, which lists leave out
	text  []byte
	items []value
	sel   *plan.Selection
	level *level
	row   int32
	err   *apierror.Error
}

type valueKind uint8

const (
	valueUnknown valueKind = iota // the field is not resolved yet
	valueNull
	valueLeaf    // a scalar or enum; text is its JSON
	valueList    // a list; items are its values
	valueObject  // an object; items are the values of the fields of sel
	valueRow     // the given row of level
	valueError   // an error, in err
	valueInvalid // text says why the result of a resolver is not a value of the field's type
)

func (v *value) isRow(l *level, row int32) { v.kind, v.level, v.row = valueRow, l, row }

// field prints a custom field of row i of a level.
func (r *customRun) field(f *plan.Field, l *level, i int) bool {
	return r.print(f, &r.hooks[l].values[f.CustomIndex*len(l.Rows)+i])
}

// print prints the value of a field.
func (r *customRun) print(f *plan.Field, v *value) bool {
	begin := len(r.Buf)
	r.Push(f.Name)
	ok := r.printValue(f, f.Def.Type, v)
	r.Pop()
	return ok || r.Failed == nil && r.orNull(f, begin)
}

func (r *customRun) printValue(f *plan.Field, t *ast.Type, v *value) bool {
	switch v.kind {
	case valueLeaf:
		if len(v.text) > budget.Small {
			if r.Fits(len(v.text)); r.Failed != nil {
				return false
			}
		}
		r.Buf = append(r.Buf, v.text...)
	case valueList:
		return r.printList(f, t.Elem, v.items)
	case valueObject:
		return r.printObject(v)
	case valueRow:
		return r.object(v.level, int(v.row))
	case valueError:
		r.AddError("", v.err)
		return false
	case valueInvalid:
		r.addCoercionError(f, string(v.text))
		return false
	default:
		if t.NonNull {
			r.addCoercionError(f, "Cannot return null for non-nullable field "+f.Spec.Of.Name+"."+f.Node.Name+".")
			return false
		}
		r.Null()
	}
	return true
}

// addCoercionError adds the error of a value that does not fit the type of its field, at the current path.
func (r *customRun) addCoercionError(f *plan.Field, message string) {
	r.AddFault(r.plan.Doc.Location(f.Node.Position), "", message)
}

func (r *customRun) printList(f *plan.Field, t *ast.Type, items []value) bool {
	r.Buf = append(r.Buf, '[')
	n := 0
	for i := range items {
		if items[i].gone {
			continue
		}
		if !r.MayContinue() {
			return false
		}
		if n > 0 {
			r.Buf = append(r.Buf, ',')
		}
		begin := len(r.Buf)
		r.PushIndex(n)
		ok := r.printValue(f, t, &items[i])
		r.Pop()
		if !ok {
			if t.NonNull || r.Failed != nil {
				return false
			}
			r.Buf = append(r.Buf[:begin], "null"...)
		}
		n++
	}
	r.Buf = append(r.Buf, ']')
	return true
}

func (r *customRun) printObject(v *value) bool {
	if !r.countObject() {
		return false
	}
	r.Buf = append(r.Buf, '{')
	for i, f := range v.sel.Fields {
		r.Key(i, f.Key)
		if f.As == plan.AsTypename {
			r.Text(v.sel.Type.Name)
		} else if !r.print(f, &v.items[i]) {
			return false
		}
	}
	r.Buf = append(r.Buf, '}')
	return true
}
