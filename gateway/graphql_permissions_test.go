package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
)

// openFields are the generated root fields that need no permission: they show only what their caller may see, or count
// attempts.
var openFields = []string{"me", "lecternSchedules", "lecternSchedules_connection", "cancelLecternSchedule",
	"login", "register", "forgotPassword", "resetPassword", "emailConfirmation"}

// Every generated root field needs a permission that can be granted. The permission opens the field, and nothing else
// does.
func TestGraphQLRootFieldsNeedPermissions(t *testing.T) {
	files := with(map[string]string{"config/plugins.yaml": "graphql: {config: {documentActions: true, subscriptions: true}}\ni18n: {enabled: true}\n" +
		peopleFiles["config/plugins.yaml"]})
	files["content-types/page.yaml"] = "kind: singleType\ninfo: {singularName: page, pluralName: pages, displayName: Page}\n" +
		"options: {draftAndPublish: true}\nattributes: {title: {type: string}}\n"
	files["config/permissions.yaml"] = ""
	def, err := gateway.Load(writeProject(t, files), &gateway.Extensions{})
	if err != nil {
		t.Fatal(err)
	}
	built, err := def.GraphQLSchema()
	if err != nil {
		t.Fatal(err)
	}
	var permissions []string // of the fields of Query
	for _, root := range []*schema.Object{built.Query, built.Mutation, built.Subscription} {
		for _, f := range root.Fields {
			if slices.Contains(openFields, f.Name) {
				continue
			}
			if err := def.Actions.CheckPermission(f.Scope); err != nil {
				t.Errorf("%s.%s needs %q: %v", root.Name, f.Name, f.Scope, err)
			} else if root == built.Query && !slices.Contains(permissions, f.Scope) {
				permissions = append(permissions, f.Scope)
			}
		}
	}

	tokens := "tokens:\n"
	for i, p := range permissions {
		tokens += fmt.Sprintf("  - {name: t%d, type: custom, permissions: [%s]}\n", i, p)
	}
	files["config/permissions.yaml"] = tokens
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	for _, f := range built.Query.Fields {
		if slices.Contains(openFields, f.Name) {
			continue
		}
		query := "{" + f.Name + "{__typename}}"
		if f.Kind == schema.RootOne {
			query = "{" + f.Name + `(documentId:"none"){__typename}}`
		}
		for i, p := range permissions {
			r := a.graphql(fmt.Sprint("t", i), query)
			if forbidden := strings.Contains(r.text, "Forbidden access"); r.status != 200 ||
				forbidden != (p != f.Scope) {
				t.Errorf("%s with the permission %s: %d %s", query, p, r.status, r.text)
			}
		}
	}
}

// Whoever may list files and locales over REST may do so over GraphQL.
func TestGraphQLListsFilesAndLocalesAsREST(t *testing.T) {
	const grants = "{plugin::upload.content-api: [find, findOne], plugin::i18n.locales: [listLocales]}"
	const permissions = "[plugin::upload.content-api.find, plugin::upload.content-api.findOne, plugin::i18n.locales.listLocales]"
	files := with(map[string]string{"config/permissions.yaml": "roles: {public: " + grants + "}\ntokens:\n" +
		"  - {name: custom, type: custom, permissions: " + permissions +
		"}\n  - {name: other, type: custom, permissions: [api::article.article.find]}\n"})
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	uploaded, _ := a.upload("full", formWith("a.txt", "text"))
	file := uploaded.body.([]any)[0].(object)["documentId"].(string)
	for query, over := range map[string]struct{ rest, want string }{
		"{uploadFiles{name}}":                           {"/api/upload/files", `"name":"a.txt"`},
		"{uploadFiles_connection{pageInfo{total}}}":     {"/api/upload/files", `"total":1`},
		`{uploadFile(documentId:"` + file + `"){name}}`: {"/api/upload/files/1", `"name":"a.txt"`},
		"{i18NLocales{code}}":                           {"/api/i18n/locales", `"code":"en"`},
		"{i18NLocales_connection{nodes{code}}}":         {"/api/i18n/locales", `"code":"en"`},
	} {
		for _, as := range []string{"", "custom", "readonly", "full", "other"} {
			listed, shown := a.do("GET", over.rest, as, nil), a.graphql(as, query)
			if (listed.status == 200) != strings.Contains(shown.text, over.want) {
				t.Errorf("%s as %q: %s; over REST %d", query, as, shown.text, listed.status)
			}
			if allowed := as != "other" && (as != "readonly" || strings.Contains(query, "upload")); allowed != (listed.status == 200) {
				t.Errorf("%s as %q: %d", over.rest, as, listed.status)
			}
		}
	}
}
