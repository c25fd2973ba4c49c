package evolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lectern/contenttypes"
)

// A comparison compares old definitions (was) with new ones (is). It collects the steps that convert the content, and
// the refusals of changes that would lose content. It asks about content only where a difference needs it.
type comparison struct {
	planner   *Planner
	catalog   *Catalog
	content   Content // read under the old definitions
	was, is   *contenttypes.Model
	locale    string // the locale of content whose type becomes localized
	questions []*Question

	refusals []Refusal
	define   Define
	retyped  map[*contenttypes.Attribute]*Retyping // by attribute of is
	before   []*Step                               // run under the old definitions
	edits    map[string][]ValueEdit
	flips    []*Step
	after    []*Step
	drafts   []*Step // run last, since they copy rows
}

// compare compares the definitions of a catalog with those of a model.
func (p *Planner) compare(cat *Catalog, is *contenttypes.Model) (*comparison, error) {
	content, err := p.Content(cat)
	if err != nil {
		return nil, err
	}
	c := &comparison{
		planner: p, catalog: cat, content: content, was: content.Model(), is: is, locale: cmp.Or(p.DefaultLocale, "en"),
		edits: map[string][]ValueEdit{}, retyped: map[*contenttypes.Attribute]*Retyping{},
		define: Define{Definitions: definitionsOf(is), Renewed: map[string][]string{},
			Reordered: map[string][]string{}},
	}
	c.compare()
	return c, nil
}

// ask adds a question about the values of an attribute.
func (c *comparison) ask(a *contenttypes.Attribute, concerns func(Value) bool, conclude func(versions int)) {
	c.questions = append(c.questions, &Question{Attr: a, Concerns: concerns, Conclude: conclude})
}

// refuse adds a refusal. If one of the calls is a rename, which keeps the content, the others go to Refusal.Otherwise.
func (c *comparison) refuse(calls Migrations, format string, args ...any) {
	r := Refusal{Problem: fmt.Sprintf(format, args...), Calls: calls}
	if slices.ContainsFunc(calls, Migration.renames) {
		r.Calls, r.Otherwise = nil, nil
		for _, call := range calls {
			if call.renames() {
				r.Calls = append(r.Calls, call)
			} else {
				r.Otherwise = append(r.Otherwise, call)
			}
		}
	}
	c.refusals = append(c.refusals, r)
}

func (c *comparison) compare() {
	for _, t := range c.was.Types {
		switch is := c.is.Type(t.UID); {
		case is != nil:
			c.contentType(t, is)
			c.attributes(&t.Schema, &is.Schema)
		case isDormant(c.is, t.UID):
			c.define.Definitions[t.UID] = t.Definition()
		default:
			c.typeGone(t)
		}
	}
	for _, comp := range c.was.Components {
		// A component that is gone is refused by the attributes that contain it.
		if is := c.is.Component(comp.UID); is != nil {
			c.attributes(&comp.Schema, &is.Schema)
		}
	}
	c.content.Survey(c.questions)
}

// steps returns the steps in the order in which to run them.
func (c *comparison) steps() ([]*Step, error) {
	list := append(c.before, &Step{Work: &c.define})
	list = append(list, c.surplusIndexes()...)
	left, err := c.catalog.Clone()
	if err == nil {
		err = c.define.Apply(left)
	}
	if err != nil {
		return nil, err
	}
	list = append(list, droppedInner(c.catalog, left)...)
	for _, t := range c.is.Types {
		if e := c.edits[t.UID]; len(e) > 0 {
			list = append(list, &Step{Work: &EditValues{Type: t.UID, Edits: e}})
		}
	}
	return slices.Concat(list, c.flips, c.after, c.drafts, c.missingIndexes(), c.missingInner(left)), nil
}

func (c *comparison) typeGone(t *contenttypes.ContentType) {
	n := c.content.Documents(t)
	if n == 0 {
		return
	}
	var calls []Migration
	for _, uid := range c.successors(&t.Schema) {
		calls = append(calls, migration(renameType, t.UID, uid))
	}
	c.refuse(append(calls, migration(dropType, t.UID)), "content-type %s is gone; it has %s", t.UID,
		plural(n, "document"))
}

// successors returns up to three types or components that may be a removed one under a new name, the likeliest first.
// They are new or empty, and one of these holds: attributes that led to the removed one lead to them, they have at
// least half of its attributes, or they are new and have one for each of its attributes.
func (c *comparison) successors(gone *contenttypes.Schema) []string {
	type candidate struct {
		uid    string
		led    int // the result of comparison.led
		shared int
	}
	var list []candidate
	isComponent := c.was.Component(gone.UID) != nil
	eachSchema(c.is, func(s *contenttypes.Schema) {
		if (c.is.Component(s.UID) != nil) != isComponent || !isComponent && !strings.HasPrefix(s.UID, "api::") {
			return
		}
		if there := schemaOf(c.was, s.UID); there != nil && (isComponent || !c.content.IsEmpty(c.was.Type(s.UID))) {
			return
		}
		shared, own := 0, 0
		for _, a := range gone.Attributes {
			if a.System || a.Type == contenttypes.ID {
				continue
			}
			own++
			if other := s.Attribute(a.Name); other != nil && other.Type == a.Type {
				shared++
			}
		}
		isNew := schemaOf(c.was, s.UID) == nil
		if led := c.led(gone, s); led > 0 || 2*shared >= own || isNew && replaces(s, gone) {
			list = append(list, candidate{s.UID, led, shared})
		}
	})
	slices.SortStableFunc(
		list, func(x, y candidate) int { return cmp.Or(cmp.Compare(y.led, x.led), cmp.Compare(y.shared, x.shared)) })
	var uids []string
	for _, l := range list[:min(3, len(list))] {
		uids = append(uids, l.uid)
	}
	return uids
}

// replaces reports whether each attribute of a removed schema can be paired with one of s. Attributes with the same
// name are paired first.
func replaces(s, gone *contenttypes.Schema) bool {
	taken := map[*contenttypes.Attribute]bool{}
	for _, loosely := range []bool{false, true} {
		for _, a := range gone.Attributes {
			if a.System || a.Type == contenttypes.ID || taken[a] {
				continue
			}
			i := slices.IndexFunc(s.Attributes, func(b *contenttypes.Attribute) bool {
				return !b.System && !taken[b] && (loosely || a.Name == b.Name) && ofOneKind(a, b)
			})
			if i >= 0 {
				taken[a], taken[s.Attributes[i]] = true, true
			} else if loosely {
				return false
			}
		}
	}
	return true
}

// ofOneKind reports whether was may be is under a new name, where the type that a relation leads to may have a new name
// too.
func ofOneKind(was, is *contenttypes.Attribute) bool {
	if was.IsRelation() {
		return is.IsRelation() && was.Relation == is.Relation && was.Mapped == is.Mapped
	}
	return alike(was, is)
}

// led counts the attributes that led to a removed type or component and lead to s now.
func (c *comparison) led(gone, s *contenttypes.Schema) (n int) {
	eachSchema(c.was, func(owner *contenttypes.Schema) {
		is := schemaOf(c.is, owner.UID)
		for _, a := range owner.Attributes {
			if is != nil && !a.System && leadsTo(a, gone.UID) && !leadsTo(a, s.UID) &&
				leadsTo(is.Attribute(a.Name), s.UID) {
				n++
			}
		}
	})
	return n
}

// leadsTo reports whether an attribute is a relation to a type, or contains a component; a may be nil.
func leadsTo(a *contenttypes.Attribute, uid string) bool {
	if a == nil {
		return false
	}
	return targetUID(a) == uid ||
		slices.ContainsFunc(a.AllComponents(), func(comp *contenttypes.Component) bool { return comp.UID == uid })
}

// contentType compares all of a type but its attributes.
func (c *comparison) contentType(was, is *contenttypes.ContentType) {
	if !was.BuiltIn {
		c.names(was, is)
	}
	if was.Kind == contenttypes.CollectionType && is.Kind == contenttypes.SingleType {
		if n := c.content.Documents(was); n > 1 {
			c.refuse([]Migration{migration(keepDocument, was.UID, c.content.FirstDocument(was))},
				"%s is a single type now, which has one document; it has %d", was.UID, n)
		}
	}
	if c.content.IsEmpty(was) {
		return
	}
	switch {
	case is.DraftAndPublish && !was.DraftAndPublish:
		c.drafts = append(c.drafts, steps(&AddDrafts{Type: is.UID})...)
	case was.DraftAndPublish && !is.DraftAndPublish:
		c.draftsOff(was, is)
	}
	switch {
	case is.Localized && !was.Localized:
		c.after = append(c.after, moveLocale(is.UID, "", c.locale)...)
	case was.Localized && !is.Localized:
		c.localesOff(was)
	}
}

// names refuses a change of names by which documents would be served under another path.
func (c *comparison) names(was, is *contenttypes.ContentType) {
	var changes []string
	for _, n := range []struct{ key, was, is string }{{"singularName", was.Singular, is.Singular},
		{"pluralName", was.Plural, is.Plural}} {
		if n.was != n.is && n.was != "" { // they are empty after accept-names
			changes = append(changes, fmt.Sprintf("%s was %s and is %s", n.key, n.was, n.is))
		}
	}
	if n := c.content.Documents(was); len(changes) > 0 && n > 0 {
		c.refuse([]Migration{migration(acceptNames, was.UID)}, "the %s in %s; %s would be found at another path",
			strings.Join(changes, ", the "), was.UID, plural(n, "document"))
	}
}

// draftsOff plans to remove the drafts of a type. It refuses that if a draft holds content that is not published.
func (c *comparison) draftsOff(was, is *contenttypes.ContentType) {
	uid := was.UID
	never, differ := c.content.Drafts(was, lostDrafts(was, is))
	if never+differ > 0 {
		var what []string
		if never > 0 {
			what = append(what, fmt.Sprintf("%s never published", plural(never, "draft")))
		}
		if differ > 0 {
			what = append(what, fmt.Sprintf("%s not as published", plural(differ, "draft")))
		}
		c.refuse([]Migration{migration(dropDrafts, uid)}, "drafts are switched off in %s; it has %s", uid,
			strings.Join(what, " and "))
		return
	}
	c.before = append(c.before, steps(&DropDrafts{Type: uid})...)
}

// lostDrafts returns the attributes in which a draft may differ from its published version, so that removing the draft
// would lose content. Draft links of a relation whose other side keeps its draft links are not lost.
func lostDrafts(was, is *contenttypes.ContentType) []*contenttypes.Attribute {
	return slices.DeleteFunc(slices.Clone(was.Attributes), func(a *contenttypes.Attribute) bool {
		if a.System || !a.IsRelation() {
			return a.System
		}
		n := is.Attribute(a.Name)
		return a.Mapped && (n == nil || !n.IsRelation() || n.HasDraftLinks()) || !a.HasDraftLinks()
	})
}

// localesOff plans to take the locale from the content of a type. It refuses that if there is content in a locale other
// than the default.
func (c *comparison) localesOff(was *contenttypes.ContentType) {
	uid := was.UID
	var list []string
	var codes []string
	c.content.EachLocale(was, func(code string, n int) {
		codes = append(codes, code)
		list = append(list, fmt.Sprintf("%s in %s", plural(n, "version"), code))
	})
	if len(codes) == 1 && codes[0] == c.locale {
		c.after = append(c.after, moveLocale(uid, codes[0], "")...)
		return
	}
	var calls []Migration
	for _, code := range codes {
		calls = append(calls, migration(keepLocale, uid, code))
	}
	c.refuse(calls, "locales are switched off in %s; it has %s", uid, strings.Join(list, ", "))
}

// surplusIndexes plans to remove indexes that are not needed any more, or whose order does not fit the new type.
func (c *comparison) surplusIndexes() (list []*Step) {
	for _, t := range c.was.Types {
		is := c.is.Type(t.UID)
		if is == nil {
			continue // removed without rows, or switched off
		}
		for _, a := range t.Attributes {
			if c.catalog.IsIndexed(a) && !c.keepsIndex(a, is.Attribute(a.Name)) {
				schema, field := c.catalog.Field(a)
				list = append(list, &Step{Work: &DropIndex{schema, field, attributeName(a)}})
				c.define.Reordered[t.UID] = append(c.define.Reordered[t.UID], a.Name)
			}
			if c.catalog.HasText(a) && !c.keepsText(a, is.Attribute(a.Name)) {
				schema, field := c.catalog.Field(a)
				list = append(list, &Step{Work: dropText(schema, field, a)})
			}
		}
	}
	return list
}

func (c *comparison) keepsIndex(was, is *contenttypes.Attribute) bool {
	return is != nil && HasIndex(is) && ordering(was.Type) == ordering(is.Type) &&
		!slices.Contains(c.define.Renewed[was.Owner.UID], was.Name)
}

func (c *comparison) keepsText(was, is *contenttypes.Attribute) bool {
	return is != nil && HasText(is) && !slices.Contains(c.define.Renewed[was.Owner.UID], was.Name)
}

// missingIndexes plans to build the indexes of types that have rows. Those of new types are complete, see Define.Apply.
func (c *comparison) missingIndexes() (list []*Step) {
	for _, t := range c.is.Types {
		was := c.was.Type(t.UID)
		if was == nil {
			continue
		}
		missing := slices.ContainsFunc(t.Attributes, func(is *contenttypes.Attribute) bool {
			a := was.Attribute(is.Name)
			return HasIndex(is) && (a == nil || !c.catalog.IsIndexed(a) || !c.keepsIndex(a, is)) ||
				HasText(is) && (a == nil || !c.catalog.HasText(a) || !c.keepsText(a, is))
		})
		if missing {
			list = append(list, &Step{Work: &BuildIndex{Type: t.UID}})
		}
	}
	return list
}

// missingInner plans to build the inner indexes that types lack in the catalog after the definitions were replaced.
func (c *comparison) missingInner(left *Catalog) (list []*Step) {
	for _, t := range c.is.Types {
		if left.lacksInner(t) {
			list = append(list, &Step{Work: &BuildInner{Type: t.UID}})
		}
	}
	return list
}
