package params

import (
	"fmt"
	"slices"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/jsontree"
)

// variants reads the options of a zone or a morph relation: on, count, or populate=*.
func (c *populateReader) variants(shown *documents.Populate, below place, a *contenttypes.Attribute, v any) {
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
	on, given := o.Get("on")
	if given && on != nil {
		c.on(shown, below, on)
	} else if other || !fits {
		c.badVariants(a, v)
	}
}

// badVariants tells that something cannot be said of a zone.
func (c *populateReader) badVariants(a *contenttypes.Attribute, v any) {
	name := a.Owner.UID
	if t := c.typeOf(a.Owner); t != nil {
		name = t.Singular
	}
	c.invalid(rankPopulateShape, fmt.Sprintf(`Invalid nested populate for %s.%s (%s). Expected a fragment ("on") or "count" but found %s`,
		name, a.Name, a.Owner.UID, jsontree.Append(nil, v)))
}

// all shows everything in every variant.
func (c *populateReader) all(shown *documents.Populate, below place, v any) {
	if v == nil {
		return
	}
	if v != "*" {
		c.unknown(rankPopulateKey, "populate", below.path, "populate")
		return
	}
	on := make([]documents.Variant, len(shown.On))
	for i, variant := range shown.On {
		on[i] = documents.Variant{Schema: variant.Schema, Of: own(c.plans[variant.Schema], variant.Of)}
		c.everything(place{schema: variant.Schema, into: on[i].Of, used: new(bool), level: below.level})
	}
	shown.On = on
}

// on reads what is shown of each variant that is named; the others are left out.
func (c *populateReader) on(shown *documents.Populate, below place, v any) {
	possible := shown.On
	shown.On = nil
	switch v := v.(type) {
	case *jsontree.Object:
		offered := func(s *contenttypes.Schema) bool {
			return slices.ContainsFunc(possible, func(v documents.Variant) bool { return v.Schema == s })
		}
		for _, uid := range v.Keys {
			if c.model.Component(uid) == nil && c.model.Type(uid) == nil {
				c.forbidden(rankPopulateKey, uid, below.path+".on."+uid, "populate")
				continue
			}
			if one, ok := c.variant(shown.Attr, below, uid, v.Value(uid)); ok && offered(one.Schema) {
				shown.On = append(shown.On, one)
			}
		}
	case []any:
		c.forbidden(rankPopulateKey, "0", below.path+".on.0", "populate")
	case string:
		if v != "" {
			c.forbidden(rankPopulateKey, "on", below.path+".on", "populate")
		}
	}
}

// variant reads what is shown of one component or type; it is not ok when it is switched off. A sort is checked and has no
// effect: the list has an order of its own, in which the variants stand among each other.
func (c *populateReader) variant(a *contenttypes.Attribute, below place, uid string, v any) (documents.Variant, bool) {
	if m := c.model.Component(uid); m != nil {
		below.schema = &m.Schema
	} else {
		below.schema = &c.model.Type(uid).Schema
	}
	below.keys = below.path + ".on[" + uid + "]"
	shown := documents.Populate{Attr: a, Of: c.plans[below.schema].all}
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
		c.invalid(rankPopulateShape, "Invalid nested populate. Expected '*' or an object")
	}
	one := documents.Variant{Schema: below.schema, Of: shown.Of}
	if shown.Query != nil {
		one.Filter = shown.Query.Filter
	}
	return one, true
}
