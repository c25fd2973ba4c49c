package params

import (
	"lectern/contenttypes"
	"lectern/documents"
)

// A plan holds what is prepared for a schema, so that requests need not compute it.
type plan struct {
	// all is the selection of a request without fields: all visible scalars. It is shared and must not be changed.
	all *documents.Selection
	// everything is the effect of populate=* for a caller who may find all types.
	everything []documents.Populate
	related    bool // populate=* shows the documents that use a file
	names      bool // attributes of all name users, so that some callers do not see them
	// texts are the attributes that a search for a text compares, numbers those that a search for a number compares.
	texts, numbers []*contenttypes.Attribute
}

// newPlans prepares the plans of all schemas of a model.
func newPlans(m *contenttypes.Model) map[*contenttypes.Schema]*plan {
	plans := make(map[*contenttypes.Schema]*plan, len(m.Types)+len(m.Components))
	for _, s := range schemas(m) {
		plans[s] = newPlan(s)
	}
	for s, p := range plans {
		for _, a := range s.Attributes {
			switch {
			case a.IsScalar() || a.Private:
			case isUse(a):
				p.related = true
			default:
				p.everything = append(p.everything, defaultPopulate(m, plans, a))
			}
		}
	}
	return plans
}

// schemas returns the schemas of all content-types and components.
func schemas(m *contenttypes.Model) []*contenttypes.Schema {
	list := make([]*contenttypes.Schema, 0, len(m.Types)+len(m.Components))
	for _, t := range m.Types {
		list = append(list, &t.Schema)
	}
	for _, c := range m.Components {
		list = append(list, &c.Schema)
	}
	return list
}

func newPlan(s *contenttypes.Schema) *plan {
	p := &plan{all: documents.Scalars(s)}
	for _, a := range p.all.Fields {
		p.names = p.names || a.NamesUser()
		if a.Type == contenttypes.Locale {
			continue
		}
		switch a.Type.Kind() {
		case contenttypes.TextValue, contenttypes.EnumValue:
			p.texts = append(p.texts, a)
		case contenttypes.NumberValue, contenttypes.BigIntegerValue:
			p.numbers = append(p.numbers, a)
		}
	}
	p.numbers = append(p.texts[:len(p.texts):len(p.texts)], p.numbers...)
	return p
}

// defaultPopulate returns the populate of an attribute without options: the scalars of its targets.
func defaultPopulate(m *contenttypes.Model, plans map[*contenttypes.Schema]*plan,
	a *contenttypes.Attribute) documents.Populate {
	shown := documents.Populate{Attr: a}
	if s := a.TargetSchema(); s != nil {
		shown.Of = plans[s].all
		return shown
	}
	for _, s := range variants(m, a) {
		shown.On = append(shown.On, documents.Variant{Schema: s, Of: plans[s].all})
	}
	return shown
}

// variants returns the schemas that the components of a zone, or the targets of a morph relation, may have.
func variants(m *contenttypes.Model, a *contenttypes.Attribute) []*contenttypes.Schema {
	var list []*contenttypes.Schema
	for _, c := range a.Components {
		list = append(list, &c.Schema)
	}
	if a.IsRelation() && a.Target == nil {
		for _, t := range m.Types {
			if !t.Internal {
				list = append(list, &t.Schema)
			}
		}
	}
	return list
}

// isUse reports whether an attribute is `related` of files, which lists the documents that use a file.
func isUse(a *contenttypes.Attribute) bool {
	return a.Name == "related" && a.Owner.UID == contenttypes.FileUID
}

// isReserved reports whether a name is reserved although s has no attribute of that name. The error then says that it
// is forbidden, not that it is unknown.
func (p *Parser) isReserved(s *contenttypes.Schema, name string) bool {
	switch name {
	case "createdBy", "updatedBy", "locale", "localizations":
		return p.model.Component(s.UID) == nil
	case "folder", "folderPath":
		return s.UID == contenttypes.FileUID
	}
	return false
}

// typeOf returns the content-type of a schema; nil for a component.
func (p *Parser) typeOf(s *contenttypes.Schema) *contenttypes.ContentType { return p.model.Type(s.UID) }
