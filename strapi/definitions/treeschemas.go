package definitions

import (
	"io/fs"
	"slices"

	"lectern/internal/yamlfile"
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
		o, _ := valueOf(s.node).(*jsontree.Object)
		o.Set("modelType", kind)
		o.Set("uid", s.uid)
		all = append(all, o)
	}
	return all, nil
}

// valueOf returns a node as a value of JSON.
func valueOf(n *yamlfile.Node) any {
	switch n.Kind {
	case yamlfile.Text:
		return n.Text
	case yamlfile.Int, yamlfile.Float:
		return jsontree.Number(n.Text)
	case yamlfile.Bool:
		return n.Text == "true"
	case yamlfile.List:
		list := []any{}
		for _, item := range n.Items {
			list = append(list, valueOf(item))
		}
		return list
	case yamlfile.Map:
		o := jsontree.NewObject()
		for _, e := range n.Entries {
			o.Set(e.Key, valueOf(e.Value))
		}
		return o
	}
	return nil
}
