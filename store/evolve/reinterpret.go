package evolve

import (
	"slices"

	"lectern/contenttypes"
)

// Reinterprets reports whether content that was written under the definitions of a catalog may mean something else
// under the new ones. If it does not, rows and links of earlier versions of documents can be read under the new
// definitions: attributes that are gone are not shown, and new ones are null.
func (d *Define) Reinterprets(cat *Catalog) (bool, error) {
	was, err := cat.Model()
	if err != nil {
		return false, err
	}
	is, err := d.model()
	if err != nil {
		return false, err
	}
	changed := false
	eachSchema(was, func(s *contenttypes.Schema) {
		uid := s.UID
		if to, ok := d.Moved[uid]; ok {
			uid = to
		}
		if t, now := was.Type(s.UID), is.Type(uid); t != nil && now != nil {
			changed = changed || t.DraftAndPublish != now.DraftAndPublish || t.Localized != now.Localized
		}
		if now := schemaOf(is, uid); now != nil {
			changed = changed || d.reinterprets(s, now)
		}
	})
	return changed, nil
}

// reinterprets is Reinterprets for the attributes of one type or component.
func (d *Define) reinterprets(was, is *contenttypes.Schema) bool {
	return slices.ContainsFunc(was.Attributes, func(a *contenttypes.Attribute) bool {
		name := a.Name
		if to, ok := d.MovedAttributes[was.UID][name]; ok {
			name = to
		}
		now := is.Attribute(name)
		if now == nil || slices.Contains(d.Renewed[is.UID], name) {
			return false
		}
		return a.Type != now.Type || a.Localized != now.Localized || a.Component != nil && now.Component != nil &&
			a.Component.UID != now.Component.UID ||
			a.IsRelation() && !sameLinks(a, now)
	})
}

// sameLinks reports whether the links of was are stored and shown as those of is are.
func sameLinks(was, is *contenttypes.Attribute) bool {
	return was.Relation == is.Relation && was.Mapped == is.Mapped && was.Multiple == is.Multiple &&
		targetUID(was) == targetUID(is) &&
		(was.Inverse == nil) == (is.Inverse == nil) && (was.Inverse == nil || was.Inverse.Name == is.Inverse.Name) &&
		was.HasDraftLinks() == is.HasDraftLinks()
}
