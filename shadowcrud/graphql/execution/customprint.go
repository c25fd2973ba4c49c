package execution

import (
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/shadowcrud/graphql/language"
)

// A value is the value of a custom field, or an item of such a value.
type value struct {
	kind  valueKind
	gone  bool // it refers to a document that does not exist, which lists leave out
	text  []byte
	items []value
	sel   *selection
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
func (r *customRun) field(f *field, l *level, i int) bool {
	return r.print(f, &r.hooks[l].values[f.hook*len(l.Rows)+i])
}

// print prints the value of a field.
func (r *customRun) print(f *field, v *value) bool {
	begin := len(r.buf)
	r.push(f.name)
	ok := r.printValue(f, f.def.Type, v)
	r.pop()
	return ok || r.failed == nil && r.orNull(f, begin)
}

func (r *customRun) printValue(f *field, t *ast.Type, v *value) bool {
	switch v.kind {
	case valueLeaf:
		if len(v.text) > budget.Small {
			if r.fits(len(v.text)); r.failed != nil {
				return false
			}
		}
		r.buf = append(r.buf, v.text...)
	case valueList:
		return r.printList(f, t.Elem, v.items)
	case valueObject:
		return r.printObject(v)
	case valueRow:
		return r.object(v.level, int(v.row))
	case valueError:
		r.addError("", v.err)
		return false
	case valueInvalid:
		r.addCoercionError(f, string(v.text))
		return false
	default:
		if t.NonNull {
			r.addCoercionError(f, "Cannot return null for non-nullable field "+f.spec.Of.Name+"."+f.node.Name+".")
			return false
		}
		r.null()
	}
	return true
}

// addCoercionError adds the error of a value that does not fit the type of its field, at the current path.
func (r *customRun) addCoercionError(f *field, message string) {
	r.errors = append(r.errors, &language.Error{
		Message: message, Locations: []language.Location{r.plan.doc.Location(f.node.Position)}, Path: r.pathTo(""), Code: language.Internal,
	})
}

func (r *customRun) printList(f *field, t *ast.Type, items []value) bool {
	r.buf = append(r.buf, '[')
	n := 0
	for i := range items {
		if items[i].gone {
			continue
		}
		if !r.mayContinue() {
			return false
		}
		if n > 0 {
			r.buf = append(r.buf, ',')
		}
		begin := len(r.buf)
		r.pushIndex(n)
		ok := r.printValue(f, t, &items[i])
		r.pop()
		if !ok {
			if t.NonNull || r.failed != nil {
				return false
			}
			r.buf = append(r.buf[:begin], "null"...)
		}
		n++
	}
	r.buf = append(r.buf, ']')
	return true
}

func (r *customRun) printObject(v *value) bool {
	if !r.countObject() {
		return false
	}
	r.buf = append(r.buf, '{')
	for i, f := range v.sel.fields {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, f.key...)
		if f.as == asTypename {
			r.text(v.sel.typ.Name)
		} else if !r.print(f, &v.items[i]) {
			return false
		}
	}
	r.buf = append(r.buf, '}')
	return true
}
