package contenttypes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// FromDefinitions makes a Model from the output of Definition. A store uses it to read content that was written under
// older definitions. The Model can check values, for example by their length, only if DefinitionsWithRules made the
// definitions: those of Definition have no such rules. A target or component that is not among the definitions is nil.
func FromDefinitions(definitions [][]byte) (*Model, error) {
	m := &Model{types: map[string]*ContentType{}, components: map[string]*Component{}}
	parsed := make([]definitionJSON, len(definitions))
	schemas := make([]*Schema, len(definitions))
	for i, raw := range definitions {
		d := &parsed[i]
		if err := json.Unmarshal(raw, d); err != nil {
			return nil, fmt.Errorf("read a stored definition: %w", err)
		}
		schemas[i] = m.addStored(d)
		if err := schemas[i].addStored(d.Attributes); err != nil {
			return nil, fmt.Errorf("read the stored definition of %s: %w", d.UID, err)
		}
	}
	for i, s := range schemas {
		for k, j := range parsed[i].Attributes {
			m.linkStored(s.Attributes[k], j)
		}
	}
	slices.SortFunc(m.Types, func(a, b *ContentType) int { return cmp.Compare(a.UID, b.UID) })
	slices.SortFunc(m.Components, func(a, b *Component) int { return cmp.Compare(a.UID, b.UID) })
	return m, nil
}

// addStored adds a type to the model, or a component when the definition has no kind.
func (m *Model) addStored(d *definitionJSON) *Schema {
	if d.Kind == "" {
		category, name, _ := strings.Cut(d.UID, ".")
		c := &Component{Schema: Schema{UID: d.UID}, Category: category, Name: name, DisplayName: name}
		m.components[d.UID] = c
		m.Components = append(m.Components, c)
		return &c.Schema
	}
	t := &ContentType{
		Schema: Schema{UID: d.UID}, Singular: d.Singular, Plural: d.Plural, DisplayName: d.Singular,
		DraftAndPublish: d.DraftAndPublish, Localized: d.Localized, BuiltIn: !strings.HasPrefix(d.UID, "api::"),
	}
	if d.Kind == SingleType.String() {
		t.Kind = SingleType
	}
	t.typ = t
	m.types[d.UID] = t
	m.Types = append(m.Types, t)
	return &t.Schema
}

func (s *Schema) addStored(attributes []attributeJSON) error {
	s.byName = make(map[string]*Attribute, len(attributes))
	for i, j := range attributes {
		a := &Attribute{
			Name: j.Name, Index: i, System: j.System, Owner: s, Mapped: j.Mapped, Multiple: j.Multiple,
			Repeatable: j.Repeatable,
			Enum:       j.Enum, Localized: j.Localized, Indexed: j.Indexed, TextIndexed: j.TextIndexed,
			Unique: j.Unique,
		}
		var ok bool
		if a.Type, ok = storedType(j.Type); !ok {
			return fmt.Errorf("attribute %s is of the unknown type %q", j.Name, j.Type)
		}
		if a.Relation, ok = relationNamed(j.Relation); !ok && j.Relation != "" {
			return fmt.Errorf("attribute %s is an unknown relation %q", j.Name, j.Relation)
		}
		if j.Rules != nil {
			if err := a.addRules(j.Rules); err != nil {
				return err
			}
		}
		s.Attributes = append(s.Attributes, a)
		s.byName[a.Name] = a
	}
	return nil
}

func (a *Attribute) addRules(j *rulesJSON) error {
	a.Required, a.HasDefault, a.Min, a.Max, a.MinLength, a.MaxLength = j.Required, j.HasDefault, j.Min, j.Max,
		j.MinLength, j.MaxLength
	a.AllowedTypes = j.AllowedTypes
	if j.Regex == "" {
		return nil
	}
	re, problem := compileRegex(j.Regex)
	if problem != "" {
		return fmt.Errorf("attribute %s has the regex %s, which %s", a.Name, j.Regex, problem)
	}
	a.Regex, a.RegexSource = re, j.Regex
	return nil
}

func (m *Model) linkStored(a *Attribute, j attributeJSON) {
	a.Target, a.Component = m.types[j.Target], m.components[j.Component]
	if a.Target != nil && j.Inverse != "" {
		a.Inverse = a.Target.Attribute(j.Inverse)
	}
	for _, uid := range j.Components {
		if c := m.components[uid]; c != nil {
			a.Components = append(a.Components, c)
		}
	}
}
