package routes

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// definitions show the definitions of content-types and components.
type definitions struct{ model *contenttypes.Model }

// Definitions returns the routes at which clients read the definitions, as they do at Strapi's content-type builder:
// loaders of site generators ask there which types and components there are. Nobody but tokens with full access has the
// permissions by default.
func Definitions(prefix string, m *contenttypes.Model) []server.Route {
	d := definitions{m}
	const uid = "plugin::content-type-builder."
	route := func(path, action string, handle server.Handler) server.Route {
		return server.Route{Method: http.MethodGet, Path: prefix + "/content-type-builder/" + path,
			Action: uid + action, Handle: handle}
	}
	return []server.Route{
		route("content-types", "content-types.getContentTypes", d.listContentTypes),
		route("content-types/{uid}", "content-types.getContentType", d.oneContentType),
		route("components", "components.getComponents", d.listComponents),
		route("components/{uid}", "components.getComponent", d.oneComponent),
	}
}

// GET /api/content-type-builder/content-types: all content-types, or those of a kind.
func (d definitions) listContentTypes(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	kinds := r.URL.Query()["kind"]
	if len(kinds) > 0 && kinds[0] != contenttypes.CollectionType.String() &&
		kinds[0] != contenttypes.SingleType.String() {
		return apierror.Validation("kind must be one of the following values: singleType, collectionType")
	}
	list := []any{}
	for _, t := range d.model.Types {
		if isBuilderType(t) && (len(kinds) == 0 || kinds[0] == t.Kind.String()) {
			list = append(list, builderType(t))
		}
	}
	return sendBuilderData(w, list)
}

// GET /api/content-type-builder/content-types/{uid}: one content-type.
func (d definitions) oneContentType(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	t := d.model.Type(mux.Vars(r)["uid"])
	if t == nil || !isBuilderType(t) {
		return apierror.NotFound()
	}
	return sendBuilderData(w, builderType(t))
}

// GET /api/content-type-builder/components: all components.
func (d definitions) listComponents(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
	list := []any{}
	for _, c := range d.model.Components {
		list = append(list, builderComponent(c))
	}
	return sendBuilderData(w, list)
}

// GET /api/content-type-builder/components/{uid}: one component.
func (d definitions) oneComponent(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	c := d.model.Component(mux.Vars(r)["uid"])
	if c == nil {
		return apierror.NotFound()
	}
	return sendBuilderData(w, builderComponent(c))
}

func sendBuilderData(w http.ResponseWriter, data any) error {
	return server.SendJSON(w, http.StatusOK, append(jsontree.Append([]byte(`{"data":`), data), '}'))
}

// isBuilderType reports whether the content-type builder shows a type: Strapi has it, too.
func isBuilderType(t *contenttypes.ContentType) bool { return !strings.HasPrefix(t.UID, "lectern::") }

// builderType describes a content-type as the content-type builder does.
func builderType(t *contenttypes.ContentType) *jsontree.Object {
	visible := !t.BuiltIn || t.UID == contenttypes.UserUID
	schema := jsontree.ObjectOf("draftAndPublish", t.DraftAndPublish, "displayName", t.DisplayName, "singularName",
		t.Singular,
		"pluralName", t.Plural, "description", t.Description)
	switch {
	case t.Localized:
		schema.Set("pluginOptions", jsontree.ObjectOf("i18n", jsontree.ObjectOf("localized", true)))
	case !visible: // clients leave out what these say
		hidden := jsontree.ObjectOf("visible", false)
		schema.Set("pluginOptions", jsontree.ObjectOf("content-manager", hidden, "content-type-builder", hidden))
	}
	schema.Set("kind", t.Kind.String())
	schema.Set("collectionName", t.CollectionName())
	schema.Set("attributes", builderAttributes(&t.Schema))
	schema.Set("visible", visible)
	schema.Set("restrictRelationsTo", nil)
	if !visible { // no attribute of the project can lead there
		schema.Set("restrictRelationsTo", []any{})
	}
	o := jsontree.ObjectOf("uid", t.UID)
	if name, ok := strings.CutPrefix(t.UID, "plugin::"); ok {
		plugin, _, _ := strings.Cut(name, ".")
		o.Set("plugin", plugin)
	}
	o.Set("apiID", t.Singular)
	o.Set("schema", schema)
	return o
}

// builderComponent describes a component as the content-type builder does.
func builderComponent(c *contenttypes.Component) *jsontree.Object {
	return jsontree.ObjectOf("uid", c.UID, "category", c.Category, "apiId", c.Name, "schema", jsontree.ObjectOf(
		"displayName", c.DisplayName, "description", "", "collectionName", c.CollectionName(), "attributes",
		builderAttributes(&c.Schema)))
}

// builderAttributes returns the attributes of a schema. Unlike a definition, the content-type builder always says of
// relations and media whether they are required and private, and of a relation which attribute of its target leads
// back.
func builderAttributes(s *contenttypes.Schema) *jsontree.Object {
	all := s.AttributesJSON()
	for _, name := range all.Keys {
		a, o := s.Attribute(name), all.Value(name).(*jsontree.Object)
		if !a.IsRelation() {
			continue
		}
		o.Set("required", a.Required)
		o.Set("private", a.Private)
		if a.Type != contenttypes.RelationType {
			continue
		}
		o.Set("targetAttribute", nil)
		if a.Inverse != nil && !a.IsMorph() {
			o.Set("targetAttribute", a.Inverse.Name)
		}
	}
	return all
}
