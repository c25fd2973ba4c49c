package contenttypes

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"lectern/internal/spelling"
	"lectern/internal/yamlfile"
)

// attributeFile is an attribute as a file defines it. The ignored keys have a meaning only for an admin panel or an SQL
// database.
type attributeFile struct {
	Type        string `yaml:"type"`
	CustomField string `yaml:"customField"`

	Required  bool           `yaml:"required"`
	Unique    bool           `yaml:"unique"`
	Private   bool           `yaml:"private"`
	Index     *yamlfile.Node `yaml:"index"`
	Default   *yamlfile.Node `yaml:"default"`
	Min       *yamlfile.Node `yaml:"min"`
	Max       *yamlfile.Node `yaml:"max"`
	MinLength *int32         `yaml:"minLength"`
	MaxLength *int32         `yaml:"maxLength"`
	Regex     string         `yaml:"regex"`

	Enum         *yamlfile.Node `yaml:"enum"`
	EnumName     string         `yaml:"enumName"`
	TargetField  string         `yaml:"targetField"`
	Generate     bool           `yaml:"generate"`
	Multiple     bool           `yaml:"multiple"`
	AllowedTypes *yamlfile.Node `yaml:"allowedTypes"`
	Repeatable   bool           `yaml:"repeatable"`
	Component    string         `yaml:"component"`
	Components   []string       `yaml:"components"`

	Relation   string `yaml:"relation"`
	Target     string `yaml:"target"`
	InversedBy string `yaml:"inversedBy"`
	MappedBy   string `yaml:"mappedBy"`
	MorphBy    string `yaml:"morphBy"`

	PluginOptions *yamlfile.Node `yaml:"pluginOptions"`

	Configurable *yamlfile.Node `yaml:"configurable,ignored"`
	Searchable   *yamlfile.Node `yaml:"searchable,ignored"`
	Writable     *yamlfile.Node `yaml:"writable,ignored"`
	Visible      *yamlfile.Node `yaml:"visible,ignored"`
	Editable     *yamlfile.Node `yaml:"editable,ignored"`
	Column       *yamlfile.Node `yaml:"column,ignored"`
	ColumnType   *yamlfile.Node `yaml:"columnType,ignored"`
	Conditions   *yamlfile.Node `yaml:"conditions,ignored"`
	Options      *yamlfile.Node `yaml:"options,ignored"`
	Comment      *yamlfile.Node `yaml:"comment,ignored"`
	Description  *yamlfile.Node `yaml:"description,ignored"`
	DisplayName  *yamlfile.Node `yaml:"displayName,ignored"`
	AutoPopulate *yamlfile.Node `yaml:"autoPopulate,ignored"`
	UseJoinTable *yamlfile.Node `yaml:"useJoinTable,ignored"`
	JoinTable    *yamlfile.Node `yaml:"joinTable,ignored"`
	JoinColumn   *yamlfile.Node `yaml:"joinColumn,ignored"`
	MorphColumn  *yamlfile.Node `yaml:"morphColumn,ignored"`
	Ordered      *yamlfile.Node `yaml:"ordered,ignored"`
}

// keyTypes maps each key that only some attribute types may have to those types.
var keyTypes = map[string]typeSet{
	"default":      scalars &^ setOf(Password),
	"min":          numbers | setOf(ComponentType, DynamicZone),
	"max":          numbers | setOf(ComponentType, DynamicZone),
	"minLength":    texts,
	"maxLength":    texts,
	"regex":        texts,
	"enum":         setOf(Enumeration),
	"enumName":     setOf(Enumeration),
	"targetField":  setOf(UID),
	"generate":     setOf(UID),
	"multiple":     setOf(Media),
	"allowedTypes": setOf(Media),
	"repeatable":   setOf(ComponentType),
	"component":    setOf(ComponentType),
	"components":   setOf(DynamicZone),
	"relation":     setOf(RelationType),
	"target":       setOf(RelationType),
	"inversedBy":   setOf(RelationType),
	"mappedBy":     setOf(RelationType),
	"morphBy":      setOf(RelationType),
}

// An attributeDefinition is an Attribute together with the text that defines it.
type attributeDefinition struct {
	attr *Attribute
	of   *definition
	node *yamlfile.Node
	file attributeFile
}

// at returns the node of a key, for the position of a problem; or the attribute's node when the key is missing.
func (a *attributeDefinition) at(key string) *yamlfile.Node { return a.node.At(key) }

// attribute reads one attribute, or returns nil when its type is not known. link resolves its references to other types
// after all files are read.
func (l *loader) attribute(d *definition, e yamlfile.Entry) *attributeDefinition {
	node := e.Value
	if node.Kind != yamlfile.Map {
		l.report(node.Problem("attribute %s must be a mapping with a type, not %s", e.Key, node.Describe()))
		return nil
	}
	a := &attributeDefinition{of: d, node: &yamlfile.Node{Kind: yamlfile.Map, File: node.File, Line: e.Line,
		Entries: node.Entries}}
	found := a.node.Decode(&a.file)
	l.problems = append(l.problems, found...)
	t, ok := typeNamed(a.file.Type)
	if !ok {
		l.unknownType(a, e.Key)
		return nil
	}
	a.attr = &Attribute{
		Name: e.Key, Type: t, Required: a.file.Required, Private: a.file.Private,
		Unique:   a.file.Unique || t == UID && d.typ != nil, // a uid attribute is always unique
		Multiple: a.file.Multiple, Repeatable: a.file.Repeatable, TargetField: a.file.TargetField,
		Generate: a.file.Generate,
	}
	l.byAttr[a.attr] = a
	for _, key := range a.node.Entries {
		if having, limited := keyTypes[key.Key]; limited && !having.has(t) && !key.Value.IsNull() {
			l.report(a.node.EntryProblem(key, "%s means nothing on an attribute of type %s; it belongs to %s", key.Key,
				t, having))
		}
	}
	marked := l.localized(a.file.PluginOptions) // called for every type, to report problems in pluginOptions
	a.attr.Localized = d.typ != nil && d.typ.Localized && (marked || t == RelationType || t == UID)
	l.index(a)
	l.limits(a)
	l.regex(a)
	l.enumeration(a)
	l.media(a)
	if len(found) == 0 {
		l.defaultValue(a)
	}
	return a
}

func (l *loader) unknownType(a *attributeDefinition, name string) {
	names := typeNames()
	switch {
	case a.node.Get("type").IsNull():
		l.report(a.node.Problem("attribute %s has no type; types are %s", name, strings.Join(names, ", ")))
	case !a.at("type").IsText(): // Decode has reported it
	case a.file.Type == "customField":
		l.report(a.at("type").Problem("type customField does not say what is stored; write the type it is based on, " +
			"such as string or json, beside customField"))
	default:
		l.report(a.at("type").Problem("unknown type %q; %s", a.file.Type, spelling.Suggest(a.file.Type, names)))
	}
}

// index decides which indexes the attribute has: none (false), that of its values (true), or that and the one of its
// text ("text").
func (l *loader) index(a *attributeDefinition) {
	attr, t := a.attr, a.attr.Type
	can := indexable.has(t) && a.of.typ != nil
	wants, said := l.wantedIndex(a)
	switch {
	case attr.Unique && !indexable.has(t):
		l.report(a.at("unique").Problem("an attribute of type %s cannot be unique; those that can are %s", t,
			indexable))
		attr.Unique = false
	case wants > notIndexed && !indexable.has(t):
		l.report(a.at("index").Problem("an attribute of type %s has no index; those that can are %s", t, indexable))
	case wants > notIndexed && !can:
		l.report(a.at("index").Problem("attributes of components have no index; take index away"))
	case wants == textIndexed && !textIndexable.has(t):
		l.report(a.at("index").Problem("an attribute of type %s has no index of its text; those that can are %s", t,
			textIndexable))
	case said && wants == notIndexed && attr.Unique:
		l.report(a.at("index").Problem("a unique attribute needs its index; take index: false away"))
	}
	if !can {
		return
	}
	if !said {
		wants = types[t].index
	}
	attr.Indexed = wants >= indexed || attr.Unique
	attr.TextIndexed = wants == textIndexed
}

// wantedIndex reads the key index. said is false if the definition does not have it.
func (l *loader) wantedIndex(a *attributeDefinition) (wants indexing, said bool) {
	if a.file.Index.IsNull() {
		return notIndexed, false
	}
	if on, ok := a.file.Index.AsBool(); ok {
		if on {
			return indexed, true
		}
		return notIndexed, true
	}
	if text, ok := a.file.Index.AsText(); !ok || text != "text" {
		l.report(a.at("index").Problem("index must be true, false or text, not %s", a.file.Index.Describe()))
		return notIndexed, false
	}
	return textIndexed, true
}

// limits reads min, max, minLength and maxLength, and reports a minimum that is greater than its maximum.
func (l *loader) limits(a *attributeDefinition) {
	attr := a.attr
	attr.Min, attr.Max = l.limit(a, "min", a.file.Min), l.limit(a, "max", a.file.Max)
	if attr.Min != nil && attr.Max != nil && *attr.Min > *attr.Max {
		l.report(a.at("min").Problem("min %s is greater than max %s; swap them", a.at("min").Text, a.at("max").Text))
	}
	attr.MinLength, attr.MaxLength = l.length(a, "minLength", a.file.MinLength),
		l.length(a, "maxLength", a.file.MaxLength)
	if attr.MinLength != nil && attr.MaxLength != nil && *attr.MinLength > *attr.MaxLength {
		l.report(a.at("minLength").Problem("minLength %d is greater than maxLength %d; swap them", *attr.MinLength,
			*attr.MaxLength))
	}
}

// limit reads min or max: of a number, or of how many items a component or zone holds. The value may be quoted on a
// biginteger, as values of that type are.
func (l *loader) limit(a *attributeDefinition, key string, n *yamlfile.Node) *float64 {
	t := a.attr.Type
	if n.IsNull() || !keyTypes[key].has(t) {
		return nil
	}
	if t == BigInteger {
		n = n.Unquoted()
	}
	f, ok := n.AsFloat()
	items := t == ComponentType || t == DynamicZone
	integer := items || t == Integer || t == BigInteger
	switch {
	case !ok && integer:
		l.report(n.Problem("%s must be a whole number, not %s", key, n.Describe()))
	case !ok:
		l.report(n.Problem("%s must be a number, not %s", key, n.Describe()))
	case integer && f != math.Trunc(f):
		l.report(n.Problem("%s must be a whole number on an attribute of type %s, not %s", key, t, n.Text))
	case items && f < 0:
		l.report(n.Problem("%s counts items and cannot be negative", key))
	case t == ComponentType && !a.file.Repeatable:
		l.report(n.Problem("%s counts items and needs repeatable: true", key))
	default:
		return &f
	}
	return nil
}

// length reads minLength or maxLength.
func (l *loader) length(a *attributeDefinition, key string, value *int32) *int {
	if value == nil || !texts.has(a.attr.Type) {
		return nil
	}
	if *value < 0 {
		l.report(a.at(key).Problem("%s cannot be negative", key))
		return nil
	}
	length := int(*value)
	return &length
}

func (l *loader) regex(a *attributeDefinition) {
	if a.file.Regex == "" || !texts.has(a.attr.Type) {
		return
	}
	re, problem := compileRegex(a.file.Regex)
	if problem != "" {
		l.report(a.at("regex").Problem("regex %s", problem))
		return
	}
	a.attr.Regex, a.attr.RegexSource = re, a.file.Regex
}

var graphQLName = regexp.MustCompile(`^[_A-Za-z][_0-9A-Za-z]*$`)

// enumeration reads the values of an enumeration.
func (l *loader) enumeration(a *attributeDefinition) {
	if a.attr.Type != Enumeration {
		return
	}
	if name := a.file.EnumName; name != "" && !graphQLName.MatchString(name) {
		l.report(a.at("enumName").Problem("enumName %q is no GraphQL name; it takes letters, digits and _, "+
			"and begins with no digit", name))
	}
	a.attr.enumName = a.file.EnumName
	n := a.file.Enum
	switch {
	case n.IsNull():
		l.report(a.node.Problem("an enumeration needs enum, the list of its values"))
		return
	case n.Kind != yamlfile.List:
		l.report(n.Problem("enum must be a list of texts, not %s", n.Describe()))
		return
	case len(n.Items) == 0:
		l.report(n.Problem("enum is empty; an enumeration needs at least one value"))
	}
	seen := map[string]bool{}
	for _, item := range n.Items {
		value, ok := item.AsText()
		switch {
		case !ok && item.Kind < yamlfile.List && !item.IsNull():
			l.report(item.Problem("enum holds %s; put it in quotes: %q", item.Describe(), item.Text))
		case !ok:
			l.report(item.Problem("enum holds %s; its values are texts", item.Describe()))
		case strings.TrimSpace(value) == "":
			l.report(item.Problem("enum holds an empty text; take it away"))
		case seen[value]:
			l.report(item.Problem("enum holds %q twice; take one away", value))
		default:
			seen[value] = true
			a.attr.Enum = append(a.attr.Enum, value)
		}
	}
}

var fileTypes = []string{"images", "videos", "audios", "files"}

// media reads the options of a media attribute.
func (l *loader) media(a *attributeDefinition) {
	if a.attr.Type != Media {
		return
	}
	a.attr.Relation = ManyToMany
	n := a.file.AllowedTypes
	if n.IsNull() {
		return
	}
	if n.Kind != yamlfile.List {
		l.report(n.Problem("allowedTypes must be a list of %s, not %s", strings.Join(fileTypes, ", "), n.Describe()))
		return
	}
	for _, item := range n.Items {
		if !item.IsText() || !slices.Contains(fileTypes, item.Text) {
			l.report(item.Problem("allowedTypes holds %s; %s", item.Describe(), spelling.Suggest(item.Text, fileTypes)))
			continue
		}
		a.attr.AllowedTypes = append(a.attr.AllowedTypes, item.Text)
	}
}
