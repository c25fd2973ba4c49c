package routes

import (
	"net/http"
	"slices"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// AccessPath is the path of what a caller may do, below the prefix of the API.
const AccessPath = "/_access"

// AccessOptions are what the answer is made of.
type AccessOptions struct {
	Prefix  string
	Model   *contenttypes.Model
	Actions *auth.Actions
	Locales []string // the default locale first
	// DraftsGranted says that drafts are an action of their own.
	DraftsGranted bool
	GraphQL       string // the path of the endpoint; "" if there is none
	Version       string // of the server
	Limits        server.Limits
}

// Access returns the route at which a caller reads what they may do, with the definitions of the types that this
// concerns. It tells nobody of types and attributes that they can neither read nor write.
func Access(o AccessOptions) server.Route {
	return server.Route{Method: http.MethodGet, Path: o.Prefix + AccessPath, Handle: o.serve}
}

// GET /api/_access: who the caller is, and what they may do.
func (o *AccessOptions) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	body := jsontree.Append([]byte(`{"data":`), o.describe(who))
	body = append(body, `,"meta":{}}`...)
	return taggedOf(body).send(w, r, o.Limits)
}

func (o *AccessOptions) describe(who auth.Principal) *jsontree.Object {
	a := &accessOf{AccessOptions: o, access: who.Access, used: map[*contenttypes.Component]bool{}}
	types := a.contentTypes()
	return jsontree.ObjectOf("principal", principalOf(who), "permissions", jsontree.ListOf(a.permissions()),
		"contentTypes", types, "components", a.components(), "locales", jsontree.ListOf(o.Locales),
		"draftsGranted", o.DraftsGranted, "graphql", textOr(o.GraphQL), "version", o.Version)
}

func principalOf(who auth.Principal) *jsontree.Object {
	switch {
	case who.User.ID != 0:
		return jsontree.ObjectOf("kind", "user", "id", number(who.User.ID),
			"name", who.User.Username, "role", who.User.Role)
	case who.Token != "":
		return jsontree.ObjectOf("kind", "token", "name", who.Token)
	}
	return jsontree.ObjectOf("kind", "public")
}

// accessOf describes what one caller may do.
type accessOf struct {
	*AccessOptions
	access *permission.Access
	used   map[*contenttypes.Component]bool // by types that the caller uses
}

// permissions returns all actions that the caller may use, as in permissions.yaml: "api::article.article.find".
func (a *accessOf) permissions() []string {
	list := []string{}
	for _, name := range a.Actions.All() {
		if a.access.AllowsAction(name) {
			list = append(list, name)
		}
	}
	return list
}

// contentTypes describes the types that the caller may read or write.
func (a *accessOf) contentTypes() []any {
	list := []any{}
	for _, t := range a.Model.Types {
		if t.Internal || !isBuilderType(t) || !a.access.Uses(t) {
			continue
		}
		o := builderType(t)
		a.narrow(o.Value("schema").(*jsontree.Object), &t.Schema, t)
		o.Set("actions", a.actions(t))
		o.Set("preview", t.Preview != nil)
		if a.GraphQL != "" && !t.BuiltIn {
			o.Set("graphql", jsontree.ObjectOf("type", contenttypes.GraphQLName(t.Singular), "plural",
				contenttypes.GraphQLName(t.Plural)))
		}
		list = append(list, o)
	}
	return list
}

// actions describes the actions of a type: whether a rule says on which documents they may be used, which attributes a
// write may have, and which a reader may see, filter and sort by.
func (a *accessOf) actions(t *contenttypes.ContentType) *jsontree.Object {
	all := jsontree.NewObject()
	for _, action := range a.Actions.Of(t.UID) {
		if !a.access.Allows(t, action) {
			continue
		}
		limit := a.access.LimitOf(t, action)
		o := jsontree.ObjectOf("limited", limit != nil && (limit.Where != nil || limit.Check != nil))
		if action == "create" || action == "update" {
			o.Set("fields", jsontree.ListOf(a.written(&t.Schema, limit)))
		}
		if action == "find" {
			o.Set("fields", jsontree.ListOf(a.read(t)))
		}
		all.Set(action, o)
	}
	return all
}

// read returns the attributes that the caller may read, with those that every document has, such as updatedAt.
func (a *accessOf) read(t *contenttypes.ContentType) []string {
	names := []string{}
	for _, attr := range t.Attributes {
		if a.reads(attr) {
			names = append(names, attr.Name)
		}
	}
	return names
}

func (a *accessOf) reads(attr *contenttypes.Attribute) bool {
	if attr.IsRelation() {
		return a.access.Follows(attr)
	}
	return a.access.Sees(attr)
}

// written returns the attributes that a write may have.
func (a *accessOf) written(s *contenttypes.Schema, limit *permission.Limit) []string {
	names := []string{}
	for _, attr := range s.Attributes {
		if a.access.MaySend(attr, limit) {
			names = append(names, attr.Name)
		}
	}
	return names
}

// narrow takes out of a description the attributes that the caller can neither read nor write; t is nil for components.
// It notes the components that are left.
func (a *accessOf) narrow(schema *jsontree.Object, s *contenttypes.Schema, t *contenttypes.ContentType) {
	var written []string
	if t == nil {
		written = a.written(s, nil)
	}
	for _, action := range []string{"create", "update"} {
		if t != nil && a.access.Allows(t, action) {
			written = append(written, a.written(s, a.access.LimitOf(t, action))...)
		}
	}
	attributes, left := schema.Value("attributes").(*jsontree.Object), jsontree.NewObject()
	for _, name := range attributes.Keys {
		attr := s.Attribute(name)
		read := a.reads(attr)
		if !read && !slices.Contains(written, name) {
			continue
		}
		o := attributes.Value(name).(*jsontree.Object)
		o.Set("readable", read)
		left.Set(name, o)
		for _, c := range attr.AllComponents() {
			a.use(c)
		}
	}
	schema.Set("attributes", left)
}

// use notes a component, and those in it.
func (a *accessOf) use(c *contenttypes.Component) {
	if a.used[c] {
		return
	}
	a.used[c] = true
	for _, attr := range c.Attributes {
		for _, inner := range attr.AllComponents() {
			a.use(inner)
		}
	}
}

// components describes the components that were noted.
func (a *accessOf) components() []any {
	list := []any{}
	for _, c := range a.Model.Components {
		if a.used[c] {
			o := builderComponent(c)
			a.narrow(o.Value("schema").(*jsontree.Object), &c.Schema, nil)
			list = append(list, o)
		}
	}
	return list
}
