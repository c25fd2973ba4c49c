package contenttypes

import (
	"slices"
	"strings"

	"lectern/internal/spelling"
	"lectern/internal/yamlfile"
)

// link resolves the references of attributes to types, components and other attributes.
func (l *loader) link() {
	for _, d := range l.schemas {
		for _, a := range d.attributes {
			switch a.attr.Type {
			case RelationType:
				l.relation(a)
			case Media:
				l.mediaTarget(a)
			case ComponentType:
				l.componentOf(a)
			case DynamicZone:
				l.zone(a)
			case UID:
				l.targetField(a)
			}
		}
	}
	for _, d := range l.schemas {
		for _, a := range d.attributes {
			l.otherSide(a)
		}
	}
}

// mediaTarget makes the built-in file type the target of a media attribute.
func (l *loader) mediaTarget(a *attributeDefinition) {
	a.attr.Target = l.model.types[FileUID]
	if a.attr.Target == nil {
		l.report(a.node.Problem("a media attribute needs the plugin upload; enable it in config/plugins.yaml, " +
			"or take the attribute away"))
	}
}

// relation reads the kind and the target of a relation.
func (l *loader) relation(a *attributeDefinition) {
	kind, ok := relationNamed(a.file.Relation)
	if !ok {
		if a.node.Get("relation").IsNull() {
			l.report(a.node.Problem("a relation needs the key relation: %s", strings.Join(relationKinds[1:], ", ")))
		} else if a.at("relation").IsText() {
			l.report(a.at("relation").Problem("unknown relation %q; %s", a.file.Relation,
				spelling.Suggest(a.file.Relation, relationKinds[1:])))
		}
		return
	}
	a.attr.Relation = kind
	if kind == MorphToOne || kind == MorphToMany {
		for _, key := range []string{"target", "inversedBy", "mappedBy", "morphBy"} {
			if !a.node.Get(key).IsNull() {
				l.report(a.at(key).Problem("%s does not go with %s, which may point to any type; take it away", key,
					kind))
			}
		}
		return
	}
	a.attr.Target = l.target(a)
}

// target returns the content-type that a relation points to, or nil after it reported a problem.
func (l *loader) target(a *attributeDefinition) *ContentType {
	at, uid := a.at("target"), a.file.Target
	if a.node.Get("target").IsNull() {
		l.report(a.node.Problem("a relation needs the key target, the uid of a content-type such as api::article.article"))
		return nil
	}
	t := l.model.types[uid]
	switch {
	case !at.IsText(): // Decode has reported it
	case t == nil && builtInPlugin(uid) != "":
		l.report(at.Problem("target %s belongs to the plugin %s, which is off; enable it in config/plugins.yaml, "+
			"or take the relation away", uid, builtInPlugin(uid)))
	case t == nil && l.unread["content-types/"+
		uid[strings.LastIndexByte(uid, '.')+1:]]: // the problem of that file is reported
	case t == nil:
		var known []string
		for _, other := range l.model.Types {
			if !other.Internal {
				known = append(known, other.UID)
			}
		}
		slices.Sort(known)
		l.report(at.Problem("target %q is no content-type; %s", uid, spelling.Suggest(uid, known)))
	case t.Internal && (a.of.typ == nil || !a.of.typ.BuiltIn || a.of.extension != nil):
		l.report(at.Problem("target %s is a type of the server's own that content cannot point to", uid))
	default:
		return t
	}
	return nil
}

// otherSide checks the two sides of a relation and links them to each other.
func (l *loader) otherSide(a *attributeDefinition) {
	attr := a.attr
	if attr.Type != RelationType || attr.Target == nil {
		return
	}
	key, other := "inversedBy", a.file.InversedBy
	switch {
	case attr.Relation == MorphOne || attr.Relation == MorphMany:
		l.morphSide(a)
		return
	case a.file.MorphBy != "":
		l.report(a.at("morphBy").Problem("morphBy goes with morphOne and morphMany alone; write inversedBy or mappedBy"))
		return
	case a.file.InversedBy != "" && a.file.MappedBy != "":
		l.report(a.at("mappedBy").Problem("inversedBy and mappedBy stand together; " +
			"the side that owns the relation says inversedBy, the other one mappedBy"))
		return
	case a.file.MappedBy != "":
		key, other = "mappedBy", a.file.MappedBy
	case other == "":
		return // a one-way relation
	}
	at := a.at(key)
	switch {
	case a.of.comp != nil:
		l.report(at.Problem("%s does not go in a component, whose relations are one-way; take it away", key))
	case key == "inversedBy" && attr.Relation == OneToMany:
		l.report(at.Problem("the side of oneToMany cannot own a two-way relation; "+
			"write mappedBy here and inversedBy on %s of %s", other, attr.Target.UID))
	case key == "mappedBy" && attr.Relation == ManyToOne:
		l.report(at.Problem("the side of manyToOne owns a two-way relation; "+
			"write inversedBy here and mappedBy on %s of %s", other, attr.Target.UID))
	default:
		l.pair(a, key, other)
	}
}

// pair links a to the attribute other of its target, if that attribute names a in return.
func (l *loader) pair(a *attributeDefinition, key, other string) {
	attr, at := a.attr, a.at(key)
	back := map[string]string{"inversedBy": "mappedBy", "mappedBy": "inversedBy"}[key]
	b := attr.Target.Attribute(other)
	switch {
	case b == nil || b.System:
		l.report(at.Problem("%s names %q, but %s has no such attribute; %s", key, other, attr.Target.UID,
			spelling.Suggest(other, attr.Target.relationNames())))
	case b == attr:
		l.report(at.Problem("%s names the attribute itself; a two-way relation needs a second attribute, with %s: %s",
			key, back, attr.Name))
	case b.Type != RelationType:
		l.report(at.Problem("%s names %q, but that is of type %s; it must be a relation with %s: %s", key, other,
			b.Type, back, attr.Name))
	case b.Relation != attr.Relation.opposite():
		if b.Relation != NoRelation {
			l.report(at.Problem("%s names %q, but that is %s; the other side of %s is %s", key, other, b.Relation,
				attr.Relation, attr.Relation.opposite()))
		}
	case a.of.nameless: // names has reported it
	case l.byAttr[b].file.Target != a.of.schema.UID:
		l.report(at.Problem("%s names %q, but that points to %s; its target must be %s", key, other,
			l.byAttr[b].file.Target, a.of.schema.UID))
	case l.byAttr[b].side(back) != attr.Name:
		l.report(at.Problem("%s names %q, but that does not say %s: %s; add it there, or take %s away here", key, other,
			back, attr.Name, key))
	default:
		attr.Inverse, attr.Mapped = b, key == "mappedBy"
	}
}

// side returns the value of inversedBy or mappedBy.
func (a *attributeDefinition) side(key string) string {
	if key == "mappedBy" {
		return a.file.MappedBy
	}
	return a.file.InversedBy
}

// morphSide links morphOne and morphMany to the morphToOne or morphToMany attribute that holds their links.
func (l *loader) morphSide(a *attributeDefinition) {
	attr, at := a.attr, a.at("morphBy")
	for _, key := range []string{"inversedBy", "mappedBy"} {
		if a.side(key) != "" {
			l.report(a.at(key).Problem("%s does not go with %s; write morphBy", key, attr.Relation))
		}
	}
	b := attr.Target.Attribute(a.file.MorphBy)
	switch {
	case a.file.MorphBy == "":
		l.report(at.Problem("%s needs the key morphBy, the attribute of %s that points back", attr.Relation,
			attr.Target.UID))
	case a.of.comp != nil:
		l.report(at.Problem("morphBy does not go in a component, whose relations are one-way; take it away"))
	case b == nil || b.System:
		l.report(at.Problem("morphBy names %q, but %s has no such attribute; %s", a.file.MorphBy, attr.Target.UID,
			spelling.Suggest(a.file.MorphBy, attr.Target.relationNames())))
	case b.Relation != MorphToOne && b.Relation != MorphToMany:
		l.report(at.Problem("morphBy names %q, but that is no relation morphToOne or morphToMany", a.file.MorphBy))
	default:
		attr.Inverse, attr.Mapped = b, true
	}
}

// relationNames returns the names of the relations that the definition lists.
func (s *Schema) relationNames() (names []string) {
	for _, a := range s.Attributes {
		if a.Type == RelationType && !a.System {
			names = append(names, a.Name)
		}
	}
	return names
}

// componentOf resolves the component of an attribute.
func (l *loader) componentOf(a *attributeDefinition) {
	if a.node.Get("component").IsNull() {
		l.report(a.node.Problem("a component attribute needs the key component, such as shared.address"))
		return
	}
	if at := a.at("component"); at.IsText() {
		a.attr.Component = l.componentNamed(at, a.file.Component)
	}
}

func (l *loader) componentNamed(at *yamlfile.Node, uid string) *Component {
	c := l.model.components[uid]
	category, name, _ := strings.Cut(uid, ".")
	if c == nil && !l.unread["components/"+category+"/"+name] {
		var known []string
		for _, other := range l.model.Components {
			known = append(known, other.UID)
		}
		slices.Sort(known)
		if name == "" {
			l.report(at.Problem("component %q does not have the form <category>.<name>; %s", uid,
				spelling.Suggest(uid, known)))
		} else {
			l.report(at.Problem("component %q does not exist, there is no components/%s/%s.yaml; %s", uid, category,
				name, spelling.Suggest(uid, known)))
		}
	}
	return c
}

// zone resolves the components of a dynamic zone.
func (l *loader) zone(a *attributeDefinition) {
	list := a.node.Get("components")
	switch {
	case a.of.comp != nil:
		l.report(a.node.Problem("a component cannot hold a dynamic zone; put the zone into the content-type"))
	case list.IsNull() || list.Kind == yamlfile.List && len(list.Items) == 0:
		l.report(a.node.At("components").Problem("a dynamic zone needs the key components, a list of at least one component"))
	case list.Kind == yamlfile.List:
		seen := map[string]bool{}
		for _, item := range list.Items {
			if !item.IsText() {
				continue // Decode has reported it
			}
			if seen[item.Text] {
				l.report(item.Problem("components holds %q twice; take one away", item.Text))
				continue
			}
			seen[item.Text] = true
			if c := l.componentNamed(item, item.Text); c != nil {
				a.attr.Components = append(a.attr.Components, c)
			}
		}
	}
}

// targetField checks that a uid is made from an attribute that exists and holds text.
func (l *loader) targetField(a *attributeDefinition) {
	name := a.attr.TargetField
	switch {
	case a.attr.Generate && a.of.comp != nil:
		l.report(a.at("generate").Problem("a uid of a component is not generated, since it may be that of another; " +
			"take generate away"))
	case a.attr.Generate && name == "":
		l.report(a.at("generate").Problem("generate needs targetField, the attribute that the uid is made from"))
	}
	if name == "" {
		return
	}
	sources := setOf(String, Text)
	switch b := a.of.schema.Attribute(name); {
	case b == nil || b.System:
		l.report(a.at("targetField").Problem("targetField names %q, which is no attribute here; %s", name,
			spelling.Suggest(name, a.of.schema.definedNames())))
	case !sources.has(b.Type):
		l.report(a.at("targetField").Problem("targetField names %q of type %s; it must be of type %s", name, b.Type,
			strings.ReplaceAll(sources.String(), ", ", " or ")))
	}
}

// cycles reports components that contain themselves: a document with one would never end.
func (l *loader) cycles() {
	const (
		open = 1 + iota
		done
	)
	state := map[*Component]int{}
	var path []*Component
	var visit func(c *Component)
	visit = func(c *Component) {
		state[c] = open
		path = append(path, c)
		for _, attr := range c.Attributes {
			switch next := attr.Component; {
			case next == nil:
			case state[next] == open:
				var names []string
				for _, p := range path[slices.Index(path, next):] {
					names = append(names, p.UID)
				}
				l.report(l.byAttr[attr].at("component").Problem("component %s contains itself: %s; "+
					"take one of these out of the other", next.UID, strings.Join(append(names, next.UID), " → ")))
			case state[next] == 0:
				visit(next)
			}
		}
		path = path[:len(path)-1]
		state[c] = done
	}
	for _, c := range l.model.Components {
		if state[c] == 0 {
			visit(c)
		}
	}
}
