package contenttypes

import "encoding/json"

// definitionJSON is the part of a definition that decides how content is stored. Stores keep this JSON, so keys may be
// added but never renamed or reordered.
type definitionJSON struct {
	UID             string          `json:"uid"`
	Kind            string          `json:"kind,omitempty"`
	Singular        string          `json:"singular,omitempty"`
	Plural          string          `json:"plural,omitempty"`
	DraftAndPublish bool            `json:"draftAndPublish,omitempty"`
	Localized       bool            `json:"localized,omitempty"`
	Attributes      []attributeJSON `json:"attributes"`
}

type attributeJSON struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	System      bool     `json:"system,omitempty"`
	Relation    string   `json:"relation,omitempty"`
	Target      string   `json:"target,omitempty"`
	Inverse     string   `json:"inverse,omitempty"`
	Mapped      bool     `json:"mapped,omitempty"`
	Multiple    bool     `json:"multiple,omitempty"`
	Component   string   `json:"component,omitempty"`
	Repeatable  bool     `json:"repeatable,omitempty"`
	Components  []string `json:"components,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Localized   bool     `json:"localized,omitempty"`
	Indexed     bool     `json:"indexed,omitempty"`
	TextIndexed bool     `json:"textIndexed,omitempty"`
	Unique      bool     `json:"unique,omitempty"`

	Rules *rulesJSON `json:"rules,omitempty"`
}

// rulesJSON holds the rules that a write checks values by. Only DefinitionsWithRules includes them.
type rulesJSON struct {
	Required   bool     `json:"required,omitempty"`
	HasDefault bool     `json:"hasDefault,omitempty"`
	Min        *float64 `json:"min,omitempty"`
	Max        *float64 `json:"max,omitempty"`
	MinLength  *int     `json:"minLength,omitempty"`
	MaxLength  *int     `json:"maxLength,omitempty"`
	Regex      string   `json:"regex,omitempty"`

	AllowedTypes []string `json:"allowedTypes,omitempty"`
}

// Definition returns the part of the definition that decides how content is stored, as JSON. Equal definitions give
// equal JSON, so a store compares it at the next start to find what changed. A component that the type uses appears by
// its uid only.
func (t *ContentType) Definition() []byte { return t.definition(false) }

// Definition returns the part of the definition that decides how content is stored, as ContentType.Definition does.
func (c *Component) Definition() []byte { return c.definition(false) }

// DefinitionsWithRules returns the definitions of all types and components, each with the rules that a write checks
// values by. FromDefinitions makes a Model of them that can check stored content.
func (m *Model) DefinitionsWithRules() (definitions [][]byte) {
	for _, t := range m.Types {
		definitions = append(definitions, t.definition(true))
	}
	for _, c := range m.Components {
		definitions = append(definitions, c.definition(true))
	}
	return definitions
}

func (t *ContentType) definition(rules bool) []byte {
	return marshalDefinition(definitionJSON{
		UID: t.UID, Kind: t.Kind.String(), Singular: t.Singular, Plural: t.Plural,
		DraftAndPublish: t.DraftAndPublish, Localized: t.Localized, Attributes: t.Schema.definition(rules),
	})
}

func (c *Component) definition(rules bool) []byte {
	return marshalDefinition(definitionJSON{UID: c.UID, Attributes: c.Schema.definition(rules)})
}

func (s *Schema) definition(rules bool) []attributeJSON {
	attributes := make([]attributeJSON, len(s.Attributes))
	for i, a := range s.Attributes {
		j := attributeJSON{
			Name: a.Name, Type: a.Type.String(), System: a.System, Relation: a.Relation.String(), Mapped: a.Mapped,
			Multiple: a.Multiple, Repeatable: a.Repeatable, Enum: a.Enum, Localized: a.Localized, Indexed: a.Indexed,
			TextIndexed: a.TextIndexed, Unique: a.Unique,
		}
		if a.Target != nil {
			j.Target = a.Target.UID
		}
		if a.Inverse != nil {
			j.Inverse = a.Inverse.Name
		}
		if a.Component != nil {
			j.Component = a.Component.UID
		}
		for _, c := range a.Components {
			j.Components = append(j.Components, c.UID)
		}
		if rules {
			j.Rules = &rulesJSON{a.Required, a.HasDefault, a.Min, a.Max, a.MinLength, a.MaxLength, a.RegexSource,
				a.AllowedTypes}
		}
		attributes[i] = j
	}
	return attributes
}

func marshalDefinition(d definitionJSON) []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // the struct holds only types that JSON can represent
	}
	return b
}
