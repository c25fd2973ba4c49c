package params

import (
	"fmt"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// Bounds of populate.
const (
	maxPopulateDepth = 20
	maxPopulated     = 1000 // attributes, all levels together
)

const badPopulate = "Invalid populate parameter. Expected a string, an array of strings, a populate object"

// A populateReader turns a populate into what selections hold.
type populateReader struct {
	*request
	populated int
	// lenient is set where nobody asked for what is read: an attribute that the caller may not see as it says is left out.
	lenient bool
}

// A place is where a populate is read: the schema that it speaks of, and the selection to which it adds what it names.
type place struct {
	schema *contenttypes.Schema
	// into is what is added to; nil when the caller may not find what leads here, so that the populate is only checked.
	into *documents.Selection
	// used is set when the entries that use a file are asked for; nil at the top, where into takes them.
	used  *bool
	path  string // of attributes, from the top
	keys  string // the same with the keys of the query that lie between
	level int
}

// populated adds the parameter populate to a selection of s, which it leaves as it is.
func (r *request) populated(chosen *documents.Selection, s *contenttypes.Schema) *documents.Selection {
	populate, lenient := r.given.populate, false
	if populate == nil {
		populate, lenient = r.defaults[r.typ], true
	}
	if populate == nil || populate == "" {
		return chosen
	}
	c := populateReader{request: r, lenient: lenient}
	into := &documents.Selection{Fields: chosen.Fields}
	c.read(place{schema: s, into: into, level: 1}, populate)
	return into
}

// read reads a populate in whatever form it comes.
func (c *populateReader) read(at place, v any) {
	if at.level > maxPopulateDepth {
		c.tooDeep()
		return
	}
	switch v := v.(type) {
	case nil:
	case string:
		switch v {
		case "":
			c.unknown(rankPopulateKey, "", at.path, "populate")
		case "*":
			c.everything(at)
		default:
			c.names(at, v)
		}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				c.names(at, s)
			} else {
				c.invalid(rankPopulateShape, badPopulate)
			}
		}
	case *jsontree.Object:
		for _, key := range v.Keys {
			c.named(at, key, v.Value(key))
		}
	}
}

func (c *populateReader) tooDeep() {
	c.invalid(rankPopulateShape, fmt.Sprintf("Too deep a populate: at most %d levels are allowed", maxPopulateDepth))
}

// everything adds all that can be populated and that the caller may find.
func (c *populateReader) everything(at place) {
	plan := c.plans[at.schema]
	if plan.related {
		c.uses(at, at.schema.Attribute("related"))
	}
	if at.into == nil {
		return
	}
	follows := true
	for i := range plan.everything {
		follows = follows && c.shows(plan.everything[i].Attr)
	}
	if follows && len(at.into.Populate) == 0 {
		at.into.Populate = plan.everything[:len(plan.everything):len(plan.everything)]
		return
	}
	for _, shown := range plan.everything {
		if c.access.Follows(shown.Attr) {
			shown.On = c.followed(shown)
			at.into.Populate = append(at.into.Populate, shown)
		}
	}
}

// shows reports whether the caller sees all that the default populate of a shows.
func (c *populateReader) shows(a *contenttypes.Attribute) bool {
	return c.access.Follows(a) && (!a.IsRelation() || a.Target != nil || c.access == permission.FullAccess)
}

// followed are the variants of a populate that the caller may find.
func (c *populateReader) followed(shown documents.Populate) []documents.Variant {
	if c.shows(shown.Attr) {
		return shown.On
	}
	var on []documents.Variant
	for _, v := range shown.On {
		if c.access.Allows(c.typeOf(v.Schema), "find") {
			on = append(on, v)
		}
	}
	return on
}

// names reads names between commas, such as owner.avatar.
func (c *populateReader) names(at place, list string) {
	for item := range strings.SplitSeq(list, ",") {
		var names []string
		for name := range strings.SplitSeq(strings.TrimSpace(item), ".") {
			if name != "" {
				names = append(names, name)
			}
		}
		c.dotted(at, names, 0)
	}
}

// dotted populates names[from] at a place, and below it the names that follow. Errors name the path from where it was written.
func (c *populateReader) dotted(at place, names []string, from int) {
	switch {
	case from == len(names), c.populated > maxPopulated:
		return
	case at.level > maxPopulateDepth:
		c.tooDeep()
		return
	}
	name, path := names[from], strings.Join(names[:from+1], ".")
	a := at.schema.Attribute(name)
	switch {
	case a == nil && c.isReserved(at.schema, name), a != nil && !a.IsScalar() && a.Private:
		c.forbidden(rankPopulateHidden, name, join(at.path, name), "populate")
		return
	case a == nil || a.IsScalar():
		c.forbidden(rankPopulateKey, name, path, "populate")
		return
	case isUse(a):
		c.uses(at, a)
		return
	}
	shown, below := c.child(at, a)
	if a.Type == contenttypes.DynamicZone {
		c.dottedZone(shown, below, names, from+1)
	} else if below.schema != nil {
		c.dotted(below, names, from+1)
		c.settle(shown, below)
	} else if from+1 < len(names) {
		c.forbidden(rankPopulateKey, names[from+1], strings.Join(names[:from+2], "."), "populate")
	}
}

// dottedZone populates a name in every component of a zone that has it.
func (c *populateReader) dottedZone(shown *documents.Populate, below place, names []string, from int) {
	if from == len(names) {
		return
	}
	found := false
	for i := range shown.On {
		v := &shown.On[i]
		if a := v.Schema.Attribute(names[from]); a == nil || a.IsScalar() || a.Private {
			continue
		}
		found = true
		v.Of = own(c.plans[v.Schema], v.Of)
		at := below
		at.schema, at.into = v.Schema, v.Of
		if below.into == nil {
			at.into = nil
		}
		c.dotted(at, names, from)
	}
	if !found {
		c.forbidden(rankPopulateKey, names[from], strings.Join(names[:from+1], "."), "populate")
	}
}

// below is the place that an attribute leads to, without a selection to add to.
func (at place) below(a *contenttypes.Attribute) place {
	return place{schema: target(a), path: join(at.path, a.Name), keys: join(at.keys, a.Name), level: at.level + 1, used: new(bool)}
}

// child returns what a place shows of an attribute, which it adds unless it is there, and the place below it.
func (c *populateReader) child(at place, a *contenttypes.Attribute) (*documents.Populate, place) {
	below := at.below(a)
	var shown *documents.Populate
	if at.into != nil && c.access.Follows(a) {
		for i := range at.into.Populate {
			if at.into.Populate[i].Attr == a {
				shown = &at.into.Populate[i]
			}
		}
		if shown == nil {
			at.into.Populate = append(at.into.Populate, c.byDefault(a))
			shown = &at.into.Populate[len(at.into.Populate)-1]
		}
		below.into = shown.Of
		if shown.Of == nil {
			below.into = &documents.Selection{} // of a zone: its variants are added to
		} else {
			shown.Of = own(c.plans[below.schema], shown.Of)
			below.into = shown.Of
		}
	} else {
		unseen := c.byDefault(a)
		shown = &unseen
	}
	return shown, below
}

// byDefault is what is shown of an attribute for which nothing is said.
func (c *populateReader) byDefault(a *contenttypes.Attribute) documents.Populate {
	if c.populated++; c.populated > maxPopulated {
		c.invalid(rankPopulateShape, fmt.Sprintf("Too many attributes to populate: at most %d are allowed", maxPopulated))
	}
	shown := defaultPopulate(c.model, c.plans, a)
	shown.On = c.followed(shown)
	return shown
}

// settle carries what was found below a file over to the populate that shows it.
func (c *populateReader) settle(shown *documents.Populate, below place) {
	shown.Related = shown.Related || *below.used
}

// own returns a selection that may be changed.
func own(p *plan, s *documents.Selection) *documents.Selection {
	if s != p.all {
		return s
	}
	return &documents.Selection{Fields: s.Fields}
}

// uses asks for the entries that use a file.
func (c *populateReader) uses(at place, a *contenttypes.Attribute) {
	if at.used != nil {
		*at.used = true
	} else if at.into != nil {
		at.into.Populate = append(at.into.Populate, documents.Populate{Attr: a, Related: true})
	}
}

// named reads the value of a key that names an attribute.
func (c *populateReader) named(at place, name string, v any) {
	a := at.schema.Attribute(name)
	switch {
	case a == nil && c.isReserved(at.schema, name), a != nil && !a.IsScalar() && a.Private:
		c.forbidden(rankPopulateHidden, name, join(at.path, name), "populate")
		return
	case a == nil, a.Type == contenttypes.ID, a.Type == contenttypes.DocumentID:
		c.unknown(rankPopulateKey, name, at.path, "populate")
		return
	case a.IsScalar():
		c.forbidden(rankPopulateKey, name, join(at.keys, name), "populate")
		return
	case isUse(a):
		if s, ok := v.(string); !ok || readSwitch(s) != switchOff {
			c.uses(at, a)
		}
		return
	}
	if s, ok := v.(string); ok && readSwitch(s) == switchOff {
		return
	}
	shown, before := c.byDefault(a), c.faults
	c.option(&shown, at, a, v)
	if c.lenient && c.faults.err != before.err {
		c.faults = before
		return
	}
	if at.into != nil && c.access.Follows(a) {
		at.into.Populate = append(at.into.Populate, shown)
	}
}

// option reads what is said of an attribute: that it is shown, or how.
func (c *populateReader) option(shown *documents.Populate, at place, a *contenttypes.Attribute, v any) {
	below := at.below(a)
	if s, ok := v.(string); ok && readSwitch(s) == switchOn {
		return
	}
	if below.schema == nil {
		c.variants(shown, below, a, v)
		return
	}
	switch v := v.(type) {
	case *jsontree.Object:
		for _, key := range v.Keys {
			c.setting(shown, below, key, v.Value(key))
		}
	case string:
		c.word(below, v)
	case []any:
		if names, ok := texts(v); ok {
			c.word(below, names[0])
		} else {
			c.invalid(rankPopulateShape, badPopulate)
		}
	default:
		c.invalid(rankPopulateShape, badPopulate)
	}
	c.settle(shown, below)
}

// word reads a text where options are expected: always an error, but for a star where there is nothing below to populate.
func (c *populateReader) word(below place, s string) {
	switch {
	case s == "*":
		for _, a := range below.schema.Attributes {
			if !a.IsScalar() {
				err := apierror.ForbiddenKey(a.Name, join(below.path, a.Name), "", "")
				details := jsontree.NewObject()
				details.Set("key", a.Name)
				details.Set("path", join(below.path, a.Name))
				err.Details = details
				c.faults.add(rankPopulateKey, err)
				return
			}
		}
	case below.schema.Attribute(s) != nil:
		c.forbidden(rankPopulateKey, s, join(below.path, s), "populate")
	default:
		c.unknown(rankPopulateKey, s, below.path, "populate")
	}
}

// setting reads one option of a relation, media or component.
func (c *populateReader) setting(shown *documents.Populate, below place, key string, v any) {
	switch key {
	case "fields":
		inner := c.within()
		populate := shown.Of.Populate
		fields := inner.fields(below.schema, v, fieldsWithin)
		c.adopt(&inner.faults)
		shown.Of = &documents.Selection{Fields: fields.Fields, Populate: populate}
	case "populate":
		shown.Of = own(c.plans[below.schema], shown.Of)
		below.into = shown.Of
		below.keys += ".populate"
		c.read(below, v)
	case "filters":
		if f := c.filtersOf(below.schema, v); f != nil {
			c.query(shown).Filter = f
		}
	case "sort":
		inner := c.within()
		keys := inner.sort(below.schema, v, sortWithin)
		c.adopt(&inner.faults)
		if keys != nil {
			c.query(shown).Sort = keys
		}
	case "count":
		on, ok := c.count(below, v)
		shown.Count = ok && on && shown.Attr.Type != contenttypes.Media
	case "on":
		c.fragment(shown.Attr, below, v)
	default:
		if below.schema.Attribute(key) != nil || c.isReserved(below.schema, key) {
			c.forbidden(rankPopulateKey, key, join(below.path, key), "populate")
		} else {
			c.unknown(rankPopulateKey, key, below.path, "populate")
		}
	}
}

// query is the query of what is shown.
func (c *populateReader) query(shown *documents.Populate) *store.Query {
	if shown.Query == nil {
		shown.Query = &store.Query{Type: shown.Attr.Target, Limit: -1}
	}
	return shown.Query
}

// count reads the option count; ok is false, with a fault, when it is no switch.
func (c *populateReader) count(below place, v any) (on, ok bool) {
	s, _ := v.(string)
	state := readSwitch(s)
	if state == switchNone {
		c.unknown(rankPopulateKey, "count", below.path, "populate")
	}
	return state == switchOn, state != switchNone
}

// fragment refuses `on` for an attribute whose targets are all of one type.
func (c *populateReader) fragment(a *contenttypes.Attribute, below place, v any) {
	on, ok := v.(*jsontree.Object)
	if !ok {
		c.forbidden(rankPopulateKey, "on", below.path+".on", "populate")
		return
	}
	for _, uid := range on.Keys {
		if c.model.Type(uid) == nil && c.model.Component(uid) == nil {
			c.forbidden(rankPopulateKey, uid, below.path+".on."+uid, "populate")
			return
		}
	}
	c.invalid(rankPopulateShape, fmt.Sprintf("Using fragments is not permitted to populate %q in %q", a.Name, a.Owner.UID))
}

// A switchState is what a word says of a populate: on, off, or neither.
type switchState uint8

const (
	switchNone switchState = iota
	switchOn
	switchOff
)

func readSwitch(s string) switchState {
	switch s {
	case "true", "t", "1":
		return switchOn
	case "false", "f", "0":
		return switchOff
	}
	return switchNone
}
