package permission_test

import (
	"testing"

	"lectern/documents/permission"
	"lectern/internal/storetest"
)

func TestAccess(t *testing.T) {
	model := storetest.Model(t, storetest.Archive(t, "../testdata/model.txtar"))
	tag, article := model.Type("api::tag.tag"), model.Type("api::article.article")
	access := permission.NewAccess([]string{"api::tag.tag.find", "plugin::upload.content-api.upload", "nonsense", ""})
	nobody := permission.NewAccess(nil)
	for name, tt := range map[string]struct{ got, want bool }{
		"granted":               {access.Allows(tag, "find"), true},
		"another action":        {access.Allows(tag, "findOne"), false},
		"another type":          {access.Allows(article, "find"), false},
		"all":                   {permission.FullAccess.Allows(article, "delete"), true},
		"nobody":                {nobody.Allows(tag, "find"), false},
		"by name":               {access.AllowsAction("api::tag.tag.find"), true},
		"what is no type":       {access.AllowsAction("plugin::upload.content-api.upload"), true},
		"not granted":           {access.AllowsAction("plugin::upload.content-api.destroy"), false},
		"a part of a name":      {access.AllowsAction("api::tag.tag"), false},
		"the end of a name":     {access.AllowsAction("find"), false},
		"links to what is seen": {access.Follows(article.Attribute("tags")), true},
		"links to what is not":  {access.Follows(article.Attribute("writer")), false},
		"its own localizations": {nobody.Follows(article.Attribute("localizations")), true},
		"files":                 {nobody.Follows(article.Attribute("cover")), true},
		"passwords":             {permission.FullAccess.Sees(article.Attribute("secret")), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v", name, tt.got)
		}
	}
	// Each request calls Allows, so it must not allocate memory.
	if n := testing.AllocsPerRun(100, func() { access.Allows(article, "discardDraft") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
