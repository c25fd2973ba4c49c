package evolve

import (
	"encoding/json"
	"slices"

	"lectern/contenttypes"
)

// Define replaces the definitions in the catalog. The steps before it see the old definitions, the steps after it the
// new ones.
type Define struct {
	// Definitions are all new definitions, by uid.
	Definitions map[string]json.RawMessage `json:"definitions"`
	// Moved are the types and components with a new uid: the new uid by the old one.
	Moved map[string]string `json:"moved,omitempty"`
	// MovedAttributes are the attributes with a new name: the new name by the old one, by the old uid of their type or
	// component.
	MovedAttributes map[string]map[string]string `json:"movedAttributes,omitempty"`
	// Renewed are attributes, by uid, that replace others of the same name. They get new numbers, so that stored values
	// of the others are not taken for theirs.
	Renewed map[string][]string `json:"renewed,omitempty"`
	// Reordered are attributes, by uid, whose index must be removed because its order does not fit their type any more.
	Reordered map[string][]string `json:"reordered,omitempty"`
}

func (*Define) String() string { return "taking over the definitions" }

// Apply changes a catalog as the step says.
func (d *Define) Apply(cat *Catalog) error {
	model, err := d.model()
	if err != nil {
		return err
	}
	d.move(cat)
	fresh := map[string]bool{}
	for uid, e := range cat.Schemas {
		if d.Definitions[uid] == nil {
			e.Definition, e.Indexed, e.Texts = nil, nil, nil
		} else if e.Definition != nil {
			d.forget(uid, e, schemaOf(model, uid))
		}
	}
	if err := cat.Number(model); err != nil {
		return err
	}
	for uid, raw := range d.Definitions {
		e := cat.Schemas[uid]
		fresh[uid] = e.Definition == nil
		if t := model.Type(uid); e.Definition == nil &&
			t != nil { // a new type has no rows, so its empty indexes are complete
			for _, a := range t.Attributes {
				if HasIndex(a) {
					e.Indexed = append(e.Indexed, e.Fields[a.Name])
				}
				if HasText(a) {
					e.Texts = append(e.Texts, e.Fields[a.Name])
				}
			}
		}
		e.Definition = raw
	}
	cat.settleInner(model, func(uid string) bool { return fresh[uid] })
	return nil
}

// model builds a Model from the new definitions.
func (d *Define) model() (*contenttypes.Model, error) {
	var definitions [][]byte
	for _, raw := range d.Definitions {
		definitions = append(definitions, raw)
	}
	return contenttypes.FromDefinitions(definitions)
}

// move gives the numbers of the moved types, components and attributes to their new names.
func (d *Define) move(cat *Catalog) {
	for uid, names := range d.MovedAttributes {
		fields := cat.Schemas[uid].Fields
		for from, to := range names {
			fields[to] = fields[from]
			delete(fields, from)
		}
	}
	for from, to := range d.Moved {
		cat.Schemas[to] = cat.Schemas[from]
		delete(cat.Schemas, from)
	}
}

// forget removes the numbers of attributes that are gone or renewed, so that their values in rows are never read as
// those of another attribute. It also marks indexes as incomplete that are removed or in the wrong order.
func (d *Define) forget(uid string, e *SchemaEntry, s *contenttypes.Schema) {
	indexed, texts := e.Indexed, e.Texts
	e.Indexed, e.Texts = nil, nil
	for name, f := range e.Fields {
		a := s.Attribute(name)
		if a == nil || slices.Contains(d.Renewed[uid], name) {
			delete(e.Fields, name)
			continue
		}
		if slices.Contains(indexed, f) && HasIndex(a) && !slices.Contains(d.Reordered[uid], name) {
			e.Indexed = append(e.Indexed, f)
		}
		if slices.Contains(texts, f) && HasText(a) {
			e.Texts = append(e.Texts, f)
		}
	}
	slices.Sort(e.Indexed)
	slices.Sort(e.Texts)
}

// definitionsOf returns all definitions of a model, by uid.
func definitionsOf(m *contenttypes.Model) map[string]json.RawMessage {
	definitions := map[string]json.RawMessage{}
	for _, t := range m.Types {
		definitions[t.UID] = t.Definition()
	}
	for _, comp := range m.Components {
		definitions[comp.UID] = comp.Definition()
	}
	return definitions
}
