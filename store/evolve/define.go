package evolve

import (
	"encoding/json"
	"slices"

	"lectern/contenttypes"
)

// Define puts definitions in the place of those that the catalog holds. The steps after it see these.
type Define struct {
	// Definitions are all that there are from now on, by uid.
	Definitions map[string]json.RawMessage `json:"definitions"`
	// Moved are types and components that have another uid: the new one by the old one.
	Moved map[string]string `json:"moved,omitempty"`
	// MovedAttributes have another name: by the uid that their owner had before, the new name by the old one.
	MovedAttributes map[string]map[string]string `json:"movedAttributes,omitempty"`
	// Renewed attributes have nothing in common with those that had their name: they get new numbers. By uid.
	Renewed map[string][]string `json:"renewed,omitempty"`
	// Reordered attributes have an index in an order that is not theirs any more. By uid.
	Reordered map[string][]string `json:"reordered,omitempty"`
}

func (*Define) String() string { return "taking over the definitions" }

// Apply changes a catalog as the step says.
func (d *Define) Apply(cat *Catalog) error {
	var definitions [][]byte
	for _, raw := range d.Definitions {
		definitions = append(definitions, raw)
	}
	model, err := contenttypes.FromDefinitions(definitions)
	if err != nil {
		return err
	}
	d.move(cat)
	for uid, e := range cat.Schemas {
		if d.Definitions[uid] == nil {
			e.Definition, e.Indexed = nil, nil
		} else if e.Definition != nil {
			d.forget(uid, e, schemaOf(model, uid))
		}
	}
	if err := cat.Number(model); err != nil {
		return err
	}
	for uid, raw := range d.Definitions {
		e := cat.Schemas[uid]
		if t := model.Type(uid); e.Definition == nil && t != nil { // without a row, all its indexes are complete
			for _, a := range t.Attributes {
				if HasIndex(a) {
					e.Indexed = append(e.Indexed, e.Fields[a.Name])
				}
			}
		}
		e.Definition = raw
	}
	return nil
}

// move lets names go over to others, with their numbers.
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

// forget takes the numbers from attributes that are gone or renewed, so that what is left of them in rows is never taken for
// another's, and strikes the indexes that are not wanted or in the wrong order.
func (d *Define) forget(uid string, e *SchemaEntry, s *contenttypes.Schema) {
	indexed := e.Indexed
	e.Indexed = nil
	for name, f := range e.Fields {
		a := s.Attribute(name)
		if a == nil || slices.Contains(d.Renewed[uid], name) {
			delete(e.Fields, name)
			continue
		}
		if slices.Contains(indexed, f) && HasIndex(a) && !slices.Contains(d.Reordered[uid], name) {
			e.Indexed = append(e.Indexed, f)
		}
	}
	slices.Sort(e.Indexed)
}

// definitionsOf prints all definitions of a model, by uid.
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
