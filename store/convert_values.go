package store

import (
	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store/evolve"
	"lectern/store/internal/format"
)

// editValues carries out evolve.EditValues.
func (c *chunk) editValues(s *evolve.EditValues) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	edits := map[*contenttypes.Attribute]evolve.ValueEdit{}
	for _, e := range s.Edits {
		a, err := c.attribute(e.Schema, e.Attr)
		if err != nil {
			return false, err
		}
		edits[a] = e
	}
	return c.eachRow(t, func(r Record) error {
		row := r.Decode()
		lost, changed, err := c.edit(edits, &t.Schema, row.Values)
		if err != nil || !changed {
			return err
		}
		if lost {
			c.conversion.pending.Removed.Values++
		}
		return c.putRow(row)
	})
}

// edit changes the values of a row or component, and those of the components inside it. lost reports whether a value was removed.
func (c *chunk) edit(edits map[*contenttypes.Attribute]evolve.ValueEdit, s *contenttypes.Schema, values []Value) (lost, changed bool, err error) {
	for i, a := range s.Attributes {
		v := &values[i]
		if e, ok := edits[a]; ok {
			switch {
			case e.Retype != nil:
				if v.JSON != nil {
					v.JSON, _ = evolve.Retype(e.Retype.From, e.Retype.To, v.JSON) // a value that cannot be converted was refused
					changed = true
				}
			case e.Replace != nil:
				if v.JSON != nil && string(format.Unquote(v.JSON)) == e.Replace.Old {
					changed = true
					if v.JSON = nil; e.Replace.New != nil {
						v.JSON = quote(*e.Replace.New)
					} else {
						lost = true
					}
				}
			case e.Clear != nil:
				gone, err := c.clear(v, e.Clear)
				if err != nil {
					return false, false, err
				}
				lost, changed = lost || gone, changed || gone
			}
		}
		for _, item := range v.Items {
			l, ch, err := c.edit(edits, &item.Component.Schema, item.Values)
			if err != nil {
				return false, false, err
			}
			lost, changed = lost || l, changed || ch
		}
	}
	return lost, changed, nil
}

// clear removes the components that a Clearing selects, or a scalar, from a value; it reports whether there were any.
func (c *chunk) clear(v *Value, by *evolve.Clearing) (bool, error) {
	if len(v.Items) == 0 {
		gone := v.JSON != nil
		v.JSON = nil
		return gone, nil
	}
	var kept []*Item
	for i, item := range v.Items {
		if by.Component != "" && item.Component.UID != by.Component || by.KeepFirst && i == 0 {
			kept = append(kept, item)
		} else if err := c.deleteItemLinks([]Value{{Items: []*Item{item}}}); err != nil {
			return false, err
		}
	}
	gone := len(kept) < len(v.Items)
	v.Items = kept
	return gone, nil
}

// quote returns a text as a JSON string.
func quote(s string) []byte { return jsontree.AppendString(nil, s) }
