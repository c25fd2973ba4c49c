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
	maxPopulated     = 1000 // attributes on all levels together
)

const badPopulate = "Invalid populate parameter. Expected a string, an array of strings, a populate object"

// A populateReader reads the parameter populate.
type populateReader struct {
	*request
	populated int
	// lenient omits an attribute whose options have an issue. It is set for defaults, which the client did not send.
	lenient bool
}

// A scope is one level of a populate: the schema whose attributes it names, and the selection that it adds them to.
type scope struct {
	schema *contenttypes.Schema
	// into is the selection; nil if the caller may not find the documents, so that the populate is only checked.
	into *documents.Selection
	// hidden is set for the options of an attribute whose documents the caller may not find.
	hidden bool
	// used is set to true if the populate names the documents that use a file. It is nil at the top, where they are
	// added to into.
	used  *bool
	path  string // the dotted path of attributes that leads to this scope
	keys  string // path with the keys of the query that are between the names
	level int
}

// populated returns a selection with the fields of chosen and what the parameter populate adds. It does not change
// chosen.
func (r *request) populated(chosen *documents.Selection, s *contenttypes.Schema) *documents.Selection {
	populate, lenient := r.params.populate, false
	if populate == nil {
		populate, lenient = r.defaults[r.typ], true
	}
	if populate == nil || populate == "" {
		return chosen
	}
	c := populateReader{request: r, lenient: lenient}
	into := &documents.Selection{Fields: chosen.Fields}
	c.read(scope{schema: s, into: into, level: 1}, populate)
	return into
}

// read reads a populate in any form: a text, a list of texts, or an object.
func (c *populateReader) read(at scope, v any) {
	if at.level > maxPopulateDepth {
		c.tooDeep()
		return
	}
	switch v := v.(type) {
	case nil:
	case string:
		switch v {
		case "":
			c.unknown(issuePopulateKey, "", at.path, "populate")
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
				c.invalid(issuePopulateShape, badPopulate)
			}
		}
	case *jsontree.Object:
		for _, key := range v.Keys {
			if !isPassedOver(key) {
				c.named(at, key, v.Value(key))
			}
		}
	}
}

// isPassedOver reports whether a key of a populate object is ignored, as Strapi does with what looks like a truth
// value. So the first two elements of a list may stand beside names: populate[0]=owner&populate[owner][fields]=name.
func isPassedOver(key string) bool {
	switch key {
	case "", "0", "1", "t", "f", "true", "false":
		return true
	}
	return false
}

func (c *populateReader) tooDeep() {
	c.invalid(issuePopulateShape, fmt.Sprintf("Too deep a populate: at most %d levels are allowed", maxPopulateDepth))
}

// everything reads "*": it adds all attributes that can be populated and whose targets the caller may find.
func (c *populateReader) everything(at scope) {
	plan := c.plans[at.schema]
	if plan.related {
		c.uses(at, at.schema.Attribute("related"))
	}
	if at.into == nil {
		return
	}
	if c.access.HasRules() {
		c.everythingSeen(at)
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

// everythingSeen is everything for a caller whose rules may show private attributes and hide others.
func (c *populateReader) everythingSeen(at scope) {
	for _, a := range at.schema.Attributes {
		if !a.IsScalar() && !isUse(a) && c.access.Follows(a) {
			shown := c.limited(defaultPopulate(c.model, c.plans, a))
			shown.On = c.followed(shown)
			at.into.Populate = append(at.into.Populate, shown)
		}
	}
}

// limited returns a populate of all fields, without those that the caller does not see.
func (c *populateReader) limited(shown documents.Populate) documents.Populate {
	if !c.access.HasRules() {
		return shown
	}
	if s := shown.Attr.TargetSchema(); s != nil {
		shown.Of = c.allFields(s)
	}
	for i := range shown.On {
		shown.On[i].Of = c.allFields(shown.On[i].Schema)
	}
	return shown
}

// isHidden reports whether an attribute is one that the caller is told not to use.
func (c *populateReader) isHidden(a *contenttypes.Attribute) bool {
	return a.Private && !c.access.Follows(a)
}

// shows reports whether the caller may find all targets of an attribute.
func (c *populateReader) shows(a *contenttypes.Attribute) bool {
	return c.access.Follows(a) && (!a.IsRelation() || a.Target != nil || c.access == permission.FullAccess)
}

// followed returns the variants of a populate that the caller may find.
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

// names reads a list, separated by commas, of paths such as owner.avatar.
func (c *populateReader) names(at scope, list string) {
	for item := range strings.SplitSeq(list, ",") {
		var names []string
		for name := range strings.SplitSeq(strings.TrimSpace(item), ".") {
			if name != "" {
				names = append(names, name)
			}
		}
		shown := at
		if !c.followsAll(at.schema, names) {
			shown.into = nil
		}
		c.dotted(shown, names, 0)
	}
}

// followsAll reports whether the caller may find the targets of every attribute on a path. A path that leads through
// others populates nothing, not even its beginning.
func (c *populateReader) followsAll(s *contenttypes.Schema, names []string) bool {
	for _, name := range names {
		if s == nil { // the components of a zone, which are told apart further down
			return true
		}
		a := s.Attribute(name)
		if a == nil || a.IsScalar() {
			return true
		}
		if !c.access.Follows(a) {
			return false
		}
		s = a.TargetSchema()
	}
	return true
}

// dotted populates names[from] in a scope, and the names after it below. The path in errors begins with names[0].
func (c *populateReader) dotted(at scope, names []string, from int) {
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
	case a == nil && c.isReserved(at.schema, name), a != nil && !a.IsScalar() && c.isHidden(a):
		c.forbidden(issuePopulateHidden, name, join(at.path, name), "populate")
		return
	case a == nil || a.IsScalar():
		c.forbidden(issuePopulateKey, name, path, "populate")
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
		c.markRelated(shown, below)
	} else if from+1 < len(names) {
		c.forbidden(issuePopulateKey, names[from+1], strings.Join(names[:from+2], "."), "populate")
	}
}

// dottedZone populates names[from] in every component of a zone that has an attribute of that name.
func (c *populateReader) dottedZone(shown *documents.Populate, below scope, names []string, from int) {
	if from == len(names) {
		return
	}
	found := false
	for i := range shown.On {
		v := &shown.On[i]
		if a := v.Schema.Attribute(names[from]); a == nil || a.IsScalar() || c.isHidden(a) {
			continue
		}
		found = true
		v.Of = editable(c.plans[v.Schema], v.Of)
		at := below
		at.schema, at.into = v.Schema, v.Of
		if below.into == nil {
			at.into = nil
		}
		c.dotted(at, names, from)
	}
	if !found {
		c.forbidden(issuePopulateKey, names[from], strings.Join(names[:from+1], "."), "populate")
	}
}

// below returns the scope of the targets of an attribute. It has no selection yet.
func (at scope) below(a *contenttypes.Attribute) scope {
	return scope{schema: a.TargetSchema(), path: join(at.path, a.Name), keys: join(at.keys, a.Name), level: at.level +
		1, used: new(bool)}
}

// child returns the populate of an attribute in a scope, and the scope below it. It adds the populate if there is none.
func (c *populateReader) child(at scope, a *contenttypes.Attribute) (*documents.Populate, scope) {
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
			below.into = &documents.Selection{} // this selection is not printed: the variants of a zone have selections of their own
		} else {
			shown.Of = editable(c.plans[below.schema], shown.Of)
			below.into = shown.Of
		}
	} else {
		unseen := c.byDefault(a)
		shown = &unseen
	}
	return shown, below
}

// byDefault returns the populate of an attribute without options, of variants that the caller may find. It counts the
// attribute.
func (c *populateReader) byDefault(a *contenttypes.Attribute) documents.Populate {
	if c.populated++; c.populated > maxPopulated {
		c.invalid(issuePopulateShape, fmt.Sprintf("Too many attributes to populate: at most %d are allowed",
			maxPopulated))
	}
	shown := c.limited(defaultPopulate(c.model, c.plans, a))
	shown.On = c.followed(shown)
	return shown
}

// markRelated sets shown.Related if the scope below it names the documents that use a file.
func (c *populateReader) markRelated(shown *documents.Populate, below scope) {
	shown.Related = shown.Related || *below.used
}

// editable returns a selection that may be changed: s, or a copy if s is the shared one of the plan.
func editable(p *plan, s *documents.Selection) *documents.Selection {
	if s != p.all {
		return s
	}
	return &documents.Selection{Fields: s.Fields}
}

// uses adds the documents that use a file to the selection of a scope.
func (c *populateReader) uses(at scope, a *contenttypes.Attribute) {
	if at.used != nil {
		*at.used = true
	} else if at.into != nil {
		at.into.Populate = append(at.into.Populate, documents.Populate{Attr: a, Related: true})
	}
}

// named reads the options of an attribute.
func (c *populateReader) named(at scope, name string, v any) {
	a := at.schema.Attribute(name)
	switch {
	case a == nil && c.isReserved(at.schema, name), a != nil && !a.IsScalar() && c.isHidden(a):
		c.forbidden(issuePopulateHidden, name, join(at.path, name), "populate")
		return
	case a == nil, a.Type == contenttypes.ID, a.Type == contenttypes.DocumentID:
		c.unknown(issuePopulateKey, name, at.path, "populate")
		return
	case a.IsScalar():
		c.forbidden(issuePopulateKey, name, join(at.keys, name), "populate")
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
	shown, before := c.byDefault(a), c.issues
	c.option(&shown, at, a, v)
	if c.lenient && c.issues.err != before.err {
		c.issues = before
		return
	}
	if at.into != nil && c.access.Follows(a) {
		at.into.Populate = append(at.into.Populate, shown)
	}
}

// option reads the value of an attribute in a populate: a switch or an object of options.
func (c *populateReader) option(shown *documents.Populate, at scope, a *contenttypes.Attribute, v any) {
	below := at.below(a)
	below.hidden = at.into == nil || !c.access.Follows(a)
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
			c.invalid(issuePopulateShape, badPopulate)
		}
	default:
		c.invalid(issuePopulateShape, badPopulate)
	}
	c.markRelated(shown, below)
}

// word reads a text in place of options. It adds an issue, except for "*" if there is nothing to populate or the caller
// may not find the documents.
func (c *populateReader) word(below scope, s string) {
	switch {
	case s == "*" && below.hidden:
	case s == "*":
		for _, a := range below.schema.Attributes {
			if !a.IsScalar() {
				err := apierror.ForbiddenKey(a.Name, join(below.path, a.Name), "", "")
				details := jsontree.NewObject()
				details.Set("key", a.Name)
				details.Set("path", join(below.path, a.Name))
				err.Details = details
				c.issues.add(issuePopulateKey, err)
				return
			}
		}
	case below.schema.Attribute(s) != nil:
		c.forbidden(issuePopulateKey, s, join(below.path, s), "populate")
	default:
		c.unknown(issuePopulateKey, s, below.path, "populate")
	}
}

// setting reads one option of a relation, media or component.
func (c *populateReader) setting(shown *documents.Populate, below scope, key string, v any) {
	switch key {
	case "fields":
		inner := c.within()
		populate := shown.Of.Populate
		fields := inner.fields(below.schema, v, fieldsWithin)
		c.adopt(&inner.issues)
		shown.Of = &documents.Selection{Fields: fields.Fields, Populate: populate}
	case "populate":
		shown.Of = editable(c.plans[below.schema], shown.Of)
		if below.into = shown.Of; below.hidden {
			below.into = nil
		}
		below.keys += ".populate"
		c.read(below, v)
	case "filters":
		if f := c.filtersOf(below.schema, v); f != nil {
			c.query(shown).Filter = f
		}
	case "sort":
		inner := c.within()
		keys := inner.sort(below.schema, v, sortWithin)
		c.adopt(&inner.issues)
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
			c.forbidden(issuePopulateKey, key, join(below.path, key), "populate")
		} else {
			c.unknown(issuePopulateKey, key, below.path, "populate")
		}
	}
}

// query returns the query of a populate, which it creates if there is none.
func (c *populateReader) query(shown *documents.Populate) *store.Query {
	if shown.Query == nil {
		shown.Query = &store.Query{Type: shown.Attr.Target, Limit: -1, Sight: c.sight()}
	}
	return shown.Query
}

// count reads the option count. If it is not a switch, it adds an issue and is not ok.
func (c *populateReader) count(below scope, v any) (on, ok bool) {
	s, _ := v.(string)
	state := readSwitch(s)
	if state == switchNone {
		c.unknown(issuePopulateKey, "count", below.path, "populate")
	}
	return state == switchOn, state != switchNone
}

// fragment adds the issue that an attribute has no option `on`, since all its targets have one type.
func (c *populateReader) fragment(a *contenttypes.Attribute, below scope, v any) {
	on, ok := v.(*jsontree.Object)
	if !ok {
		c.forbidden(issuePopulateKey, "on", below.path+".on", "populate")
		return
	}
	for _, uid := range on.Keys {
		if c.model.Type(uid) == nil && c.model.Component(uid) == nil {
			c.forbidden(issuePopulateKey, uid, below.path+".on."+uid, "populate")
			return
		}
	}
	c.invalid(issuePopulateShape, fmt.Sprintf("Using fragments is not permitted to populate %q in %q", a.Name,
		a.Owner.UID))
}

// A switchState is the value of a switch: on, off, or neither.
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
