package definitions

import (
	"io/fs"
	"slices"

	"lectern/jsontree"
)

// TreeSchemas returns the schemas of a Strapi project by its files, in the form that archives have. It leaves out files
// that Convert cannot read and has notes about.
func TreeSchemas(tree fs.FS) ([]*jsontree.Object, error) {
	c := newConverter()
	if err := c.readSchemas(tree); err != nil {
		return nil, err
	}
	if len(c.types) == 0 {
		return nil, ErrNoDefinitions
	}
	var all []*jsontree.Object
	for i, s := range slices.Concat(c.types, c.components) {
		kind := "contentType"
		if i >= len(c.types) {
			kind = "component"
		}
		o, _ := s.node.Tree().(*jsontree.Object)
		o.Set("modelType", kind)
		o.Set("uid", s.uid)
		all = append(all, o)
	}
	return all, nil
}
