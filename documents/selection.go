package documents

import (
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// A Selection says what an answer prints of a document or component. It is a plain value. The code that makes a Selection checks it
// against a permission.Access.
type Selection struct {
	Fields   []*contenttypes.Attribute // scalars, system attributes included, in the order of the schema
	Populate []Populate
}

// Scalars selects the scalars of a schema that anybody may see, and nothing else.
func Scalars(s *contenttypes.Schema) *Selection {
	all := &Selection{}
	for _, a := range s.Attributes {
		if a.IsScalar() && permission.FullAccess.Sees(a) {
			all.Fields = append(all.Fields, a)
		}
	}
	return all
}

// A Populate says how a relation, media, component, zone or localizations attribute is printed.
type Populate struct {
	Attr  *contenttypes.Attribute
	Count bool       // print {"count":N}; false for media
	Of    *Selection // what of each target, file or component; nil for zones and morph relations
	On    []Variant  // zones and morph relations: what of each component or type; those not named are dropped
	// Query filters, orders and cuts the targets of a relation or the items of a component (its Filter, Sort, Offset,
	// Limit); nil shows all in order.
	Query *store.Query
	// Related prints the key `related` of a file: the entries that use it.
	Related bool
}

// A Variant is what is printed of one component of a zone, or of one type of a morph relation.
type Variant struct {
	Schema *contenttypes.Schema
	Of     *Selection
	Filter store.Filter // which of them; nil shows all
}
