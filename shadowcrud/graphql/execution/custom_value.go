package execution

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/govalues"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
)

// finish stores the result of a call in *to: the value that it returned, or its error.
func (r *customRun) finish(c *call, to *value, v any, err error) {
	f := c.field
	if err == nil && f.Generated() == plan.AsStored && c.level != nil && v != nil && reflect.DeepEqual(v, c.stored) {
		// The value is unchanged: print the stored bytes, with all digits and in stored order.
		to.kind, to.text = valueLeaf, c.level.Rows[c.row].JSON(f.Attr)
		return
	}
	if err == nil {
		err = r.completed(c, to, v)
	}
	if err != nil {
		r.setError(c, to, err)
	}
}

// completed calls complete for the value of a field. A panic in a function of a type, such as ResolveType, becomes an
// error.
func (r *customRun) completed(c *call, to *value, v any) (err error) {
	defer recovered(&err)
	return r.complete(c, to, c.field.Def.Type, v)
}

// complete converts a result to a value of type t and stores it in *to. It returns an error of the value itself; an
// error of an item or field becomes the value of that item or field.
func (r *customRun) complete(c *call, to *value, t *ast.Type, v any) error {
	if err, failed := v.(error); failed {
		return err
	}
	if govalues.IsNil(v) {
		to.kind = valueNull
		return nil
	}
	if t.Elem != nil {
		return r.completeList(c, to, t.Elem, v)
	}
	if named := r.engine.language.Type(t.NamedType); named.IsLeafType() {
		text, err := r.engine.values.Leaf(named, v)
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

func (r *customRun) completeList(c *call, to *value, t *ast.Type, v any) error {
	list := reflect.Indirect(reflect.ValueOf(v))
	if k := list.Kind(); k != reflect.Slice && k != reflect.Array {
		m := c.field.Spec
		return govalues.CoercionError(`Expected Iterable, but did not find one for field "` + m.Of.Name + "." + m.Name +
			`".`)
	}
	n := list.Len()
	if !r.found(n) {
		return r.Failed
	}
	to.kind, to.items = valueList, make([]value, n)
	for i := range n {
		item := *c
		item.path = c.path.WithKey(i)
		if err := r.complete(&item, &to.items[i], t, list.Index(i).Interface()); err != nil {
			r.setError(&item, &to.items[i], err)
		}
		if r.Failed != nil {
			return nil
		}
	}
	return nil
}

// completeObject converts a result to an object. The result may be a reference to a document, a row, or any value with
// the fields of the type, such as a map.
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
	sel := c.field.SelectionOf(o)
	if sel == nil {
		return impossibleType(o.Name, t.NamedType)
	}
	if is := o.GraphQL().IsTypeOf; is != nil && !is(graphql.IsTypeOfParams{Value: v, Info: p.Info, Context: r.Ctx}) {
		return govalues.CoercionError(
			fmt.Sprintf("Expected value of type %q but got: %s.", o.Name, govalues.Inspected(v)))
	}
	to.kind, to.sel, to.items = valueObject, sel, make([]value, len(sel.Fields))
	for i, f := range sel.Fields {
		if f.As == plan.AsTypename {
			continue
		}
		of := call{field: f, parent: v, path: c.path.WithKey(f.Name)}
		r.answer(&of, &to.items[i])
		if r.Failed != nil {
			return nil
		}
	}
	return nil
}

func (r *customRun) completeDocument(c *call, to *value, t *ast.Type, d schema.Document) error {
	sel := r.selectionOfType(c.field, t, d.Type)
	if sel == nil || sel.Object.Type == nil {
		return r.wrongType(c, t, d.Type)
	}
	r.refer(sel, d.Locale, d.Status, reference{call: *c, id: d.DocumentID, to: to})
	return nil
}

func (r *customRun) wrongType(c *call, t *ast.Type, uid string) error {
	m := c.field.Spec
	return fmt.Errorf("what answers %s.%s returned a document of %q, where there is to be a %s", m.Of.Name, m.Name, uid,
		t.NamedType)
}

// impossibleType is the error of a value whose type is none of those that an interface or union stands for.
func impossibleType(object, abstract string) error {
	return govalues.CoercionError(fmt.Sprintf("Runtime Object type %q is not a possible type for %q.", object,
		abstract))
}

// selectionOfType returns the selection of a field on the object type of a content-type or component.
func (r *customRun) selectionOfType(f *plan.Field, t *ast.Type, uid string) *plan.Selection {
	if o := r.engine.schema.Object(t.NamedType); o != nil && o.Schema != nil && o.Schema.UID == uid {
		return f.SelectionOf(o)
	}
	if o := r.engine.schema.ObjectOf(uid); o != nil {
		return f.SelectionOf(o)
	}
	return nil
}

// completeRow stores a row in *to. A row that was read for another field is read again with the selection of this one.
func (r *customRun) completeRow(c *call, to *value, t *ast.Type, row *schema.Row) error {
	if at, known := r.positions[row]; known {
		for k, below := range at.to.Levels {
			if i, on := at.to.On(k, at.row); on && slices.Contains(c.field.Subs, below.Selection) {
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
		r.refer(sel, row.Locale(), row.Status(), reference{call: *c, component: row.Record(), to: to})
		return nil
	}
	return r.completeDocument(c, to, t, schema.Document{
		Type: row.Type(), DocumentID: row.DocumentID(), Locale: row.Locale(), Status: row.Status(),
	})
}

// objectOf returns the object type of a value. For an interface or union it is the first of these: the result of
// ResolveType, the type of a row, the __typename in a map, the first possible type whose IsTypeOf returns true.
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
		if o := resolve(graphql.ResolveTypeParams{Value: v, Info: p.Info, Context: r.Ctx}); o != nil {
			if known := s.Object(o.Name()); known != nil {
				return known, nil
			}
			return nil, impossibleType(o.Name(), name)
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
		if is := o.GraphQL().IsTypeOf; is != nil && is(graphql.IsTypeOfParams{Value: v, Info: p.Info, Context: r.Ctx}) {
			return o, nil
		}
	}
	m := c.field.Spec
	return nil, govalues.CoercionError(
		fmt.Sprintf(`Abstract type %q must resolve to an Object type at runtime for field "%s.%s". `+
			`Either the %q type should provide a "resolveType" function or each possible type should provide an "isTypeOf" function.`,
			name, m.Of.Name, m.Name, name))
}
