package contenttypes

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"lectern/internal/spelling"
	"lectern/internal/yamlfile"
)

// typeFile is a content-type as a file defines it. The ignored keys have a meaning only for an admin panel or an SQL
// database.
type typeFile struct {
	Kind           string         `yaml:"kind"`
	UID            string         `yaml:"uid"`
	CollectionName *yamlfile.Node `yaml:"collectionName,ignored"`
	Info           struct {
		SingularName string         `yaml:"singularName"`
		PluralName   string         `yaml:"pluralName"`
		DisplayName  string         `yaml:"displayName"`
		Description  string         `yaml:"description"`
		Name         *yamlfile.Node `yaml:"name,ignored"`
		Icon         *yamlfile.Node `yaml:"icon,ignored"`
	} `yaml:"info"`
	Options struct {
		DraftAndPublish   bool           `yaml:"draftAndPublish"`
		PrivateAttributes []string       `yaml:"privateAttributes"`
		PopulateCreator   *yamlfile.Node `yaml:"populateCreatorFields,ignored"`
		Comment           *yamlfile.Node `yaml:"comment,ignored"`
		Increments        *yamlfile.Node `yaml:"increments,ignored"`
		Timestamps        *yamlfile.Node `yaml:"timestamps,ignored"`
		ReviewWorkflows   *yamlfile.Node `yaml:"reviewWorkflows,ignored"`
		RequiredToPublish *yamlfile.Node `yaml:"requiredToPublish,ignored"`
		Visible           *yamlfile.Node `yaml:"visible,ignored"`
	} `yaml:"options"`
	PluginOptions *yamlfile.Node `yaml:"pluginOptions"`
	Preview       *yamlfile.Node `yaml:"preview"`
	Config        *yamlfile.Node `yaml:"config,ignored"`
	ModelType     *yamlfile.Node `yaml:"modelType,ignored"`
	Attributes    *yamlfile.Node `yaml:"attributes"`
}

// contentType reads one content-type.
func (l *loader) contentType(root *yamlfile.Node, built builtIn) {
	var f typeFile
	if root.IsNull() {
		l.notRead(root.File, yamlfile.Problems{root.Problem("the file is empty; it takes kind, info and attributes")})
		return
	}
	if root.Kind != yamlfile.Map {
		l.notRead(root.File,
			yamlfile.Problems{root.Problem("a content-type is a mapping with kind, info and attributes, not %s",
				root.Describe())})
		return
	}
	l.problems = append(l.problems, root.Decode(&f)...)
	t := &ContentType{
		Singular: f.Info.SingularName, Plural: f.Info.PluralName,
		DisplayName: cmp.Or(f.Info.DisplayName, f.Info.SingularName), Description: f.Info.Description,
		DraftAndPublish: f.Options.DraftAndPublish, BuiltIn: built.file != "", Internal: built.internal,
	}
	d := &definition{schema: &t.Schema, typ: t, root: root, extension: l.extended[f.UID]}
	t.Localized = l.localized(f.PluginOptions) && !l.opts.WithoutI18N
	t.Kind = l.kind(root, f.Kind)
	l.names(d)
	t.UID = l.uid(d, f.UID)
	l.addType(d)
	if d.extension != nil {
		f.Attributes = l.extend(f.Attributes, d.extension)
		root, f.Options.PrivateAttributes = d.extension.root, d.extension.private
	}
	l.schemaAttributes(d, f.Attributes)
	l.privateAttributes(root.At("options", "privateAttributes"), t, f.Options.PrivateAttributes)
	t.Preview = l.previewURL(t, f.Preview)
}

func (l *loader) kind(root *yamlfile.Node, kind string) Kind {
	switch {
	case kind == "singleType":
		return SingleType
	case root.Get("kind").IsNull():
		l.report(root.Problem(`key "kind" is missing; it is collectionType or singleType`))
	case kind != "" && kind != "collectionType":
		l.report(root.At("kind").Problem("kind %q is unknown; it is collectionType or singleType", kind))
	}
	return CollectionType
}

var kebab = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// names checks singularName and pluralName of a type.
func (l *loader) names(d *definition) {
	for _, n := range []struct{ key, value string }{{"singularName", d.typ.Singular}, {"pluralName", d.typ.Plural}} {
		at := d.root.At("info", n.key)
		switch {
		case d.root.Get("info").Get(n.key).IsNull():
			l.report(at.Problem("key \"info.%s\" is missing; it is a word such as %q", n.key,
				map[string]string{"singularName": "article", "pluralName": "articles"}[n.key]))
		case at.IsText() && !kebab.MatchString(n.value):
			l.report(at.Problem("%s %q is not in kebab-case; write it as %q", n.key, n.value, toKebab(n.value)))
		}
	}
	if d.nameless = d.typ.Singular == "" || !d.typ.BuiltIn && !kebab.MatchString(d.typ.Singular); d.nameless {
		l.notRead(d.root.File, nil)
	}
	if d.typ.Singular != "" && d.typ.Singular == d.typ.Plural {
		l.report(d.root.At("info", "pluralName").Problem("singularName and pluralName are both %q; they must differ",
			d.typ.Plural))
	}
}

// toKebab converts a text to kebab-case, for a message that proposes a name.
func toKebab(s string) string {
	var b strings.Builder
	for _, word := range words(s) {
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(strings.ToLower(word))
	}
	if name := strings.TrimLeft(b.String(), "0123456789-"); name != "" {
		return name
	}
	return "a-name"
}

var (
	uidForm      = regexp.MustCompile(`^api::[a-z][a-z0-9]*([-_][a-z0-9]+)*\.[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)
	uidFormWords = "api::<api>.<name>, both in kebab-case"
)

// uid returns the uid that the definition states, or else the one that follows from its singular name.
func (l *loader) uid(d *definition, uid string) string {
	if uid == "" {
		return fmt.Sprintf("api::%s.%s", d.typ.Singular, d.typ.Singular)
	}
	if !d.typ.BuiltIn && !uidForm.MatchString(uid) {
		l.report(d.root.At("uid").Problem("uid %q does not have the form %s", uid, uidFormWords))
	}
	return uid
}

// addType adds a type to the model, unless it has no valid name.
func (l *loader) addType(d *definition) {
	l.schemas = append(l.schemas, d)
	if d.nameless {
		return
	}
	if other := l.model.types[d.typ.UID]; other != nil {
		at := d.root.At("uid")
		if at == d.root {
			at = d.root.At("info", "singularName")
		}
		l.report(at.Problem("uid %s is already that of %s; give this content-type another name", d.typ.UID,
			l.definitionOf(&other.Schema).root.File))
		return
	}
	l.model.types[d.typ.UID] = d.typ
	l.model.Types = append(l.model.Types, d.typ)
}

// definitionOf returns the definition that a schema was read from.
func (l *loader) definitionOf(s *Schema) *definition {
	for _, d := range l.schemas {
		if d.schema == s {
			return d
		}
	}
	return nil
}

// componentFile is a component as a file defines it.
type componentFile struct {
	CollectionName *yamlfile.Node `yaml:"collectionName,ignored"`
	Info           struct {
		DisplayName string         `yaml:"displayName"`
		Description *yamlfile.Node `yaml:"description,ignored"`
		Name        *yamlfile.Node `yaml:"name,ignored"`
		Icon        *yamlfile.Node `yaml:"icon,ignored"`
	} `yaml:"info"`
	Options       *yamlfile.Node `yaml:"options"`
	PluginOptions *yamlfile.Node `yaml:"pluginOptions"`
	Config        *yamlfile.Node `yaml:"config,ignored"`
	ModelType     *yamlfile.Node `yaml:"modelType,ignored"`
	Category      *yamlfile.Node `yaml:"category,ignored"`
	Attributes    *yamlfile.Node `yaml:"attributes"`
}

var componentName = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

// component reads one component.
func (l *loader) component(root *yamlfile.Node, category, name string) {
	for _, n := range []struct{ what, name string }{{"category", category}, {"file name", name}} {
		if !componentName.MatchString(n.name) {
			l.report(yamlfile.Problem{File: root.File,
				Message: fmt.Sprintf("%s %q of a component is not in kebab-case; call it %q", n.what, n.name,
					toKebab(n.name))})
		}
	}
	if root.IsNull() {
		l.report(root.Problem("the file is empty; it takes info and attributes"))
		return
	}
	if root.Kind != yamlfile.Map {
		l.report(root.Problem("a component is a mapping with info and attributes, not %s", root.Describe()))
		return
	}
	var f componentFile
	l.problems = append(l.problems, root.Decode(&f)...)
	c := &Component{Category: category, Name: name, DisplayName: cmp.Or(f.Info.DisplayName, name)}
	c.UID = category + "." + name
	d := &definition{schema: &c.Schema, comp: c, root: root}
	l.schemas = append(l.schemas, d)
	if other := l.model.components[c.UID]; other != nil {
		l.report(yamlfile.Problem{File: root.File,
			Message: fmt.Sprintf("component %s is already defined in %s; keep one of the two", c.UID,
				l.definitionOf(&other.Schema).root.File)})
	} else {
		l.model.components[c.UID] = c
		l.model.Components = append(l.model.Components, c)
	}
	l.schemaAttributes(d, f.Attributes)
}

// maxAttributes is the largest number of attributes that a type or component may have.
const maxAttributes = 1000

// schemaAttributes reads the attributes of a definition and adds the system attributes before and after them.
func (l *loader) schemaAttributes(d *definition, attributes *yamlfile.Node) {
	switch {
	case attributes.IsNull():
		l.report(d.root.Problem(`key "attributes" is missing; without any, write "attributes: {}"`))
	case attributes.Kind != yamlfile.Map:
		l.report(attributes.Problem("attributes must be a mapping of names to attributes, not %s",
			attributes.Describe()))
	}
	s := d.schema
	s.typ = d.typ
	s.Attributes = leadingAttributes(d.typ)
	if attributes != nil {
		names := map[string]string{} // keyed by the name in lower case
		for i, e := range attributes.Entries {
			if i == maxAttributes {
				l.report(attributes.EntryProblem(e, "more than %d attributes; group some of them in components",
					maxAttributes))
				break
			}
			l.attributeName(attributes, e, names)
			if a := l.attribute(d, e); a != nil {
				d.attributes = append(d.attributes, a)
				s.Attributes = append(s.Attributes, a.attr)
			}
		}
	}
	s.Attributes = append(s.Attributes, trailingAttributes(d.typ)...)
	s.byName = make(map[string]*Attribute, len(s.Attributes))
	for i, a := range s.Attributes {
		a.Index, a.Owner, a.jsonKey = i, s, `,"`+a.Name+`":`
		s.byName[a.Name] = a
	}
}

// leadingAttributes returns the system attributes that come before those of the definition.
func leadingAttributes(t *ContentType) []*Attribute {
	id := &Attribute{Name: "id", Type: ID, System: true}
	if t == nil {
		return []*Attribute{id}
	}
	id.Indexed, id.Localized = true, t.Localized
	return []*Attribute{id, {Name: "documentId", Type: DocumentID, System: true, Indexed: true}}
}

// trailingAttributes returns the system attributes that come after those of the definition.
func trailingAttributes(t *ContentType) (attributes []*Attribute) {
	if t == nil {
		return nil
	}
	for _, name := range []string{"createdAt", "updatedAt", "publishedAt"} {
		attributes = append(attributes, &Attribute{Name: name, Type: DateTime, System: true, Indexed: true,
			Localized: t.Localized})
	}
	if t.Localized {
		attributes = append(attributes,
			&Attribute{Name: "locale", Type: Locale, System: true, Localized: true},
			&Attribute{Name: "localizations", Type: RelationType, System: true, Localized: true, Relation: OneToMany,
				Target: t})
	}
	return attributes
}

// privateAttributes marks the attributes that options.privateAttributes lists as private.
func (l *loader) privateAttributes(at *yamlfile.Node, t *ContentType, names []string) {
	for i, name := range names {
		a := t.Attribute(name)
		switch {
		case a == nil:
			l.report(at.Items[i].Problem("privateAttributes names %q, which is no attribute; %s", name,
				spelling.Suggest(name, t.definedNames())))
		case a.Type == ID || a.Type == DocumentID:
			l.report(at.Items[i].Problem("%s cannot be private, since clients tell documents apart by it", name))
		default:
			a.Private = true
		}
	}
}

// definedNames returns the names of the attributes that the definition lists, without system attributes.
func (s *Schema) definedNames() (names []string) {
	for _, a := range s.Attributes {
		if !a.System {
			names = append(names, a.Name)
		}
	}
	return names
}

// localized reads pluginOptions.i18n.localized.
func (l *loader) localized(options *yamlfile.Node) bool {
	if options.IsNull() {
		return false
	}
	if options.Kind != yamlfile.Map {
		l.report(options.Problem("pluginOptions must be a mapping, not %s", options.Describe()))
		return false
	}
	var i18n struct {
		Localized bool `yaml:"localized"`
	}
	l.problems = append(l.problems, options.Get("i18n").Decode(&i18n)...)
	return i18n.Localized
}
