package definitions

import (
	"fmt"
	"io/fs"
	"slices"

	"lectern/internal/jsonlines"
	"lectern/jsontree"
)

// TreeSchemas returns the schemas of a Strapi project by its files, in the form that archives have. It leaves out files that Convert
// cannot read and has notes about.
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
		o, err := archivedSchema(tree, s, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// archivedSchema reads the file of a schema and adds what archives have beside its keys.
func archivedSchema(tree fs.FS, s *schema, kind string) (*jsontree.Object, error) {
	text, err := fs.ReadFile(tree, s.file)
	if err != nil {
		return nil, err
	}
	o, err := jsonlines.Object(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	o.Set("modelType", kind)
	o.Set("uid", s.uid)
	return o, nil
}
