package contenttypes_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
)

// TestBuiltInTypes checks that the built-in types have exactly the attributes that the API shows, in the same order.
func TestBuiltInTypes(t *testing.T) {
	model, problems := contenttypes.LoadFS(fstest.MapFS{"content-types/.keep": {}}, contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	for uid, want := range map[string]string{
		"plugin::users-permissions.user": "id documentId username email provider confirmed blocked role createdAt updatedAt publishedAt",
		"plugin::users-permissions.role": "id documentId name description type permissions users createdAt updatedAt publishedAt",
		"plugin::upload.file": "id documentId name alternativeText caption focalPoint width height formats hash ext mime size url previewUrl " +
			"provider provider_metadata related createdAt updatedAt publishedAt",
		"plugin::i18n.locale": "id documentId name code createdAt updatedAt publishedAt",
	} {
		typ := model.Type(uid)
		if typ == nil || !typ.BuiltIn || typ.Internal || typ.Localized || typ.DraftAndPublish {
			t.Fatalf("%s: %+v", uid, typ)
		}
		var public []string
		for i, a := range typ.Attributes {
			if a.Index != i || a.Owner != &typ.Schema || typ.Attribute(a.Name) != a {
				t.Errorf("%s.%s is not linked", uid, a.Name)
			}
			if !a.Private {
				public = append(public, a.Name)
			}
		}
		if got := strings.Join(public, " "); got != want {
			t.Errorf("%s shows %s, want %s", uid, got, want)
		}
	}
	for _, uid := range []string{"lectern::api-token", "lectern::schedule", "lectern::session",
		"plugin::users-permissions.permission"} {
		if typ := model.Type(uid); typ == nil || !typ.Internal || !typ.BuiltIn {
			t.Errorf("%s: %+v", uid, typ)
		}
	}
	user, role := model.Type("plugin::users-permissions.user"), model.Type("plugin::users-permissions.role")
	if a := user.Attribute("role"); a.Target != role || a.Inverse != role.Attribute("users") || a.Mapped ||
		!a.Inverse.Mapped {
		t.Errorf("role: %+v", a)
	}
	sorted := slices.IsSortedFunc(
		model.Types, func(a, b *contenttypes.ContentType) int { return strings.Compare(a.UID, b.UID) })
	if len(model.Types) != 8 || !sorted {
		t.Error("types are missing or not sorted")
	}
}

// TestExtendedUsers reads an extension of users in Strapi's form, which repeats the built-in attributes.
func TestExtendedUsers(t *testing.T) {
	const extended = `{"uid": "plugin::users-permissions.user", "kind": "collectionType", "collectionName": "up_users",
	"info": {"name": "user", "description": "", "singularName": "user", "pluralName": "users", "displayName": "User"},
	"options": {"draftAndPublish": false, "timestamps": true, "privateAttributes": ["email"]},
	"attributes": {
		"age": {"type": "integer"},
		"password": {"type": "password", "minLength": 12, "configurable": false, "private": true, "searchable": false},
		"username": {"type": "string", "unique": true, "configurable": false, "required": true},
		"confirmed": {"type": "boolean", "default": true, "configurable": false},
		"role": {"type": "relation", "relation": "manyToOne", "target": "plugin::users-permissions.role", "inversedBy": "users", "configurable": false},
		"written": {"type": "relation", "relation": "oneToMany", "target": "api::article.article", "mappedBy": "author"}}}`
	const article = `{"kind": "collectionType", "info": {"singularName": "article", "pluralName": "articles"}, "attributes": {
		"author": {"type": "relation", "relation": "manyToOne", "target": "plugin::users-permissions.user", "inversedBy": "written"}}}`
	model, problems := contenttypes.LoadFS(fstest.MapFS{
		"content-types/user.json": {Data: []byte(extended)}, "content-types/article.json": {Data: []byte(article)},
	}, contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	user := model.Type("plugin::users-permissions.user")
	var all []string
	for _, a := range user.Attributes {
		if !a.System {
			all = append(all, a.Name)
		}
	}
	if got, want := strings.Join(all, " "),
		"username email provider password resetPasswordToken confirmationToken confirmed blocked role age written"; got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
	username, password, email := user.Attribute("username"), user.Attribute("password"), user.Attribute("email")
	if *username.MinLength != 3 || !username.Unique || !username.Required || *password.MinLength != 12 ||
		!password.Private || !email.Private || *email.MinLength != 6 ||
		user.Attribute("confirmed").Default != true || user.Attribute("blocked").Default != false {
		t.Errorf("%+v %+v %+v", username, password, email)
	}
	if written := user.Attribute("written"); !user.BuiltIn || written.Inverse == nil ||
		written.Inverse.Inverse != written || user.Attribute("role").Inverse == nil {
		t.Errorf("%+v", written)
	}
}
