package execution

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
)

// A misfitError says, in the words of graphql-js, why what a resolver returned is none of its field's type.
type misfitError string

func (m misfitError) Error() string { return string(m) }

// finish makes what a field was answered with its value.
func (r *customRun) finish(c *call, to *value, v any, err error) {
	if f := c.field; err == nil && f.generated == asStored && c.level != nil && v != nil && reflect.DeepEqual(v, c.stored) {
		to.kind, to.text = valueLeaf, c.level.rows[c.row].JSON(f.attr) // with all its digits, in its order
		return
	}
	if err == nil {
		err = r.complete(c, to, c.field.def.Type, v)
	}
	if err != nil {
		r.fails(c, to, err)
	}
}

// complete reads what was returned as a value of a type. An error is that of the value as a whole: those within it are kept there.
func (r *customRun) complete(c *call, to *value, t *ast.Type, v any) error {
	if err, failed := v.(error); failed {
		return err
	}
	if isNil(v) {
		to.kind = valueNull
		return nil
	}
	if t.Elem != nil {
		return r.completeList(c, to, t.Elem, v)
	}
	if named := r.engine.language.Type(t.NamedType); named.IsLeafType() {
		text, err := r.engine.leaf(named, v)
		if err != nil {
			return err
		}
		to.kind, to.text = valueLeaf, text
		if text == nil {
			to.kind = valueNull
		}
		return nil
	}
	return r.completeObject(c, to, t, v)
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Interface:
		return rv.IsNil()
	}
	return false
}

func (r *customRun) completeList(c *call, to *value, t *ast.Type, v any) error {
	list := reflect.Indirect(reflect.ValueOf(v))
	if k := list.Kind(); k != reflect.Slice && k != reflect.Array {
		m := c.field.meaning
		return misfitError(`Expected Iterable, but did not find one for field "` + m.Of.Name + "." + m.Name + `".`)
	}
	n := list.Len()
	if r.rows += n; r.rows > r.engine.limits.Rows {
		r.fail(errTooManyRows)
		return errTooManyRows
	}
	to.kind, to.items = valueList, make([]value, n)
	for i := range n {
		item := *c
		item.path = c.path.WithKey(i)
		if err := r.complete(&item, &to.items[i], t, list.Index(i).Interface()); err != nil {
			r.fails(&item, &to.items[i], err)
		}
		if r.failed != nil {
			return nil
		}
	}
	return nil
}

// completeObject reads what was returned as an object: a document that is named, a row, or what has its fields.
func (r *customRun) completeObject(c *call, to *value, t *ast.Type, v any) error {
	switch d := v.(type) {
	case schema.Document:
		return r.completeDocument(c, to, t, d)
	case *schema.Document:
		return r.completeDocument(c, to, t, *d)
	case *schema.Row:
		return r.completeRow(c, to, t, d)
	}
	p, err := r.paramsOf(c)
	if err != nil {
		return err
	}
	o, err := r.objectOf(c, t.NamedType, v, p)
	if err != nil {
		return err
	}
	sel := c.field.selectionOf(o)
	if sel == nil {
		return misfitError(fmt.Sprintf("Runtime Object type %q is not a possible type for %q.", o.Name, t.NamedType))
	}
	if is := o.GraphQL().IsTypeOf; is != nil && !is(graphql.IsTypeOfParams{Value: v, Info: p.Info, Context: r.ctx}) {
		return misfitError(fmt.Sprintf("Expected value of type %q but got: %s.", o.Name, inspected(v)))
	}
	to.kind, to.sel, to.items = valueObject, sel, make([]value, len(sel.fields))
	for i, f := range sel.fields {
		if f.as == asTypename {
			continue
		}
		of := call{field: f, parent: v, path: c.path.WithKey(f.name)}
		r.answer(&of, &to.items[i])
		if r.failed != nil {
			return nil
		}
	}
	return nil
}

// selectionOf is what is printed of objects of a type under the field, nil when it cannot lead to them.
func (f *field) selectionOf(o *schema.Object) *selection {
	if f.of != nil && f.of.object == o {
		return f.of
	}
	for _, s := range f.subs {
		if s.object == o {
			return s
		}
	}
	return nil
}

func (r *customRun) completeDocument(c *call, to *value, t *ast.Type, d schema.Document) error {
	sel := r.selectionOfType(c.field, t, d.Type)
	if sel == nil || sel.object.Type == nil {
		return r.wrongType(c, t, d.Type)
	}
	r.refer(sel, d.Locale, d.Status, namedDocument{call: *c, id: d.DocumentID, to: to})
	return nil
}

func (r *customRun) wrongType(c *call, t *ast.Type, uid string) error {
	return fmt.Errorf("what answers %s.%s returned a document of %q, where there is to be a %s", c.field.meaning.Of.Name, c.field.meaning.Name, uid, t.NamedType)
}

// selectionOfType is what is printed under a field of a content-type or component.
func (r *customRun) selectionOfType(f *field, t *ast.Type, uid string) *selection {
	if o := r.engine.schema.Object(t.NamedType); o != nil && o.Schema != nil && o.Schema.UID == uid {
		return f.selectionOf(o)
	}
	if o := r.engine.schema.ObjectOf(uid); o != nil {
		return f.selectionOf(o)
	}
	return nil
}

// completeRow shows a row where it was read for this field; what was read for another is read again.
func (r *customRun) completeRow(c *call, to *value, t *ast.Type, row *schema.Row) error {
	if at, known := r.places[row]; known {
		for n, kid := range at.to.kids {
			i := at.row
			if len(at.to.at) > 0 {
				if m := at.to.at[i]; int(m.kid) == n {
					i = m.row
				} else {
					continue
				}
			}
			if c.field.prints(kid.sel) {
				to.isRow(kid, i)
				r.show(kid, i, c.path)
				return nil
			}
		}
	}
	if row.Record().Component() != nil {
		sel := r.selectionOfType(c.field, t, row.Type())
		if sel == nil {
			return r.wrongType(c, t, row.Type())
		}
		r.refer(sel, row.Locale(), row.Status(), namedDocument{call: *c, item: row.Record(), to: to})
		return nil
	}
	return r.completeDocument(c, to, t, schema.Document{Type: row.Type(), DocumentID: row.DocumentID(), Locale: row.Locale(), Status: row.Status()})
}

// prints reports whether a selection is one of those of the field.
func (f *field) prints(s *selection) bool {
	for _, sub := range f.subs {
		if sub == s {
			return true
		}
	}
	return false
}

// objectOf finds out of which object type a value is.
func (r *customRun) objectOf(c *call, name string, v any, p *graphql.ResolveParams) (*schema.Object, error) {
	s := r.engine.schema
	if o := s.Object(name); o != nil {
		return o, nil
	}
	var resolve graphql.ResolveTypeFn
	if u := s.Union(name); u != nil {
		resolve = u.GraphQL().ResolveType
	} else if i := s.Interface(name); i != nil {
		resolve = i.GraphQL().ResolveType
	}
	if resolve != nil {
		if o := resolve(graphql.ResolveTypeParams{Value: v, Info: p.Info, Context: r.ctx}); o != nil {
			if known := s.Object(o.Name()); known != nil {
				return known, nil
			}
			return nil, misfitError(fmt.Sprintf("Runtime Object type %q is not a possible type for %q.", o.Name(), name))
		}
	}
	if row, ok := v.(*schema.Row); ok {
		if o := s.ObjectOf(row.Type()); o != nil {
			return o, nil
		}
	}
	if is, _ := graphqlMember(v, "__typename").(string); is != "" {
		if o := s.Object(is); o != nil {
			return o, nil
		}
	}
	for _, t := range r.engine.language.Type(name).Possible() {
		o := s.Object(t.Name)
		if is := o.GraphQL().IsTypeOf; is != nil && is(graphql.IsTypeOfParams{Value: v, Info: p.Info, Context: r.ctx}) {
			return o, nil
		}
	}
	m := c.field.meaning
	return nil, misfitError(fmt.Sprintf(`Abstract type %q must resolve to an Object type at runtime for field "%s.%s". Either the %q type should provide a "resolveType" function or each possible type should provide an "isTypeOf" function.`,
		name, m.Of.Name, m.Name, name))
}

// graphqlMember is a member of a map.
func graphqlMember(v any, name string) any {
	if m, ok := v.(map[string]any); ok {
		return m[name]
	}
	return nil
}

// leaf prints a value of a scalar or enum; nil is null.
func (e *Engine) leaf(t *language.Type, v any) ([]byte, error) {
	if t.Kind == ast.Enum {
		name, ok := e.schema.Enum(t.Name).GraphQL.Serialize(v).(string)
		if !ok {
			return nil, misfitError(`Enum "` + t.Name + `" cannot represent value: ` + inspected(v))
		}
		return jsontree.AppendString(nil, name), nil
	}
	kind, custom := schema.CustomScalar, (*graphql.Scalar)(nil)
	if s := e.schema.Scalar(t.Name); s != nil {
		if kind = s.Kind; kind == schema.CustomScalar {
			custom = s.GraphQL
		}
	}
	switch kind {
	case schema.CustomScalar, schema.JSONScalar:
		if custom != nil {
			if v = custom.Serialize(v); isNil(v) {
				return nil, nil
			}
		}
		tree, err := jsonTree(v)
		if err != nil {
			return nil, err
		}
		return jsontree.Append(nil, tree), nil
	}
	if indirect := reflect.Indirect(reflect.ValueOf(v)); indirect.IsValid() && indirect.CanInterface() {
		v = indirect.Interface()
	}
	switch kind {
	case schema.StringScalar:
		if s, ok := text(v); ok {
			return jsontree.AppendString(nil, s), nil
		}
		return nil, misfitError("String cannot represent value: " + inspected(v))
	case schema.IDScalar:
		if n, whole := integer(v); whole {
			return jsontree.AppendString(nil, strconv.FormatInt(n, 10)), nil
		}
		if s, ok := text(v); ok && !isBool(v) && !isFloat(v) {
			return jsontree.AppendString(nil, s), nil
		}
		return nil, misfitError("ID cannot represent value: " + inspected(v))
	case schema.BooleanScalar:
		rv := reflect.ValueOf(v)
		if rv.Kind() == reflect.Bool {
			return strconv.AppendBool(nil, rv.Bool()), nil
		}
		if f, ok := number(v); ok && !isText(v) {
			return strconv.AppendBool(nil, f != 0), nil
		}
		return nil, misfitError("Boolean cannot represent a non boolean value: " + inspected(v))
	case schema.IntScalar:
		f, ok := number(v)
		if !ok || f != math.Trunc(f) {
			return nil, misfitError("Int cannot represent non-integer value: " + inspected(v))
		}
		if f > math.MaxInt32 || f < math.MinInt32 {
			return nil, misfitError("Int cannot represent non 32-bit signed integer value: " + inspected(v))
		}
		return strconv.AppendInt(nil, int64(f), 10), nil
	case schema.FloatScalar:
		f, ok := number(v)
		if !ok {
			return nil, misfitError("Float cannot represent non numeric value: " + inspected(v))
		}
		return jsontree.Append(nil, f), nil
	}
	return e.texts(t, kind, v)
}

// texts prints the values of scalars that are texts of a form, or integers of any size.
func (e *Engine) texts(t *language.Type, kind schema.ScalarKind, v any) ([]byte, error) {
	if at, ok := v.(time.Time); ok {
		switch kind {
		case schema.DateScalar:
			v = at.Format("2006-01-02")
		case schema.TimeScalar:
			v = at.Format("15:04:05.000")
		default:
			v = at.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	} else if n, whole := integer(v); whole {
		v = jsontree.Number(strconv.FormatInt(n, 10))
	} else if s, ok := text(v); ok {
		v = s
	}
	read, err := e.language.Value("value", ast.NamedType(t.Name, nil), v)
	var wrong *language.Error
	if errors.As(err, &wrong) {
		return nil, misfitError(t.Name + " cannot represent value: " + inspected(v))
	}
	if n, ok := read.(jsontree.Number); ok {
		if i, err := strconv.ParseInt(string(n), 10, 64); err != nil || i > jsontree.MaxSafeInteger || i < -jsontree.MaxSafeInteger {
			read = string(n)
		}
	}
	return jsontree.Append(nil, read), nil
}

// maxInspected is how long a value may be to be named in a message.
const maxInspected = 100

// inspected is a value as messages name it. What is in lists and objects is not for clients to see.
func inspected(v any) string {
	switch rv := reflect.Indirect(reflect.ValueOf(v)); rv.Kind() {
	case reflect.Slice, reflect.Array:
		return "[…]"
	case reflect.String:
		if rv.Len() < maxInspected {
			return string(jsontree.AppendString(nil, rv.String()))
		}
	case reflect.Bool, reflect.Float32, reflect.Float64, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprint(rv.Interface())
	}
	return "{…}"
}

// text is a value as a text: texts, numbers, bools, and what has a text of its own.
func text(v any) (string, bool) {
	if m, ok := v.(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		return string(b), err == nil
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String:
		return rv.String(), true
	case reflect.Bool:
		return strconv.FormatBool(rv.Bool()), true
	case reflect.Float32, reflect.Float64:
		return jsontree.FormatNumber(rv.Float()), true
	}
	if n, ok := integer(v); ok {
		return strconv.FormatInt(n, 10), true
	}
	return "", false
}

func isBool(v any) bool { return reflect.ValueOf(v).Kind() == reflect.Bool }
func isText(v any) bool { return reflect.ValueOf(v).Kind() == reflect.String }
func isFloat(v any) bool {
	k := reflect.ValueOf(v).Kind()
	return k == reflect.Float32 || k == reflect.Float64
}

// integer is a value of one of Go's integer types, or a float that is whole.
func integer(v any) (int64, bool) {
	rv := reflect.ValueOf(v)
	switch {
	case rv.CanInt():
		return rv.Int(), true
	case rv.CanUint() && rv.Uint() <= math.MaxInt64:
		return int64(rv.Uint()), true
	case rv.CanFloat() && rv.Float() == math.Trunc(rv.Float()) && math.Abs(rv.Float()) <= jsontree.MaxSafeInteger:
		return int64(rv.Float()), true
	}
	return 0, false
}

// number is a value as a number, as JavaScript has it: texts of numbers and bools are some, too.
func number(v any) (float64, bool) {
	rv := reflect.ValueOf(v)
	switch {
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	case rv.CanFloat():
		return rv.Float(), !math.IsNaN(rv.Float()) && !math.IsInf(rv.Float(), 0)
	case rv.Kind() == reflect.Bool:
		if rv.Bool() {
			return 1, true
		}
		return 0, true
	case rv.Kind() == reflect.String && rv.Len() > 0:
		f, ok := jsontree.ParseNumber(rv.String())
		return f, ok && !math.IsInf(f, 0)
	}
	return 0, false
}

// ordered makes JSON that may hold values of jsontree into what encoding/json prints in their order.
func ordered(v any) any {
	switch v := v.(type) {
	case jsontree.Number, *jsontree.Object:
		return json.RawMessage(jsontree.Append(nil, v))
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = ordered(item)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = ordered(item)
		}
		return m
	}
	return v
}
