package remote

import (
	"errors"

	"lectern/jsontree"
)

// errChanged means that two answers about the same rows do not belong together, because content has changed between
// them.
var errChanged = errors.New("content changes faster than it can be read")

// mergeRows adds to rows what other answers have about them.
func mergeRows(rows, others []*jsontree.Object) error {
	if len(rows) != len(others) {
		return errChanged
	}
	for i, row := range rows {
		other := others[i]
		if identity(row) != identity(other) || row.Text("updatedAt") != other.Text("updatedAt") {
			return errChanged
		}
		if err := mergeObject(row, other); err != nil {
			return err
		}
	}
	return nil
}

// mergeObject adds to an object what another has about the same row, component or relation.
func mergeObject(o, other *jsontree.Object) error {
	for _, key := range other.Keys {
		theirs := other.Value(key)
		ours, known := o.Get(key)
		if !known {
			o.Set(key, theirs)
			continue
		}
		if err := mergeValue(ours, theirs); err != nil {
			return err
		}
	}
	return nil
}

// mergeValue merges components and lists of them. Other values are the same in both answers.
func mergeValue(ours, theirs any) error {
	switch theirs := theirs.(type) {
	case *jsontree.Object:
		if o, ok := ours.(*jsontree.Object); ok {
			if identity(o) != identity(theirs) {
				return errChanged
			}
			return mergeObject(o, theirs)
		}
	case []any:
		if items, ok := ours.([]any); ok {
			return mergeItems(items, theirs)
		}
	}
	return nil
}

// mergeItems merges the items of a list by component and id. theirs may lack some, since a dynamic zone shows only the
// components that were asked for.
func mergeItems(ours, theirs []any) error {
	known := map[itemKey]*jsontree.Object{}
	for _, item := range ours {
		if o, ok := item.(*jsontree.Object); ok {
			known[identity(o)] = o
		}
	}
	for _, item := range theirs {
		o, ok := item.(*jsontree.Object)
		if !ok || o.Value("id") == nil {
			return nil // plain JSON, such as blocks
		}
		mine := known[identity(o)]
		if mine == nil {
			return errChanged
		}
		if err := mergeObject(mine, o); err != nil {
			return err
		}
	}
	return nil
}

// An itemKey tells the items of a list apart.
type itemKey struct {
	component string
	id        jsontree.Number
}

func identity(o *jsontree.Object) itemKey {
	id, _ := o.Value("id").(jsontree.Number)
	return itemKey{o.Text("__component"), id}
}
