package params

import (
	"fmt"
	"slices"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/jsontree"
)

// variants reads the options of a zone or a morph relation: on, count, or populate=*.
func (c *populateReader) variants(shown *documents.Populate, below scope, a *contenttypes.Attribute, v any) {
	o, ok := v.(*jsontree.Object)
	if !ok {
		c.badVariants(a, v)
		return
	}
	other, fits := false, false
	for _, key := range o.Keys {
		switch key {
		case "on":
			fits = true
		case "count":
			fits = true
			c.count(below, o.Value(key))
		case "populate":
			fits = true
			c.all(shown, below, o.Value(key))
		default:
			other = true
		}
	}
	on, exists := o.Get("on")
	if exists && on != nil {
		c.on(shown, below, on)
	} else if other || !fits {
		c.badVariants(a, v)
	}
}

// badVariants adds the issue that an option does not exist for a zone or morph relation.
func (c *populateReader) badVariants(a *contenttypes.Attribute, v any) {
	name := a.Owner.UID
	if t := c.typeOf(a.Owner); t != nil {
		name = t.Singular
	}
	c.invalid(issuePopulateShape,
		fmt.Sprintf(`Invalid nested populate for %s.%s (%s). Expected a fragment ("on") or "count" but found %s`,
			name, a.Name, a.Owner.UID, jsontree.Append(nil, v)))
}

// all reads the option populate, which must be "*": it populates everything in every variant.
func (c *populateReader) all(shown *documents.Populate, below scope, v any) {
	if v == nil {
		return
	}
	if v != "*" {
		c.unknown(issuePopulateKey, "populate", below.path, "populate")
		return
	}
	on := make([]documents.Variant, len(shown.On))
	for i, variant := range shown.On {
		on[i] = documents.Variant{Schema: variant.Schema, Of: editable(c.plans[variant.Schema], variant.Of)}
		c.everything(scope{schema: variant.Schema, into: on[i].Of, used: new(bool), level: below.level})
	}
	shown.On = on
}

// on reads the option on: the options of each variant that is shown. The other variants are not shown.
func (c *populateReader) on(shown *documents.Populate, below scope, v any) {
	possible := shown.On
	shown.On = nil
	switch v := v.(type) {
	case *jsontree.Object:
		offered := func(s *contenttypes.Schema) bool {
			return slices.ContainsFunc(possible, func(v documents.Variant) bool { return v.Schema == s })
		}
		for _, uid := range v.Keys {
			if c.model.Component(uid) == nil && c.model.Type(uid) == nil {
				c.forbidden(issuePopulateKey, uid, below.path+".on."+uid, "populate")
				continue
			}
			if one, ok := c.variant(shown.Attr, below, uid, v.Value(uid)); ok && offered(one.Schema) {
				shown.On = append(shown.On, one)
			}
		}
	case []any:
		c.forbidden(issuePopulateKey, "0", below.path+".on.0", "populate")
	case string:
		if v != "" {
			c.forbidden(issuePopulateKey, "on", below.path+".on", "populate")
		}
	}
}

// variant reads the options of one component or type. It is not ok if the variant is switched off. The option sort is
// checked but has no effect, since the targets of all variants form one list.
func (c *populateReader) variant(a *contenttypes.Attribute, below scope, uid string, v any) (documents.Variant, bool) {
	if m := c.model.Component(uid); m != nil {
		below.schema = &m.Schema
	} else {
		below.schema = &c.model.Type(uid).Schema
	}
	below.keys = below.path + ".on[" + uid + "]"
	shown := documents.Populate{Attr: a, Of: c.allFields(below.schema)}
	switch v := v.(type) {
	case string:
		switch readSwitch(v) {
		case switchOff:
			return documents.Variant{}, false
		case switchNone:
			c.word(below, v)
		}
	case *jsontree.Object:
		for _, key := range v.Keys {
			c.setting(&shown, below, key, v.Value(key))
		}
	default:
		c.invalid(issuePopulateShape, "Invalid nested populate. Expected '*' or an object")
	}
	one := documents.Variant{Schema: below.schema, Of: shown.Of}
	if shown.Query != nil {
		one.Filter = shown.Query.Filter
	}
	return one, true
}
