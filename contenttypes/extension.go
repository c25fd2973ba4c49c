package contenttypes

import (
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

// extensible is the only built-in type that a project may extend; the server alone defines the others.
const extensible = UserUID

// An extension is a file of content-types/ that adds attributes to a built-in type. It names the type by its uid. The
// new attributes follow the built-in ones.
type extension struct {
	root       *yamlfile.Node
	attributes *yamlfile.Node
	private    []string // options.privateAttributes
}

// extensions reads the files that extend built-in types, and returns the other files.
func (l *loader) extensions(roots []*yamlfile.Node) (others []*yamlfile.Node) {
	l.extended = map[string]*extension{}
	for _, root := range roots {
		at := root.Get("uid")
		if at == nil || !at.IsText() || !strings.HasPrefix(at.Text, "plugin::") && !isBuiltIn(at.Text) {
			others = append(others, root)
			continue
		}
		switch other := l.extended[at.Text]; {
		case !isBuiltIn(at.Text):
			l.report(at.Problem("uid %q is no built-in type; the one that a project may extend is %s", at.Text,
				extensible))
		case at.Text != extensible:
			l.report(at.Problem("%s cannot be extended; the one built-in type that takes attributes of a project is %s",
				at.Text, extensible))
		case l.isOff(builtInPlugin(at.Text)):
			l.report(at.Problem("%s belongs to the plugin %s, which is off; enable it in config/plugins.yaml, "+
				"or take the file away", at.Text, builtInPlugin(at.Text)))
		case other != nil:
			l.report(at.Problem("%s is already extended by %s; put all its attributes into one file", at.Text,
				other.root.File))
		default:
			l.extended[at.Text] = l.extension(root)
		}
	}
	return others
}

// extension reads a file that extends a type. The file may repeat other keys of the type, as Strapi's files do, but
// cannot change them.
func (l *loader) extension(root *yamlfile.Node) *extension {
	var f typeFile
	l.problems = append(l.problems, root.Decode(&f)...)
	x := &extension{root: root, attributes: f.Attributes, private: f.Options.PrivateAttributes}
	for _, fixed := range []struct {
		at         *yamlfile.Node
		key, value string
	}{
		{root.Get("kind"), "kind", CollectionType.String()},
		{root.Get("info").Get("singularName"), "singularName", "user"},
		{root.Get("info").Get("pluralName"), "pluralName", "users"},
		{root.Get("options").Get("draftAndPublish"), "draftAndPublish", "false"},
		{root.Get("pluginOptions").Get("i18n").Get("localized"), "localized", "false"},
	} {
		if !fixed.at.IsNull() && !strings.EqualFold(fixed.at.Text, fixed.value) {
			l.report(fixed.at.Problem("%s of %s is %s and cannot be changed; take it away", fixed.key, f.UID,
				fixed.value))
		}
	}
	switch {
	case x.attributes.IsNull():
		l.report(root.Problem(`key "attributes" is missing; it takes those that %s is to have beside its own`, f.UID))
		x.attributes = &yamlfile.Node{Kind: yamlfile.Map, File: root.File, Line: root.Line}
	case x.attributes.Kind != yamlfile.Map:
		l.report(x.attributes.Problem("attributes must be a mapping of names to attributes, not %s",
			x.attributes.Describe()))
		x.attributes = &yamlfile.Node{Kind: yamlfile.Map, File: root.File, Line: root.Line}
	}
	return x
}

// extend joins the attributes of a built-in type and those of an extension. merge joins an attribute that both define.
func (l *loader) extend(attributes *yamlfile.Node, x *extension) *yamlfile.Node {
	all := &yamlfile.Node{Kind: yamlfile.Map, File: x.attributes.File, Line: x.attributes.Line}
	for _, e := range attributes.Entries {
		if i := slices.IndexFunc(x.attributes.Entries,
			func(other yamlfile.Entry) bool { return other.Key == e.Key }); i >= 0 {
			e = l.merge(e, x.attributes.Entries[i])
		}
		all.Entries = append(all.Entries, e)
	}
	for _, e := range x.attributes.Entries {
		if attributes.Get(e.Key) == nil {
			all.Entries = append(all.Entries, e)
		}
	}
	return all
}

// merge joins a built-in attribute with its definition in an extension. The extension may make the attribute stricter,
// but cannot change what the server relies on.
func (l *loader) merge(built, ext yamlfile.Entry) yamlfile.Entry {
	if ext.Value.Kind != yamlfile.Map {
		return ext // attribute reports the problem when it reads the entry
	}
	joined := &yamlfile.Node{Kind: yamlfile.Map, File: ext.Value.File, Line: ext.Line}
	for _, e := range ext.Value.Entries {
		was := built.Value.Get(e.Key)
		if problem := l.conflict(built, e, was); problem != "" {
			l.report(ext.Value.EntryProblem(e, "%s", problem))
			continue
		}
		joined.Entries = append(joined.Entries, e)
	}
	for _, e := range built.Value.Entries {
		if joined.Get(e.Key) == nil {
			value := *e.Value
			value.File, value.Line = joined.File, joined.Line
			joined.Entries = append(joined.Entries, yamlfile.Entry{Key: e.Key, Line: joined.Line, Value: &value})
		}
	}
	return yamlfile.Entry{Key: built.Key, Line: ext.Line, Value: joined}
}

// conflict returns a message when an extension defines a built-in attribute in a way that is not allowed, else "". was
// is the value of the key in the built-in definition.
func (l *loader) conflict(built, e yamlfile.Entry, was *yamlfile.Node) string {
	switch e.Key {
	case "type", "relation", "target", "inversedBy", "mappedBy", "morphBy":
		switch {
		case was == nil:
			return e.Key + " means nothing on the built-in attribute " + built.Key + "; take it away"
		case e.Value.Text != was.Text:
			return e.Key + " of the built-in attribute " + built.Key + " is " + was.Text +
				" and cannot be changed; give the attribute another name"
		}
	case "required", "unique", "private":
		if says, ok := e.Value.AsBool(); was != nil && ok &&
			!says { // a built-in definition has such a key only to set it to true
			return "the built-in attribute " + built.Key + " is always " + e.Key + "; take " + e.Key + " away"
		}
	}
	return ""
}

func isBuiltIn(uid string) bool {
	return slices.ContainsFunc(builtIns, func(b builtIn) bool { return b.uid == uid })
}
