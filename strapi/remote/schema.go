package remote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lectern/jsontree"
	"lectern/strapi/archive"
)

// The types that have routes of their own.
const (
	fileUID       = "plugin::upload.file"
	localeUID     = "plugin::i18n.locale"
	userUID       = "plugin::users-permissions.user"
	roleUID       = "plugin::users-permissions.role"
	permissionUID = "plugin::users-permissions.permission"
)

// A schema is a content-type or a component.
type schema struct {
	uid        string
	single     bool   // a single type
	singular   string // names in routes; empty for components
	plural     string
	drafts     bool // has draft and published versions
	localized  bool
	attributes []attribute
	data       *jsontree.Object // as an archive has it
}

func (s *schema) isComponent() bool { return s.plural == "" }

// An attribute is an attribute of a schema, as far as it matters for reading.
type attribute struct {
	name, typ  string
	private    bool
	repeatable bool     // of components
	components []string // of a component: one uid; of a dynamic zone: those it may hold
	relation   string   // such as oneToMany
	target     string
	inversedBy string // attribute of the target with the other direction; this attribute owns the links
	mappedBy   string // attribute of the target that owns the links
}

// isPolymorphic reports whether a relation may lead to several types.
func (a *attribute) isPolymorphic() bool { return strings.HasPrefix(a.relation, "morphTo") }

// Definitions are the types and components of a server.
type definitions struct {
	list  []*schema // in the order that the server or the project has them
	byUID map[string]*schema
}

// newDefinitions reads schemas in the form that archives have.
func newDefinitions(list []*jsontree.Object) (*definitions, error) {
	d := &definitions{byUID: map[string]*schema{}}
	for _, data := range list {
		s := parseSchema(data)
		switch {
		case s.uid == "":
			return nil, fmt.Errorf("definitions: a schema has no uid")
		case d.byUID[s.uid] != nil:
			return nil, fmt.Errorf("definitions: there are two schemas %s", s.uid)
		}
		if err := archive.CheckUID(s.uid); err != nil {
			return nil, fmt.Errorf("definitions: %w", err)
		}
		d.list = append(d.list, s)
		d.byUID[s.uid] = s
	}
	return d, nil
}

func parseSchema(data *jsontree.Object) *schema {
	info := object(data, "info")
	s := &schema{uid: data.Text("uid"), data: data, single: data.Text("kind") == "singleType"}
	if data.Text("modelType") != "component" && strings.Contains(s.uid, "::") {
		s.singular, s.plural = info.Text("singularName"), info.Text("pluralName")
	}
	s.drafts = object(data, "options").Value("draftAndPublish") == true
	s.localized = object(object(data, "pluginOptions"), "i18n").Value("localized") == true
	private := list(object(data, "options"), "privateAttributes")
	attributes := object(data, "attributes")
	for _, name := range attributes.Keys {
		if slices.Contains(builtIn, name) {
			continue
		}
		a := parseAttribute(name, object(attributes, name))
		a.private = a.private || slices.Contains(private, any(name))
		s.attributes = append(s.attributes, a)
	}
	return s
}

// builtIn are the attributes that Strapi gives to every type. Archives list them in schemas.
var builtIn = []string{"createdAt", "updatedAt", "publishedAt", "createdBy", "updatedBy", "locale", "localizations",
	"documentId", "id"}

func parseAttribute(name string, data *jsontree.Object) attribute {
	a := attribute{name: name, typ: data.Text("type"), relation: data.Text("relation"), target: data.Text("target"),
		inversedBy: data.Text("inversedBy"), mappedBy: data.Text("mappedBy")}
	a.private = data.Value("private") == true
	a.repeatable = data.Value("repeatable") == true
	if a.typ == "component" {
		a.components = []string{data.Text("component")}
	}
	for _, c := range list(data, "components") {
		if uid, ok := c.(string); ok {
			a.components = append(a.components, uid)
		}
	}
	return a
}

// object and list return a value of an object, or the zero value if it has another type. object never returns nil.
func object(o *jsontree.Object, key string) *jsontree.Object {
	if v, ok := o.Value(key).(*jsontree.Object); ok {
		return v
	}
	return jsontree.NewObject()
}

func list(o *jsontree.Object, key string) []any {
	v, _ := o.Value(key).([]any)
	return v
}

// askDefinitions reads the definitions from the server's content-type builder.
func (c *client) askDefinitions(ctx context.Context) ([]*jsontree.Object, error) {
	var schemas []*jsontree.Object
	for _, part := range []struct{ path, action string }{
		{"/api/content-type-builder/content-types", "plugin::content-type-builder.content-types.getContentTypes"},
		{"/api/content-type-builder/components", "plugin::content-type-builder.components.getComponents"},
	} {
		v, err := c.get(ctx, query{path: part.path, action: part.action}, 4*c.maxAnswer)
		if statusOf(err) == 403 || statusOf(err) == 404 {
			return nil, fmt.Errorf(
				"%w; or name the directory of the Strapi project, so that the definitions are read from there", err)
		}
		if err != nil {
			return nil, err
		}
		answer, _ := v.(*jsontree.Object)
		if answer == nil || list(answer, "data") == nil {
			return nil, fmt.Errorf("GET %s: the answer has no list of definitions", part.path)
		}
		for _, item := range list(answer, "data") {
			o, ok := item.(*jsontree.Object)
			if !ok {
				return nil, fmt.Errorf("GET %s: a definition is not an object", part.path)
			}
			schemas = append(schemas, archived(o))
		}
	}
	return schemas, nil
}

// archived converts a definition of the content-type builder to the form that archives have.
func archived(o *jsontree.Object) *jsontree.Object {
	from, out := object(o, "schema"), jsontree.NewObject()
	info, options := jsontree.NewObject(), jsontree.NewObject()
	uid := o.Text("uid")
	for _, key := range from.Keys {
		switch v := from.Value(key); key {
		case "singularName", "pluralName", "displayName", "description", "icon":
			info.Set(key, v)
		case "collectionName", "kind", "pluginOptions":
			out.Set(key, v)
		case "attributes", "visible", "restrictRelationsTo":
		default:
			options.Set(key, v)
		}
	}
	out.Set("info", info)
	out.Set("options", options)
	attributes := jsontree.NewObject()
	for _, name := range object(from, "attributes").Keys {
		attributes.Set(name, archivedAttribute(object(object(from, "attributes"), name)))
	}
	out.Set("attributes", attributes)
	out.Set("modelType", "contentType")
	if !strings.Contains(uid, "::") {
		out.Set("modelType", "component")
		out.Set("category", o.Text("category"))
	}
	out.Set("uid", uid)
	return out
}

// archivedAttribute leaves out what the content-type builder adds to attributes.
func archivedAttribute(o *jsontree.Object) *jsontree.Object {
	out := jsontree.NewObject()
	for _, key := range o.Keys {
		v := o.Value(key)
		if key == "targetAttribute" || (key == "required" || key == "private") && v == false {
			continue
		}
		out.Set(key, v)
	}
	return out
}
