package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// resourcePrefix begins the URIs of definitions, before the uid of the type.
const resourcePrefix = "lectern://types/"

const jsonType = "application/json"

// offered are the actions of content-types that tools carry out. The REST API has others, such as the history.
var offered = []string{"find", "findOne", "create", "update", "delete", "publish", "unpublish", "discardDraft"}

// actions returns what a caller may do with a type by the tools.
func (t *Type) actions(access *permission.Access) []any {
	var list []any
	for _, action := range t.Actions {
		if slices.Contains(offered, action) && access.Allows(t.ContentType, action) &&
			!slices.Contains(list, any(action)) {
			list = append(list, action)
		}
	}
	return list
}

// listTypes answers with the types that the caller may use.
func listTypes(h *Handler, c *call) error {
	list := []any{}
	for i := range h.options.Types {
		t := &h.options.Types[i]
		actions := t.actions(c.caller.access)
		if len(actions) == 0 {
			continue
		}
		o := t.summary()
		o.Set("actions", actions)
		list = append(list, o)
	}
	c.answer = string(jsontree.Append(nil, jsontree.ObjectOf("types", list)))
	return nil
}

// summary returns a type without its attributes.
func (t *Type) summary() *jsontree.Object {
	o := jsontree.ObjectOf("uid", t.UID, "kind", t.Kind.String(), "name", t.Name, "displayName", t.DisplayName)
	if t.Description != "" {
		o.Set("description", t.Description)
	}
	o.Set("draftAndPublish", t.DraftAndPublish)
	o.Set("localized", t.Localized)
	o.Set("definition", resourcePrefix+t.UID)
	return o
}

// addResources adds the definitions of all types. Each caller sees those that they may use.
func (h *Handler) addResources(server *sdk.Server) {
	for i := range h.options.Types {
		t := &h.options.Types[i]
		server.AddResource(&sdk.Resource{URI: resourcePrefix + t.UID, Name: t.Name, Title: t.DisplayName,
			Description: t.Description, MIMEType: jsonType},
			func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				access := callerOf(ctx).access
				if len(t.actions(access)) == 0 {
					return nil, sdk.ResourceNotFoundError(r.Params.URI)
				}
				text := string(jsontree.Append(nil, t.definition(access)))
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: jsonType,
					Text: text}}}, nil
			})
	}
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, r)
			if list, ok := result.(*sdk.ListResourcesResult); ok && err == nil {
				access := callerOf(ctx).access
				list.Resources = slices.DeleteFunc(list.Resources, func(r *sdk.Resource) bool {
					t := h.types[strings.TrimPrefix(r.URI, resourcePrefix)]
					return t == nil || len(t.actions(access)) == 0
				})
			}
			return result, err
		}
	})
}

// A definition describes a type with the attributes that a caller may read.
type definition struct {
	access     *permission.Access
	components *jsontree.Object // those that the type holds at any depth, by uid
}

// definition returns the definition of a type for a caller.
func (t *Type) definition(access *permission.Access) *jsontree.Object {
	d := &definition{access: access, components: jsontree.NewObject()}
	o := t.summary()
	o.Set("actions", t.actions(access))
	o.Set("attributes", d.attributes(&t.Schema))
	if len(d.components.Keys) > 0 {
		o.Set("components", d.components)
	}
	return o
}

// attributes returns the attributes of a schema that the caller may read, by name.
func (d *definition) attributes(s *contenttypes.Schema) *jsontree.Object {
	o := jsontree.NewObject()
	for _, a := range s.Attributes {
		if a.IsRelation() && d.access.Follows(a) || !a.IsRelation() && d.access.Sees(a) {
			o.Set(a.Name, d.attribute(a))
		}
	}
	return o
}

// attribute returns an attribute. It adds the components that the attribute holds to the definition.
func (d *definition) attribute(a *contenttypes.Attribute) *jsontree.Object {
	o := jsontree.ObjectOf("type", a.Type.String())
	for _, flag := range []struct {
		name string
		set  bool
	}{{"readOnly", a.System}, {"required", a.Required}, {"unique", a.Unique}, {"localized", a.Localized},
		{"repeatable", a.Repeatable}, {"multiple", a.Multiple}} {
		if flag.set {
			o.Set(flag.name, true)
		}
	}
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"min", a.Min}, {"max", a.Max}} {
		if bound.value != nil {
			o.Set(bound.name, jsontree.Number(jsontree.FormatNumber(*bound.value)))
		}
	}
	for _, bound := range []struct {
		name  string
		value *int
	}{{"minLength", a.MinLength}, {"maxLength", a.MaxLength}} {
		if bound.value != nil {
			o.Set(bound.name, jsontree.Number(jsontree.FormatNumber(float64(*bound.value))))
		}
	}
	if a.RegexSource != "" {
		o.Set("regex", a.RegexSource)
	}
	if len(a.Enum) > 0 {
		o.Set("enum", jsontree.ListOf(a.Enum))
	}
	if a.HasDefault {
		o.Set("default", a.Default)
	}
	d.addTarget(o, a)
	return o
}

// addTarget adds what a relation leads to, and the uids of the components that an attribute holds.
func (d *definition) addTarget(o *jsontree.Object, a *contenttypes.Attribute) {
	switch a.Type {
	case contenttypes.RelationType:
		o.Set("relation", a.Relation.String())
		if a.Target != nil {
			o.Set("target", a.Target.UID)
		}
	case contenttypes.Media:
		if len(a.AllowedTypes) > 0 {
			o.Set("allowedTypes", jsontree.ListOf(a.AllowedTypes))
		}
	case contenttypes.ComponentType:
		o.Set("component", d.component(a.Component))
	case contenttypes.DynamicZone:
		list := []any{}
		for _, c := range a.Components {
			list = append(list, d.component(c))
		}
		o.Set("components", list)
	}
}

// component adds a component to the definition and returns its uid.
func (d *definition) component(c *contenttypes.Component) string {
	if _, known := d.components.Get(c.UID); !known {
		d.components.Set(c.UID, nil) // it may contain itself
		d.components.Set(c.UID, d.attributes(&c.Schema))
	}
	return c.UID
}
