package remote

import (
	"fmt"

	"lectern/jsontree"
)

// A linkFrom is a list of targets that a row or component leads to by one attribute.
type linkFrom struct {
	owner     *schema // the type or component
	id        uint64  // of the row or component
	attribute *attribute
	targets   []*jsontree.Object
}

// split separates a row, or a component, from its links, since an archive has them apart: it calls link for each media
// and relation attribute, and returns the values that remain. The id of a row is not among them.
func (d *definitions) split(s *schema, row *jsontree.Object, link func(linkFrom)) (*jsontree.Object, error) {
	id, err := idOf(row)
	if err != nil {
		return nil, err
	}
	values := jsontree.NewObjectOf(len(row.Keys))
	known := map[string]*attribute{}
	for i := range s.attributes {
		a := &s.attributes[i]
		known[a.name] = a
		if _, shown := row.Get(a.name); !shown && d.isAsked(a) {
			return nil, fmt.Errorf("the answer leaves out %s of %s%s", a.name, s.uid, d.whyMissing(a))
		}
	}
	for _, key := range row.Keys {
		value, a := row.Value(key), known[key]
		switch {
		case key == "id" && !s.isComponent():
		case a == nil:
			values.Set(key, value)
		case a.typ == "media" || a.typ == "relation":
			targets, err := targetsOf(value)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", a.name, s.uid, err)
			}
			link(linkFrom{s, id, a, targets})
		case a.typ == "component" || a.typ == "dynamiczone":
			v, err := d.splitComponents(a, value, link)
			if err != nil {
				return nil, err
			}
			values.Set(key, v)
		default:
			values.Set(key, value)
		}
	}
	return values, nil
}

// isAsked reports whether answers must have an attribute because it was populated.
func (d *definitions) isAsked(a *attribute) bool {
	switch a.typ {
	case "media", "component", "dynamiczone":
		return !a.private
	case "relation":
		target := d.byUID[a.target]
		return !a.private && target != nil && isRead(target)
	}
	return false
}

// whyMissing says why an answer may lack an attribute that was asked for.
func (d *definitions) whyMissing(a *attribute) string {
	if a.typ == "relation" {
		return fmt.Sprintf(": the token lacks the permission %s.find; add it under Settings → API Tokens, "+
			"or use a token with full access", a.target)
	}
	return ": the definitions are not those of the server, or components are nested too deeply to be asked for"
}

// splitComponents splits a component, a list of them, or a dynamic zone.
func (d *definitions) splitComponents(a *attribute, value any, link func(linkFrom)) (any, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case *jsontree.Object:
		uid := a.components[0]
		if a.typ == "dynamiczone" {
			uid = value.Text("__component")
		}
		c := d.byUID[uid]
		if c == nil || !c.isComponent() {
			return nil, fmt.Errorf("%s has a component %q, which the definitions do not have", a.name, uid)
		}
		return d.split(c, value, link)
	case []any:
		out := make([]any, 0, len(value))
		for _, item := range value {
			if _, nested := item.([]any); nested {
				break
			}
			v, err := d.splitComponents(a, item, link)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		if len(out) == len(value) {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%s is not a component", a.name)
}

// targetsOf returns the targets of a relation: none, one, or a list.
func targetsOf(value any) ([]*jsontree.Object, error) {
	items, many := value.([]any)
	if !many && value != nil {
		items = []any{value}
	}
	var targets []*jsontree.Object
	for _, item := range items {
		o, ok := item.(*jsontree.Object)
		if !ok || o.Text("documentId") == "" {
			return nil, fmt.Errorf("a target has no documentId")
		}
		targets = append(targets, o)
	}
	return targets, nil
}
