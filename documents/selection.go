package documents

import (
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// A Selection lists the fields of a document or component that an answer contains. It is a plain value: the code that
// makes it checks it against a permission.Access.
type Selection struct {
	Fields   []*contenttypes.Attribute // scalars, including system attributes, in the order of the schema
	Populate []Populate
}

// Scalars selects the scalars of a schema that everybody may see, and nothing else.
func Scalars(s *contenttypes.Schema) *Selection {
	all := &Selection{}
	for _, a := range s.Attributes {
		if a.IsScalar() && permission.FullAccess.Sees(a) {
			all.Fields = append(all.Fields, a)
		}
	}
	return all
}

// A Populate describes how an answer contains a relation, media, component, zone or localizations attribute.
type Populate struct {
	Attr  *contenttypes.Attribute
	Count bool       // print {"count":N}; false for media
	Of    *Selection // fields of each target, file or component; nil for zones and morph relations
	On    []Variant  // fields by component or type, for zones and morph relations; others are dropped
	// Query filters, orders and limits the targets of a relation or the items of a component (its Filter, Sort, Offset,
	// Limit); nil shows all in order.
	Query *store.Query
	// Related adds the key `related` of a file: the entries that use it.
	Related bool
}

// A Variant lists the fields of one component of a zone, or of one type of a morph relation.
type Variant struct {
	Schema *contenttypes.Schema
	Of     *Selection
	Filter store.Filter // selects items; nil shows all
}
