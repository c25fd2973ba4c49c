package evolve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"lectern/contenttypes"
)

// A Catalog holds the definitions of a store's content, and the numbers that stand for names in keys and rows. A number
// is never given out twice, so a definition can be removed and added again without touching rows of others.
type Catalog struct {
	Schemas    map[string]*SchemaEntry `json:"schemas"` // by uid
	Layouts    []LayoutEntry           `json:"layouts"` // by number
	NextSchema uint16                  `json:"nextSchema"`
}

// A SchemaEntry describes a type or component. It stays, without Definition, when the type or component is removed.
type SchemaEntry struct {
	Number     uint16            `json:"number"`
	Fields     map[string]uint16 `json:"fields"` // by the names of attributes
	NextField  uint16            `json:"nextField"`
	Layout     uint16            `json:"layout"`            // the number of the layout in which new rows are written
	Indexed    []uint16          `json:"indexed,omitempty"` // the fields whose index is complete
	Texts      []uint16          `json:"texts,omitempty"`   // the fields whose text index is complete
	Inner      map[uint16]string `json:"inner,omitempty"`   // the fields whose inner index is complete, and its InnerKeys
	Definition json.RawMessage   `json:"definition,omitempty"`
}

// A LayoutEntry lists the fields of a row in their order. A row carries the number of its layout. An attribute that the
// layout does not have is null in the row, so adding an attribute rewrites no rows.
type LayoutEntry struct {
	Schema uint16   `json:"schema"`
	Fields []uint16 `json:"fields"`
}

// NewCatalog returns an empty catalog.
func NewCatalog() *Catalog { return &Catalog{Schemas: map[string]*SchemaEntry{}} }

// Clone returns a deep copy of the catalog.
func (c *Catalog) Clone() (*Catalog, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	copied := &Catalog{}
	return copied, json.Unmarshal(raw, copied)
}

// Model builds a Model from the definitions in the catalog.
func (c *Catalog) Model() (*contenttypes.Model, error) {
	var definitions [][]byte
	for _, uid := range slices.Sorted(maps.Keys(c.Schemas)) {
		if d := c.Schemas[uid].Definition; d != nil {
			definitions = append(definitions, d)
		}
	}
	return contenttypes.FromDefinitions(definitions)
}

// Number gives numbers to the types, components and attributes of a model that have none yet, and layouts to their
// rows.
func (c *Catalog) Number(m *contenttypes.Model) (err error) {
	eachSchema(m, func(s *contenttypes.Schema) {
		if err == nil {
			err = c.number(s)
		}
	})
	return err
}

func (c *Catalog) number(s *contenttypes.Schema) error {
	e := c.Schemas[s.UID]
	if e == nil {
		if c.NextSchema++; c.NextSchema == 0 {
			return fmt.Errorf("number %s: all 65,535 numbers for types and components are used up", s.UID)
		}
		e = &SchemaEntry{Number: c.NextSchema, Fields: map[string]uint16{}, Layout: uint16(len(c.Layouts))}
		c.Schemas[s.UID] = e
	}
	var layout []uint16
	for _, a := range s.Attributes {
		f, ok := e.Fields[a.Name]
		if !ok {
			if e.NextField++; e.NextField == textField {
				return fmt.Errorf("number %s: all 32,767 numbers for its attributes are used up", s.UID)
			}
			f = e.NextField
			e.Fields[a.Name] = f
		}
		if a.IsStored() {
			layout = append(layout, f)
		}
	}
	if int(e.Layout) >= len(c.Layouts) || !slices.Equal(c.Layouts[e.Layout].Fields, layout) {
		e.Layout = uint16(len(c.Layouts))
		c.Layouts = append(c.Layouts, LayoutEntry{Schema: e.Number, Fields: layout})
	}
	return nil
}

// Field returns the numbers of an attribute and of the type or component that it belongs to.
func (c *Catalog) Field(a *contenttypes.Attribute) (schema, field uint16) {
	e := c.Schemas[a.Owner.UID]
	return e.Number, e.Fields[a.Name]
}

// IsIndexed reports whether the index of an attribute has an entry for each row.
func (c *Catalog) IsIndexed(a *contenttypes.Attribute) bool {
	e := c.Schemas[a.Owner.UID]
	return slices.Contains(e.Indexed, e.Fields[a.Name])
}

// HasIndex reports whether a store keeps an index of an attribute. It keeps none of documentId: the list of versions
// finds documents by that.
func HasIndex(a *contenttypes.Attribute) bool {
	if a.Type == contenttypes.ID {
		return true
	}
	return a.Indexed && a.IsScalar() && a.Type != contenttypes.DocumentID && a.Type != contenttypes.Locale
}

// HasText reports whether a store keeps an index of the text of an attribute.
func HasText(a *contenttypes.Attribute) bool { return a.TextIndexed && a.IsScalar() }

// textField is added to the number of a field to get the number under which its text index lies.
const textField = 1 << 15

// TextField returns the number under which the text index of a field lies, which is that of no field.
func TextField(field uint16) uint16 { return field | textField }

// IsTextField reports whether a number is one that TextField returns.
func IsTextField(field uint16) bool { return field&textField != 0 }

// HasText reports whether the text index of an attribute is complete.
func (c *Catalog) HasText(a *contenttypes.Attribute) bool {
	e := c.Schemas[a.Owner.UID]
	return slices.Contains(e.Texts, e.Fields[a.Name])
}

// LacksText reports whether an attribute needs a text index that is not complete.
func (c *Catalog) LacksText(a *contenttypes.Attribute) bool { return HasText(a) && !c.HasText(a) }

// schemaOf returns the schema of a type or component, nil if the model has none with this uid.
func schemaOf(m *contenttypes.Model, uid string) *contenttypes.Schema {
	if t := m.Type(uid); t != nil {
		return &t.Schema
	}
	if c := m.Component(uid); c != nil {
		return &c.Schema
	}
	return nil
}

// eachSchema calls f with the schemas of all types and components of a model.
func eachSchema(m *contenttypes.Model, f func(*contenttypes.Schema)) {
	for _, t := range m.Types {
		f(&t.Schema)
	}
	for _, c := range m.Components {
		f(&c.Schema)
	}
}
