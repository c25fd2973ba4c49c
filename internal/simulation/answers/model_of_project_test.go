package answers

import (
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/gateway"
	"lectern/internal/simulation/program"
)

// ModelOfProject returns the model of the project in dir, for questions about it. Users are the only type of a plugin
// in it, and polymorphic relations are left out.
func ModelOfProject(dir string) (*Model, error) {
	d, err := gateway.Load(dir, nil)
	if err != nil {
		return nil, err
	}
	m := &Model{DefaultLimit: 10, MaxLimit: -1, Locales: []string{d.Settings.I18n.DefaultLocale}}
	for _, l := range d.Settings.I18n.Locales {
		if l.Code != m.Locales[0] {
			m.Locales = append(m.Locales, l.Code)
		}
	}
	c := &modelConverter{types: map[*contenttypes.ContentType]*Type{},
		components: map[*contenttypes.Component]*Component{}}
	for _, t := range d.Model.Types {
		if t.UID == contenttypes.UserUID || !t.BuiltIn {
			c.types[t] = &Type{Singular: t.Singular, Plural: t.Plural, Single: t.Kind == contenttypes.SingleType,
				Drafts: t.DraftAndPublish, Localized: t.Localized, Plugin: t.BuiltIn}
			m.Types = append(m.Types, c.types[t])
		}
	}
	for _, comp := range d.Model.Components {
		c.components[comp] = &Component{Category: comp.Category, Name: comp.Name}
		m.Components = append(m.Components, c.components[comp])
	}
	for t, to := range c.types {
		to.Schema = c.schema(&t.Schema, to)
	}
	for comp, to := range c.components {
		to.Schema = c.schema(&comp.Schema, nil)
	}
	c.joinSides()
	m.Morphs = c.morphs
	return m, nil
}

// withoutIDs removes the attribute id from all schemas, so that no question uses it.
func (m *Model) withoutIDs() {
	remove := func(s *Schema) {
		s.Attributes = slices.DeleteFunc(s.Attributes, func(a *Attribute) bool { return a.Type == "id" })
	}
	for _, t := range m.Types {
		remove(&t.Schema)
	}
	for _, c := range m.Components {
		remove(&c.Schema)
	}
}

// A modelConverter makes the schemas of a Model from definitions.
type modelConverter struct {
	types      map[*contenttypes.ContentType]*Type
	components map[*contenttypes.Component]*Component
	sides      map[*contenttypes.Attribute]*Attribute
	morphs     []Morph
}

func (c *modelConverter) schema(s *contenttypes.Schema, owner *Type) Schema {
	out := Schema{UID: s.UID}
	for _, x := range s.Attributes {
		if a := c.attribute(x, owner); a != nil {
			out.Attributes = append(out.Attributes, a)
		}
	}
	return out
}

// attribute returns nil for relations that lead to types outside of the Model.
func (c *modelConverter) attribute(x *contenttypes.Attribute, owner *Type) *Attribute {
	a := &Attribute{Name: x.Name, Type: x.Type.String(), System: x.System, Required: x.Required, Unique: x.Unique,
		Private:   x.Private,
		Localized: x.Localized, Enum: x.Enum, Multiple: x.Multiple, Repeatable: x.Repeatable,
		Component: c.components[x.Component]}
	for _, comp := range x.Components {
		a.Components = append(a.Components, c.components[comp])
	}
	if x.Type != contenttypes.RelationType {
		return a
	}
	if x.IsMorph() && owner != nil {
		c.morphs = append(c.morphs, Morph{Owner: owner, Name: x.Name, Mapped: x.Mapped, Many: x.ToMany()})
	}
	if a.Target = c.types[x.Target]; a.Target == nil || x.IsMorph() {
		return nil
	}
	if x.System {
		a.Type = "localizations"
	}
	a.Relation, a.Mapped, a.Owner = x.Relation.String(), x.Mapped, owner
	if c.sides == nil {
		c.sides = map[*contenttypes.Attribute]*Attribute{}
	}
	c.sides[x] = a
	return a
}

// joinSides links the two sides of each relation.
func (c *modelConverter) joinSides() {
	for x, a := range c.sides {
		if x.Inverse != nil {
			a.Inverse = c.sides[x.Inverse]
		}
	}
}

// A surveyor reads the content of a server into a World, as far as questions need it: the documents with what the
// server generated, and samples of all values.
type surveyor struct {
	server *program.Server
	world  *World
	number int
}

// Survey reads the content of a server that serves a model.
func Survey(server *program.Server, m *Model, quirk Quirks) (*World, error) {
	s := &surveyor{server: server, world: &World{Model: m, Quirk: quirk, Samples: map[*Attribute][]any{}}}
	asked, _ := m.asked()
	for _, t := range asked {
		known := map[string]*Document{}
		for _, status := range []string{published, draft} {
			for _, locale := range m.Locales {
				if (status == draft && !t.Drafts) || (locale != m.Locales[0] && !t.Localized) {
					continue
				}
				if err := s.survey(t, status, locale, known); err != nil {
					return nil, err
				}
			}
		}
	}
	return s.world, nil
}

// survey reads all documents of a type in one status and locale, page by page.
func (s *surveyor) survey(t *Type, status, locale string, known map[string]*Document) error {
	for start := 0; ; start += 100 {
		q := &Question{Type: t, Status: status, Locale: []string{locale}, Populate: everything(t.Attributes)}
		if !t.Single {
			q.Page = Page{Query: "pagination[limit]=100&pagination[start]=" + textOf(float64(start))}
		}
		_, answer, err := s.server.Do("GET", q.Path(s.world), nil)
		if err != nil {
			return err
		}
		body, _ := answer.(map[string]any)
		rows, _ := body["data"].([]any)
		if one, ok := body["data"].(map[string]any); ok {
			rows = []any{one}
		}
		for _, row := range rows {
			s.row(t, status, locale, row.(map[string]any), known)
		}
		if t.Single || len(rows) < 100 {
			return nil
		}
	}
}

func (s *surveyor) row(t *Type, status, locale string, row map[string]any, known map[string]*Document) {
	id := row["documentId"].(string)
	d := known[id]
	if d == nil {
		s.number++
		d = &Document{Number: s.number, Type: t, ID: &Generated{Kind: "documentId", Value: id}}
		known[id] = d
		s.world.Docs = append(s.world.Docs, d)
	}
	generated := func(kind, key string) *Generated {
		g := &Generated{Kind: kind}
		g.meet(key, row[key])
		return g
	}
	d.Rows = append(d.Rows, &Row{Doc: d, Locale: locale, Status: status, ID: generated("id", "id"),
		Created: generated("time", "createdAt"),
		Updated: generated("time", "updatedAt"), Published: generated("time", "publishedAt")})
	s.samples(&t.Schema, row)
}

// samplesKept bounds the samples of an attribute.
const samplesKept = 300

// samples keeps the values of a document or component.
func (s *surveyor) samples(schema *Schema, object map[string]any) {
	for _, a := range schema.Attributes {
		v := object[a.Name]
		switch {
		case v == nil || a.System:
		case a.Component != nil:
			for _, item := range asList(v) {
				s.samples(&a.Component.Schema, item.(map[string]any))
			}
		case a.Type == "dynamiczone":
			for _, item := range asList(v) {
				for _, c := range a.Components {
					if c.UID == item.(map[string]any)["__component"] {
						s.samples(&c.Schema, item.(map[string]any))
					}
				}
			}
		case a.isScalar() && len(s.world.Samples[a]) < samplesKept:
			if kept := keep(a.Type, v); kept != nil {
				s.world.Samples[a] = append(s.world.Samples[a], kept)
			}
		}
	}
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// keep returns a value of a response in the form that the evaluator uses, or nil if it has another type.
func keep(typ string, v any) any {
	text := strings.Trim(program.JSON(v), `"`)
	switch typ {
	case "json", "blocks":
		return JSONText(program.JSON(v))
	case "integer", "float", "decimal":
		if f, err := parseNumber(text); err == nil {
			return f
		}
		return nil
	case "biginteger":
		if n, err := parseBig(text); err == nil {
			return n
		}
		return nil
	}
	return v
}
