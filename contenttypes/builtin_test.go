package contenttypes_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
)

// TestBuiltInTypes holds the built-in types to the attributes that the API shows of them, in their order.
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
	for _, uid := range []string{"lectern::api-token", "plugin::users-permissions.permission"} {
		if typ := model.Type(uid); typ == nil || !typ.Internal || !typ.BuiltIn {
			t.Errorf("%s: %+v", uid, typ)
		}
	}
	user, role := model.Type("plugin::users-permissions.user"), model.Type("plugin::users-permissions.role")
	if a := user.Attribute("role"); a.Target != role || a.Inverse != role.Attribute("users") || a.Mapped || !a.Inverse.Mapped {
		t.Errorf("role: %+v", a)
	}
	sorted := slices.IsSortedFunc(model.Types, func(a, b *contenttypes.ContentType) int { return strings.Compare(a.UID, b.UID) })
	if len(model.Types) != 6 || !sorted {
		t.Error("types are missing or not sorted")
	}
}
