package gateway_test

import (
	"slices"
	"strings"
	"testing"
)

// builderFiles are a project with attributes that the content-type builder describes in different ways.
var builderFiles = map[string]string{
	"content-types/home.yaml": "kind: singleType\ninfo: {singularName: home, pluralName: homes, displayName: Home}\nattributes: {title: {type: string}}\n",
	"content-types/meal-plan.yaml": `
kind: collectionType
info: {singularName: meal-plan, pluralName: meal-plans, displayName: Meal plan, description: What to cook}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, required: true, minLength: 2, pluginOptions: {i18n: {localized: true}}}
  level: {type: enumeration, enum: [easy, hard], default: easy}
  secret: {type: string, private: true}
  cover: {type: media, allowedTypes: [images]}
  before: {type: relation, relation: oneToOne, target: api::meal-plan.meal-plan, inversedBy: after}
  after: {type: relation, relation: oneToOne, target: api::meal-plan.meal-plan, mappedBy: before}
  cook: {type: relation, relation: manyToOne, target: plugin::users-permissions.user, private: true}
  parts: {type: component, component: page.part, repeatable: true, max: 3}
  zone: {type: dynamiczone, components: [page.part]}
`,
	"config/permissions.yaml": `
roles:
  public:
    plugin::content-type-builder.content-types: [getContentType]
tokens:
  - name: loader
    type: custom
    permissions: [plugin::content-type-builder.content-types.getContentTypes, plugin::content-type-builder.components.getComponents]
`,
}

// TestContentTypeBuilderAnswersAsStrapi reads definitions in the form that loaders of site generators know from Strapi.
func TestContentTypeBuilderAnswersAsStrapi(t *testing.T) {
	a := serve(t, builderFiles)
	const path = "/api/content-type-builder/"
	for _, c := range []struct{ path, want string }{
		{"content-types/api::meal-plan.meal-plan",
			`{"data":{"uid":"api::meal-plan.meal-plan","apiID":"meal-plan","schema":{"draftAndPublish":true,` +
				`"displayName":"Meal plan","singularName":"meal-plan","pluralName":"meal-plans","description":"What to cook",` +
				`"pluginOptions":{"i18n":{"localized":true}},"kind":"collectionType","collectionName":"meal_plans","attributes":{` +
				`"title":{"type":"string","required":true,"minLength":2,"pluginOptions":{"i18n":{"localized":true}}},` +
				`"level":{"type":"enumeration","enum":["easy","hard"],"default":"easy"},` +
				`"secret":{"type":"string","private":true},` +
				`"cover":{"type":"media","multiple":false,"allowedTypes":["images"],"required":false,"private":false},` +
				`"before":{"type":"relation","relation":"oneToOne","target":"api::meal-plan.meal-plan","inversedBy":"after","required":false,"private":false,"targetAttribute":"after"},` +
				`"after":{"type":"relation","relation":"oneToOne","target":"api::meal-plan.meal-plan","mappedBy":"before","required":false,"private":false,"targetAttribute":"before"},` +
				`"cook":{"type":"relation","relation":"manyToOne","target":"plugin::users-permissions.user","private":true,"required":false,"targetAttribute":null},` +
				`"parts":{"type":"component","repeatable":true,"component":"page.part","max":3},` +
				`"zone":{"type":"dynamiczone","components":["page.part"]}},"visible":true,"restrictRelationsTo":null}}}`},
		{"components/page.part",
			`{"data":{"uid":"page.part","category":"page","apiId":"part","schema":{"displayName":"Part","description":"",` +
				`"collectionName":"components_page_parts","attributes":{"label":{"type":"string"},"hidden":{"type":"string","private":true},` +
				`"reader":{"type":"relation","relation":"oneToOne","target":"plugin::users-permissions.user","required":false,"private":false,"targetAttribute":null}}}}}`},
		{"content-types?kind=singleType",
			`{"data":[{"uid":"api::home.home","apiID":"home","schema":{"draftAndPublish":false,"displayName":"Home",` +
				`"singularName":"home","pluralName":"homes","description":"","kind":"singleType","collectionName":"homes",` +
				`"attributes":{"title":{"type":"string"}},"visible":true,"restrictRelationsTo":null}}]}`},
	} {
		if r := a.want(200, "GET", path+c.path, "full", nil); r.text != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.path, r.text, c.want)
		}
	}
	r := a.want(200, "GET", path+"content-types", "loader", nil)
	want := []string{"api::article.article", "api::home.home", "api::meal-plan.meal-plan", "plugin::i18n.locale",
		"plugin::upload.file",
		"plugin::users-permissions.permission", "plugin::users-permissions.role", "plugin::users-permissions.user"}
	if got := items(r, "uid"); !slices.Equal(got, want) {
		t.Errorf("content-types %v, want %v", got, want)
	}
	file := `{"uid":"plugin::upload.file","plugin":"upload","apiID":"file","schema":{"draftAndPublish":false,"displayName":"File","singularName":"file",` +
		`"pluralName":"files","description":"","pluginOptions":{"content-manager":{"visible":false},"content-type-builder":{"visible":false}},`
	if !strings.Contains(r.text, file) {
		t.Errorf("no %s in %s", file, r.text)
	}
	for _, c := range []struct {
		status   int
		path, as string
	}{
		{200, "components", "loader"}, {200, "content-types/api::home.home", ""}, {403, "content-types", ""},
		{403, "content-types", "readonly"},
		{403, "components", "readonly"}, {403, "components/page.part", "loader"}, {401, "components", "nobody"},
		{404, "content-types/api::none.none", "full"}, {404, "content-types/lectern::api-token", "full"},
		{404, "components/page.none", "full"},
		{404, "components/api::home.home", "full"}, {400, "content-types?kind=none", "full"},
	} {
		a.want(c.status, "GET", path+c.path, c.as, nil)
	}
}
