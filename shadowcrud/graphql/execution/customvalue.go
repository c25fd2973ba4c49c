package execution

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/schema"
)

// A misfitError says, in the words of graphql-js, why what a resolver returned is none of its field's type.
type misfitError string

func (m misfitError) Error() string { return string(m) }

// finish makes what a field was answered with its value.
func (r *customRun) finish(c *call, to *value, v any, err error) {
	if f := c.field; err == nil && f.generated == asStored && c.level != nil && v != nil && reflect.DeepEqual(v, c.stored) {
		to.kind, to.text = valueLeaf, c.level.Rows[c.row].JSON(f.attr) // with all its digits, in its order
		return
	}
	if err == nil {
		err = r.completed(c, to, v)
	}
	if err != nil {
		r.fails(c, to, err)
	}
}

// completed is complete for a value as a whole, with panics in what a program says of its types.
func (r *customRun) completed(c *call, to *value, v any) (err error) {
	defer recovered(&err)
	return r.complete(c, to, c.field.def.Type, v)
}

// complete reads what was returned as a value of a type. The error is that of the value as a whole; errors of items and fields within
// it become their values.
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
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func:
		return rv.IsNil()
	}
	return false
}

func (r *customRun) completeList(c *call, to *value, t *ast.Type, v any) error {
	list := reflect.Indirect(reflect.ValueOf(v))
	if k := list.Kind(); k != reflect.Slice && k != reflect.Array {
		m := c.field.spec
		return misfitError(`Expected Iterable, but did not find one for field "` + m.Of.Name + "." + m.Name + `".`)
	}
	n := list.Len()
	if !r.found(n) {
		return r.failed
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
	return fmt.Errorf("what answers %s.%s returned a document of %q, where there is to be a %s", c.field.spec.Of.Name, c.field.spec.Name, uid, t.NamedType)
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
		for k, below := range at.to.Levels {
			if i, on := at.to.On(k, at.row); on && slices.Contains(c.field.subs, below.Selection) {
				to.isRow(below, i)
				r.show(below, i, c.path)
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

// objectOf finds out which object type a value is of: the type itself; for an interface or union what its ResolveType says, then the
// type of a row, then what a map says as its __typename, then the first type whose IsTypeOf says yes.
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
	if members, ok := v.(map[string]any); ok {
		typename, _ := members["__typename"].(string)
		if o := s.Object(typename); o != nil {
			return o, nil
		}
	}
	for _, t := range r.engine.language.Type(name).Possible() {
		o := s.Object(t.Name)
		if is := o.GraphQL().IsTypeOf; is != nil && is(graphql.IsTypeOfParams{Value: v, Info: p.Info, Context: r.ctx}) {
			return o, nil
		}
	}
	m := c.field.spec
	return nil, misfitError(fmt.Sprintf(`Abstract type %q must resolve to an Object type at runtime for field "%s.%s". Either the %q type should provide a "resolveType" function or each possible type should provide an "isTypeOf" function.`,
		name, m.Of.Name, m.Name, name))
}
