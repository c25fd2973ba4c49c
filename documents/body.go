package documents

import (
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/values"
	"lectern/jsontree"
)

// An input is the parsed body of a document or component, with values cast and relations looked up.
type input struct {
	schema *contenttypes.Schema
	id     any // id of a component as sent in the body; set if hasID is true
	hasID  bool
	values []inputValue // by Attribute.Index
}

// An inputValue is the value of one attribute in a body. The attribute's type decides which of value, items and link is
// used.
type inputValue struct {
	set   bool // false leaves the attribute unchanged
	value any  // a scalar after casting, or components as sent
	items []*input
	link  *linkInput
}

// A bodyReader casts and checks a body in one stage and collects the issues.
type bodyReader struct {
	wr      *writing
	stage   values.Stage
	created bool     // the document or component being read is new, so ids of components in it are ignored
	locales []string // locales in which unique values must be free
	issues  []issues.Issue
	links   linkReader
	zone    string                    // message about the first invalid zone; it becomes the last issue
	inside  []*contenttypes.Attribute // the attributes that lead from the document to the component being read
	values  []uniqueValue             // in the components of one attribute of the document
}

func newBodyReader(wr *writing, st values.Stage, locales []string) *bodyReader {
	return &bodyReader{wr: wr, stage: st, locales: locales, links: linkReader{wr: wr}}
}

// document parses the data of a body. It calls fresh for each attribute that the body leaves out. If fresh returns
// true, the attribute is treated as in a new document: it gets its default, and is an issue if it is required.
// Otherwise it stays unchanged.
func (br *bodyReader) document(data *jsontree.Object,
	fresh func(*contenttypes.Attribute) bool) (*input, *apierror.Error) {
	in := br.object(&br.wr.t.Schema, data, nil, fresh)
	if br.links.missing != nil {
		return nil, br.links.missing
	}
	message := br.zone
	if message == "" || br.links.invalid != "" {
		message = br.links.message()
	}
	if message != "" {
		br.issues = append(br.issues, issues.Issue{Message: message, Value: br.normalised(in), HasValue: true})
	}
	if len(br.issues) > 0 {
		return nil, br.wr.refuse(br.issues)
	}
	return in, castTimes(in)
}

func (br *bodyReader) object(s *contenttypes.Schema, data *jsontree.Object, path []string,
	fresh func(*contenttypes.Attribute) bool) *input {
	in := &input{schema: s, values: make([]inputValue, len(s.Attributes))}
	for _, a := range s.Attributes {
		if a.System {
			continue
		}
		v, ok := data.Get(a.Name)
		if !ok && !fresh(a) {
			continue
		}
		g := &in.values[a.Index]
		at := issues.Below(path, a.Name)
		switch {
		case a.IsRelation():
			if ok {
				g.set, g.link = true, br.links.relation(a, v)
				br.checkLinks(g.link, at)
			}
		case a.IsScalar():
			if !ok && a.Generate {
				v, ok = br.wr.newUID(a, data), true
			}
			br.scalar(g, a, at, v, ok)
		case a.Type == contenttypes.DynamicZone || a.Repeatable:
			br.list(g, a, at, v, ok)
		default:
			br.single(g, a, at, v, ok)
		}
	}
	return in
}

func always(*contenttypes.Attribute) bool { return true }
func never(*contenttypes.Attribute) bool  { return false }

func (br *bodyReader) scalar(g *inputValue, a *contenttypes.Attribute, path []string, v any, ok bool) {
	if !ok {
		v, ok = a.Default, a.HasDefault
	}
	if br.wr.restoring && a.Type == contenttypes.Password && v != nil {
		g.set, g.value = true, v // a hash cannot be checked
		return
	}
	cast, found := values.Cast(a, path, v, ok, br.stage)
	if ok {
		g.set, g.value = true, cast
	}
	if len(found) == 0 && ok && br.stage == values.FullStage {
		found = br.checkUnique(a, path, cast, true)
	}
	br.issues = append(br.issues, found...)
}

func (br *bodyReader) single(g *inputValue, a *contenttypes.Attribute, path []string, v any, ok bool) {
	g.value = v
	o, isObject := v.(*jsontree.Object)
	switch {
	case !ok:
		if a.Required && br.stage == values.FullStage {
			br.issues = append(br.issues, issues.Missing(path, "must be defined."))
		}
	case v == nil && (!a.Required || br.stage == values.DraftStage):
		g.set = true
	case !isObject:
		br.issues = append(br.issues, issues.WrongType(path, "object", v, v, false))
	default:
		g.set, g.items = true, []*input{br.component(a, a.Component, o, path)}
		br.checkInside(path)
	}
}

// list parses a repeatable component or a zone. An invalid item adds an issue and is nil in g.items.
func (br *bodyReader) list(g *inputValue, a *contenttypes.Attribute, path []string, v any, ok bool) {
	g.set, g.value = true, v
	if !ok {
		if a.Required {
			br.issues = append(br.issues, issues.Missing(path, "must be defined."))
		}
		g.value = []any{}
		return
	}
	zone := a.Type == contenttypes.DynamicZone
	list, isList := v.([]any)
	if !isList {
		br.issues = append(br.issues, issues.WrongType(path, "array", v, v, false))
		if o, isObject := v.(*jsontree.Object); zone && v != nil && !(isObject && o.Value("__component") != nil) {
			br.invalidZone(noComponent)
		}
		return
	}
	g.items = make([]*input, len(list))
	for i, v := range list {
		if !br.wr.tx.Step() {
			g.items = g.items[:i]
			break
		}
		at := issues.Below(path, strconv.Itoa(i))
		c := a.Component
		o, isObject := v.(*jsontree.Object)
		if !isObject {
			br.issues = append(br.issues, issues.WrongType(at, "object", nil, v, v != nil))
			if zone {
				br.invalidZone(badRelations)
			}
			continue
		}
		if zone {
			c = br.zoneComponent(a, o, at)
		}
		if c != nil {
			g.items[i] = br.component(a, c, o, at)
		}
	}
	if br.stage == values.FullStage {
		br.issues = append(br.issues, listIssues(a, path, len(list), func() any { return shownItems(a, g) })...)
	}
	br.checkInside(path)
}

// Messages of the reference about zones whose items it cannot read.
const (
	noComponent  = "Cannot build relations store from dynamiczone, component identifier is undefined"
	badRelations = "Invalid relations" // an item that is no object, or of an unknown component
)

// invalidZone sets the message about an invalid zone, unless it is already set.
func (br *bodyReader) invalidZone(message string) {
	if br.zone == "" {
		br.zone = message
	}
}

// zoneComponent returns the component in the key __component of an item. If the zone does not allow it, it adds an
// issue and returns nil.
func (br *bodyReader) zoneComponent(a *contenttypes.Attribute, o *jsontree.Object,
	path []string) *contenttypes.Component {
	path = issues.Below(path, "__component")
	v, ok := o.Get("__component")
	if !ok || v == nil || v == "" {
		br.issues = append(br.issues, issues.Missing(path, "is a required field"))
		br.invalidZone(noComponent)
		return nil
	}
	if c := a.ComponentNamed(o.Text("__component")); c != nil {
		return c
	}
	br.issues = append(br.issues, issues.At(path, "must be one of the following values: "+a.ComponentNames(), v))
	br.invalidZone(badRelations)
	return nil
}

// component parses one item of the attribute a. An item with an id changes an existing component. An item without an id
// is a new component, and so are all components in it.
func (br *bodyReader) component(a *contenttypes.Attribute, c *contenttypes.Component, o *jsontree.Object,
	path []string) *input {
	id, hasID := o.Get("id")
	fresh := always
	if hasID && !br.created {
		fresh = never
	} else if !br.created {
		br.created = true
		defer func() { br.created = false }()
	}
	br.inside = append(br.inside, a)
	in := br.object(&c.Schema, o, path, fresh)
	br.inside = br.inside[:len(br.inside)-1]
	in.id, in.hasID = id, hasID
	return in
}

// listIssues checks the number n of components in a list, and returns the issues. value returns the value to show in
// them.
func listIssues(a *contenttypes.Attribute, path []string, n int, value func() any) []issues.Issue {
	var found []issues.Issue
	if a.Min != nil && (a.Required || n > 0) && float64(n) < *a.Min {
		found = append(found, issues.At(path, "field must have at least "+jsontree.FormatNumber(*a.Min)+" items",
			value()))
	}
	if a.Max != nil && float64(n) > *a.Max {
		found = append(found, issues.At(path, "field must have less than or equal to "+jsontree.FormatNumber(*a.Max)+
			" items", value()))
	}
	return found
}

// castTimes casts dates and times and returns an error for the first invalid one.
func castTimes(in *input) *apierror.Error {
	for _, a := range in.schema.Attributes {
		g := &in.values[a.Index]
		if !g.set {
			continue
		}
		if a.Type.Kind().IsTemporal() {
			v, err := values.CastTime(a, g.value)
			if err != nil {
				return err
			}
			g.value = v
		}
		for _, item := range g.items {
			if err := castTimes(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// normalised returns the body as issues show it: with defaults, relations as {set: …}, publishedAt and the locale.
func (br *bodyReader) normalised(in *input) any {
	shown := shownInput(in)
	if br.wr.t.DraftAndPublish {
		shown.Set("publishedAt", nil)
	} else {
		shown.Set("publishedAt", br.wr.now)
	}
	if br.wr.t.Localized {
		shown.Set("locale", br.wr.locale)
	}
	return shown
}

func shownInput(in *input) *jsontree.Object {
	o := jsontree.NewObject()
	for _, a := range in.schema.Attributes {
		switch g := &in.values[a.Index]; {
		case !g.set:
		case a.IsRelation():
			o.Set(a.Name, g.link.raw)
		case a.IsScalar():
			o.Set(a.Name, g.value)
		default:
			o.Set(a.Name, shownItems(a, g))
		}
	}
	return o
}

// shownItems returns components as issues show them. An item that could not be read is shown as sent.
func shownItems(a *contenttypes.Attribute, g *inputValue) any {
	list, isList := g.value.([]any)
	if !isList {
		if len(g.items) == 1 {
			return shownItem(a, g.items[0])
		}
		return g.value
	}
	shown := make([]any, len(list))
	for i, item := range g.items {
		if item != nil {
			shown[i] = shownItem(a, item)
		} else if o, isObject := list[i].(*jsontree.Object); isObject {
			shown[i] = o
		}
	}
	return shown
}

func shownItem(a *contenttypes.Attribute, in *input) any {
	o := jsontree.NewObject()
	if a.Type == contenttypes.DynamicZone {
		o.Set("__component", in.schema.UID)
	}
	if in.hasID {
		o.Set("id", in.id)
	}
	inner := shownInput(in)
	for _, k := range inner.Keys {
		o.Set(k, inner.Value(k))
	}
	return o
}

// bodyStage returns the stage whose rules apply to bodies of a type.
func bodyStage(t *contenttypes.ContentType) values.Stage {
	if t.DraftAndPublish {
		return values.DraftStage
	}
	return values.FullStage
}
