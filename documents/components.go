package documents

import (
	"slices"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

// items makes the components of an attribute from the inputs of a body. An input with an id changes the existing
// component with this id; it is an error if there is none. An input without an id makes a new component. Existing
// components without an input are removed. If created is set, the owner of the components is new, and ids are ignored.
func (wr *writing) items(a *contenttypes.Attribute, given []*input, present []*store.Item, st store.Status,
	created bool) ([]*store.Item, error) {
	known := make(map[uint64]*store.Item, len(present))
	if !created {
		for _, item := range present {
			known[item.ID] = item
		}
	}
	next := make([]*store.Item, 0, len(given))
	for _, in := range given {
		if !wr.tx.Step() {
			return nil, wr.tx.Err()
		}
		var item *store.Item
		fresh := created || !in.hasID
		if fresh {
			c := component(a, in)
			item = &store.Item{Component: c, ID: wr.tx.NewComponentID(), Values: make([]store.Value, len(c.Attributes))}
		} else if item = known[componentID(in.id)]; item == nil || &item.Component.Schema != in.schema {
			return nil, foreignComponent(a)
		}
		delete(known, item.ID)
		if err := wr.fill(in, item.Values, itemRef(item), st, fresh); err != nil {
			return nil, err
		}
		next = append(next, item)
	}
	for _, item := range present {
		if known[item.ID] != nil {
			wr.forget(item)
		}
	}
	return next, nil
}

// component returns the definition of the component in an input of a component or zone attribute.
func component(a *contenttypes.Attribute, in *input) *contenttypes.Component {
	if a.Type == contenttypes.ComponentType {
		return a.Component
	}
	for _, c := range a.Components {
		if &c.Schema == in.schema {
			return c
		}
	}
	return nil
}

// componentID parses the id of a component in a body. It returns 0, which no component has, if v is not an id.
func componentID(v any) uint64 {
	s := ""
	switch v := v.(type) {
	case jsontree.Number:
		s = string(jsontree.Append(nil, v))
	case string:
		s = v
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// foreignComponent returns the error for an id that no component of the attribute has.
func foreignComponent(a *contenttypes.Attribute) *apierror.Error {
	message := "Some of the provided components in " + a.Name + " are not related to the entity"
	if a.Type == contenttypes.DynamicZone {
		return &apierror.Error{Status: 400, Name: "Error", Message: message, NoDetails: true}
	}
	return apierror.Application(message)
}

func itemRef(item *store.Item) store.Ref {
	return store.Ref{Type: item.Component.UID, Doc: item.ID}
}

// forgetItems removes the links of all components among values.
func (wr *writing) forgetItems(values []store.Value) {
	for _, v := range values {
		for _, item := range v.Items {
			if !wr.tx.Step() {
				return
			}
			wr.forget(item)
		}
	}
}

// forget removes the links of a component and of the components inside it.
func (wr *writing) forget(item *store.Item) {
	wr.clearFrom(&item.Component.Schema, itemRef(item))
	wr.forgetItems(item.Values)
}

// A cloning copies components. Each copy gets a new id. Its links in the link set to[i] are those of the original in
// the link set from[i].
type cloning struct {
	wr    *writing
	from  []store.LinkSet
	to    []store.LinkSet
	carry func(store.Ref) (store.Ref, bool) // see linkEdits.copy
}

// values copies the values of a row or component.
func (c *cloning) values(values []store.Value) []store.Value {
	clone := make([]store.Value, len(values))
	for i, v := range values {
		clone[i] = c.value(v)
	}
	return clone
}

func (c *cloning) value(v store.Value) store.Value {
	if len(v.Items) == 0 {
		return store.Value{JSON: v.JSON}
	}
	items := make([]*store.Item, len(v.Items))
	for i, item := range v.Items {
		if !c.wr.tx.Step() {
			return store.Value{Items: items[:i]}
		}
		items[i] = &store.Item{Component: item.Component, ID: c.wr.tx.NewComponentID(), Values: c.values(item.Values)}
		for _, a := range item.Component.Attributes {
			if !a.IsRelation() || a.Mapped {
				continue
			}
			for k := range c.from {
				c.wr.links.copy(end{a, false, c.from[k], itemRef(item)}, end{a, false, c.to[k], itemRef(items[i])},
					copying{carry: c.carry})
			}
		}
	}
	return store.Value{Items: items}
}

// sameItems reports whether two lists of components have equal values, and equal links: those of a in the link set
// setA, and those of b in setB. It ignores the ids of the components. For carry see sameLinks.
func (wr *writing) sameItems(a, b []*store.Item, setA, setB store.LinkSet,
	carry func(store.Ref) (store.Ref, bool)) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !wr.tx.Step() {
			return false
		}
		if a[i].Component != b[i].Component {
			return false
		}
		for _, at := range a[i].Component.Attributes {
			va, vb := a[i].Values[at.Index], b[i].Values[at.Index]
			switch {
			case at.Type == contenttypes.ID:
			case at.IsRelation():
				if !at.Mapped && !wr.sameLinks(end{at, false, setA, itemRef(a[i])}, end{at, false, setB, itemRef(b[i])},
					carry) {
					return false
				}
			case at.IsScalar():
				if !sameJSON(va, vb) {
					return false
				}
			case !wr.sameItems(va.Items, vb.Items, setA, setB, carry):
				return false
			}
		}
	}
	return true
}

// sameLinks reports whether two ends are linked to the same documents in the same order, ignoring locales. carry, if
// set, returns what a target of a is for b, or false if b should not have it.
func (wr *writing) sameLinks(a, b end, carry func(store.Ref) (store.Ref, bool)) bool {
	refs := wr.links.refs(a)
	if carry != nil {
		refs = slices.DeleteFunc(refs, func(r store.Ref) bool { _, ok := carry(r); return !ok })
	}
	return slices.EqualFunc(refs, wr.links.refs(b), func(x, y store.Ref) bool {
		return x.Type == y.Type && x.Doc == y.Doc
	})
}
