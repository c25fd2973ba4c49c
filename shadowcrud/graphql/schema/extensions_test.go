package schema_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
	"lectern/internal/storetest"
	"lectern/internal/yamlfile"
	"lectern/shadowcrud/graphql/schema"
)

func loadFiles(t testing.TB, files map[string]string) *contenttypes.Model {
	t.Helper()
	return storetest.Model(t, storetest.Files(files))
}

// buildExtended builds a schema with an extension. If wrong is not "", it expects an error that contains wrong, and
// returns nil.
func buildExtended(t *testing.T, m *contenttypes.Model, x schema.Extension, wrong string) *schema.Schema {
	t.Helper()
	var e schema.Extensions
	e.Use(x, answered)
	s, err := schema.Build(m, schema.Options{Extensions: &e})
	if wrong != "" {
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Fatalf("error %v, want one with %q", err, wrong)
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	parse(t, s.SDL)
	return s
}

var blog = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string, required: true}
  level: {type: enumeration, enum: [easy, hard]}
  zone: {type: dynamiczone, components: [a.part]}
`,
	"components/a/part.yaml": "info: {displayName: Part}\nattributes: {text: {type: string}}\n",
}

// answered adds a resolver to each field of Query, Mutation and Article that lacks one, for tests that are not about
// resolvers.
var answered = schema.Extension{Plugins: []func(*schema.Builder) error{func(b *schema.Builder) error {
	nothing := func(graphql.ResolveParams) (any, error) { return nil, nil }
	s := b.Schema()
	for _, o := range []*schema.Object{s.Query, s.Mutation, s.Object("Article")} {
		if o == nil {
			continue
		}
		for _, m := range o.Fields {
			if m.Kind == schema.Custom && m.Resolve == nil {
				b.AddResolvers(schema.Resolvers{o.Name: {m.Name: nothing}}, nil)
			}
		}
	}
	return nil
}}}

// TestTypeDefs adds definitions in SDL, and checks that the schema has the lines of want.
func TestTypeDefs(t *testing.T) {
	m := loadFiles(t, blog)
	for _, c := range []struct {
		name, defs string
		want       []string
		err        string
	}{
		{name: "fields of Query and Mutation", defs: `
			extend type Query { "Says hello." hello(to: String = "you", tags: [String!]! = ["a"]): String! @deprecated(reason: "be quiet") }
			type Mutation { like(id: ID!): Article }`,
			want: []string{`  "Says hello."`,
				`  hello(to: String = "you", tags: [String!]! = ["a"]): String! @deprecated(reason: "be quiet")`,
				`  like(id: ID!): Article`}},
		{name: "fields of generated types and inputs", defs: `
			extend type Article { words(min: Int = 1): Int, best: ArticleRelationResponseCollection }
			extend input ArticleInput { slugify: Boolean = true }
			extend input ArticleFiltersInput { popular: Boolean }`,
			want: []string{"  words(min: Int = 1): Int", "  best: ArticleRelationResponseCollection",
				"  slugify: Boolean = true", "  popular: Boolean"}},
		{name: "new types of each kind, in any order", defs: `
			extend type Query { stats(of: StatsInput = {by: DAY, n: 2}): [Stats!] any: [Thing] one: Node }
			"Numbers" type Stats implements Node & Named { id: ID! name: String at(unit: Unit = DAY): Money @deprecated }
			union Thing = Article | Stats
			interface Node { id: ID! }
			interface Named { name: String }
			input StatsInput { by: Unit! n: Int = 1 @deprecated(reason: "x") }
			enum Unit { DAY "of seven days" WEEK @deprecated }
			extend enum Unit { YEAR }
			scalar Money @specifiedBy(url: "https://example.org/money")`,
			want: []string{`"Numbers"`, "type Stats implements Node & Named {",
				`  at(unit: Unit = DAY): Money @deprecated(reason: "No longer supported")`,
				"union Thing = Article | Stats",
				"interface Node {", "  n: Int = 1 @deprecated(reason: \"x\")", "enum Unit {", `  "of seven days"`,
				`  WEEK @deprecated(reason: "No longer supported")`, "  YEAR",
				`scalar Money @specifiedBy(url: "https://example.org/money")`,
				"  stats(of: StatsInput = {by:DAY,n:2}): [Stats!]"}},
		{name: "members of a union", defs: "type Extra { x: Int } extend union ArticleZoneDynamicZone = Extra",
			want: []string{"union ArticleZoneDynamicZone = ComponentAPart | Error | Extra"}},
		{name: "types that nothing leads to stay", defs: "type Alone { x: Int }", want: []string{"type Alone {"}},
		{name: "a description with quotes", defs: `extend type Query { "a \"b\" \\ c" x: Int }`,
			want: []string{`  "a \"b\" \\ c"`}},

		{name: "no SDL", defs: "type {", err: "typeDefs:1"},
		{name: "an unknown type", defs: "extend type Query { x: Nothing }",
			err: "typeDefs:1: there is no type Nothing"},
		{name: "an unknown type to extend", defs: "\nextend type Nothing { x: Int }",
			err: "typeDefs:2: there is no type Nothing to extend"},
		{name: "a field twice", defs: "extend type Article { title: String }",
			err: "Article has a field title already"},
		{name: "an input field twice", defs: "extend input ArticleInput { title: String }",
			err: "ArticleInput has a field title already"},
		{name: "another kind", defs: "extend input Article { x: Int }",
			err: "Article is of the kind OBJECT, not INPUT_OBJECT"},
		{name: "an input as output", defs: "extend type Query { x: ArticleInput }",
			err: "field x cannot be of the type ArticleInput"},
		{name: "an output as input", defs: "extend type Query { x(y: Article): Int }",
			err: "y cannot be of the type Article"},
		{name: "values of an attribute's enum", defs: "extend enum ENUM_ARTICLE_LEVEL { EXPERT }",
			err: "has the values of level of api::article.article"},
		{name: "an operator", defs: "extend input StringFilterInput { soundsLike: String }",
			err: "nothing would look at it"},
		{name: "subscriptions", defs: "type Subscription { x: Int }", err: "there are no subscriptions"},
		{name: "more subscriptions", defs: "extend type Subscription { x: Int }", err: "there are no subscriptions"},
		{name: "a directive", defs: "directive @x on FIELD_DEFINITION", err: "directive @x cannot be defined"},
		{name: "use of a directive", defs: "extend type Query { x: Int @auth }", err: "directive @auth has no effect"},
		{name: "a schema", defs: "schema { query: Article }", err: "the schema itself cannot be defined"},
		{name: "an interface not met", defs: "interface A { a: Int } type B implements A { b: Int }", err: "a"},
		{name: "no interface", defs: "type B implements Article { b: Int }", err: "there is no interface Article"},
		{name: "a reserved name", defs: "extend type Query { __x: Int }", err: "__x"},
		{name: "a type without fields", defs: "type B", err: "B"},
		{name: "a union of a scalar", defs: "union U = Int", err: "U cannot hold Int"},
		{name: "an enum value twice", defs: "enum E { A A }", err: "E has a value A twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := buildExtended(t, m, schema.Extension{TypeDefs: c.defs}, c.err)
			if s == nil {
				return
			}
			for _, line := range c.want {
				if !strings.Contains(s.SDL, line+"\n") {
					t.Errorf("missing: %s", line)
				}
			}
		})
	}
}

// TestTypes adds types of graphql-go with an ExtensionFunc, which refers to generated types.
func TestTypes(t *testing.T) {
	var e schema.Extensions
	e.Use(schema.ExtensionFunc(func(b *schema.Builder) (schema.Extension, error) {
		unit := graphql.NewEnum(
			graphql.EnumConfig{Name: "Unit", Values: graphql.EnumValueConfigMap{"DAY": {Value: 1}, "WEEK": {Value: 7}}})
		span := graphql.NewInputObject(
			graphql.InputObjectConfig{Name: "Span", Fields: graphql.InputObjectConfigFieldMap{
				"unit": {Type: unit, DefaultValue: 7}, "n": {Type: graphql.Int}}})
		stats := graphql.NewObject(graphql.ObjectConfig{Name: "Stats", Description: "Numbers", Fields: graphql.Fields{
			"views": {Type: graphql.NewNonNull(graphql.Int)}, "article": {Type: b.Type("Article").(graphql.Output)},
			"grid": {Type: graphql.NewList(graphql.NewList(graphql.Int))}}})
		query := graphql.NewObject(graphql.ObjectConfig{Name: "Query", Fields: graphql.Fields{
			"stats": {Type: graphql.NewList(graphql.NewNonNull(stats)), Args: graphql.FieldConfigArgument{
				"to":   {Type: span, DefaultValue: map[string]any{"unit": 1, "n": 2}},
				"from": {Type: graphql.NewList(graphql.String), DefaultValue: []string{`a"b`}}},
				Resolve: func(graphql.ResolveParams) (any, error) { return nil, nil }}}})
		return schema.Extension{Types: []graphql.Type{query}, TypeDefs: "extend type Query { more: Stats }"}, nil
	}))
	e.Use(schema.Extension{Plugins: []func(*schema.Builder) error{func(b *schema.Builder) error {
		if b.Schema().Query.Field("articles") == nil || b.Type("Nothing") != nil {
			t.Error("the builder does not show the schema")
		}
		return b.AddTypeDefs("extend type Article { late: Int }")
	}}}, answered)
	s := build(t, loadFiles(t, blog), schema.Options{Extensions: &e})
	for _, want := range []string{
		"  stats(from: [String] = [\"a\\\"b\"], to: Span = {n: 2, unit: DAY}): [Stats!]\n  more: Stats\n",
		"\"Numbers\"\ntype Stats {\n  article: Article\n  grid: [[Int]]\n  views: Int!\n}\n",
		"input Span {\n  n: Int\n  unit: Unit = WEEK\n}\n", "enum Unit {\n  DAY\n  WEEK\n}\n", "  late: Int\n",
	} {
		if !strings.Contains(s.SDL, want) {
			t.Errorf("missing %q in:\n%s", want, s.SDL)
		}
	}
	m := s.Query.Field("stats")
	if m.Kind != schema.Custom || m.Object != s.Object("Stats") || !m.List || !m.NonNulls || m.NonNull ||
		m.Resolve == nil {
		t.Errorf("stats: %+v", m)
	}
	if m := s.FieldSpec("Stats", "article"); m.Object != s.ObjectOf("api::article.article") || m.Type == nil {
		t.Errorf("article: %+v", m)
	}
	if m := s.FieldSpec("Stats", "grid"); !m.Wrapped || m.Scalar.Kind != schema.IntScalar {
		t.Errorf("grid: %+v", m)
	}
}

func TestGoTypes(t *testing.T) {
	stats := graphql.NewObject(
		graphql.ObjectConfig{Name: "Stats", Fields: graphql.Fields{"views": {Type: graphql.Int}}})
	for _, c := range []struct {
		name      string
		extension schema.Extension
		want      string
		err       string
	}{
		{name: "listed", extension: schema.Extension{Types: []graphql.Type{stats},
			TypeDefs: "extend type Query { more: [Stats!]! }"}, want: "  more: [Stats!]!\n"},
		{name: "merged", extension: schema.Extension{Types: []graphql.Type{graphql.NewObject(graphql.ObjectConfig{Name: "Article", Fields: graphql.Fields{
			"stats": {Type: stats, Description: "How it does",
				Args: graphql.FieldConfigArgument{"n": {Type: graphql.Int, DefaultValue: 3}}}}})}},
			want: "  \"How it does\"\n  stats(n: Int = 3): Stats\n"},
		{name: "not to be merged",
			extension: schema.Extension{Types: []graphql.Type{graphql.NewScalar(graphql.ScalarConfig{Name: "Date",
				Serialize: func(v any) any { return v }})}},
			err: "type Date (a scalar), which every schema has already"},
		{name: "another of a name",
			extension: schema.Extension{Types: []graphql.Type{graphql.NewObject(graphql.ObjectConfig{Name: "Query",
				Fields: graphql.Fields{
					"x": {Type: graphql.NewObject(graphql.ObjectConfig{Name: "Article",
						Fields: graphql.Fields{"y": {Type: graphql.Int}}})}}})}},
			err: "a type Article of its own"},
		{name: "extended", extension: schema.Extension{Types: []graphql.Type{stats},
			TypeDefs: "extend type Stats { x: Int }"}, err: "made in Go"},
		{name: "a bad name",
			extension: schema.Extension{Types: []graphql.Type{graphql.NewObject(graphql.ObjectConfig{Name: "a b",
				Fields: graphql.Fields{}})}}, err: "a b"},
		{name: "nil", extension: schema.Extension{Types: []graphql.Type{nil}}, err: "nil"},
		{name: "a plugin that fails",
			extension: schema.Extension{Plugins: []func(*schema.Builder) error{func(*schema.Builder) error { return errors.New("no luck") }}}, err: "no luck"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := buildExtended(t, loadFiles(t, blog), c.extension, c.err)
			if s == nil {
				return
			}
			if !strings.Contains(s.SDL, c.want) {
				t.Errorf("missing %q in:\n%s", c.want, s.SDL)
			}
		})
	}
}

// TestLeftOut checks the methods of the options that report what is left out.
func TestLeftOut(t *testing.T) {
	var e schema.Extensions
	o := e.ShadowCRUD("api::article.article")
	if !o.IsEnabled() || o.IsDisabled() || !o.AreQueriesEnabled() || o.AreQueriesDisabled() ||
		!o.AreMutationsEnabled() || o.AreMutationsDisabled() ||
		!o.IsActionEnabled("find") || o.IsActionDisabled("find") {
		t.Error("nothing was left out yet")
	}
	f := o.Field("title")
	if !f.IsEnabled() || f.IsDisabled() || !f.HasInputEnabled() || !f.HasOutputEnabled() || !f.HasFiltersEnabled() {
		t.Error("nothing was left out of the field yet")
	}
	copied := e.Clone()
	o.DisableQueries().DisableMutations().DisableAction("find").DisableActions([]string{"create", "update"}).Disable()
	if o.IsEnabled() || o.AreQueriesEnabled() || o.AreMutationsEnabled() || o.IsActionEnabled("find") ||
		o.IsActionEnabled("create") || !o.IsActionEnabled("delete") {
		t.Error("everything was left out")
	}
	f.DisableInput()
	if !f.IsEnabled() || f.HasInputEnabled() {
		t.Error("the input was left out")
	}
	if f.Disable(); !f.IsDisabled() || f.HasOutputEnabled() || f.HasFiltersEnabled() {
		t.Error("the field was left out")
	}
	if c := copied.ShadowCRUD("api::article.article"); c.IsDisabled() || !c.IsActionEnabled("find") ||
		c.Field("title").IsDisabled() {
		t.Error("the copy changed")
	}
	e.ShadowCRUD("api::article.article").Field("titel").Disable()
	e.ShadowCRUD("api::article.article").DisableAction("erase")
	e.ShadowCRUD("lectern::api-token").Disable()
	_, err := schema.Build(loadFiles(t, blog), schema.Options{Extensions: &e})
	for _, want := range []string{`api::article.article: there is no attribute "titel"`,
		`api::article.article: there is no action "erase"`, `"lectern::api-token": there is no such`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestBuiltInMutations checks that the options also apply to the mutations of files, users and roles.
func TestBuiltInMutations(t *testing.T) {
	var e schema.Extensions
	e.ShadowCRUD("plugin::upload.file").DisableMutations()
	e.ShadowCRUD("plugin::users-permissions.role").DisableAction("create")
	e.ShadowCRUD("plugin::users-permissions.user").Disable()
	s := build(t, load(t, filepath.Join(projects, "kitchen")), schema.Options{Extensions: &e})
	for _, name := range []string{"updateUploadFile", "deleteUploadFile", "createUsersPermissionsRole",
		"createUsersPermissionsUser"} {
		if s.Mutation.Field(name) != nil {
			t.Errorf("%s is still there", name)
		}
	}
	if s.Mutation.Field("updateUsersPermissionsRole") == nil || s.Mutation.Field("login") == nil ||
		s.Query.Field("me") == nil {
		t.Error("too much is gone")
	}
	if s.FieldSpec("MealPlan", "author") != nil {
		t.Error("a relation leads to what is disabled")
	}
}

// TestAllActions checks that "*" stands for all actions, from a program and from a file.
func TestAllActions(t *testing.T) {
	m := loadFiles(t, blog)
	var called, read schema.Extensions
	called.ShadowCRUD("api::article.article").DisableAction("*")
	n, problems := yamlfile.Parse("plugins.yaml", []byte("api::article.article: {disableAction: '*'}\n"), nil)
	if problems = append(problems, read.Shadow().Read(n, m)...); problems != nil {
		t.Fatal(problems)
	}
	for name, e := range map[string]*schema.Extensions{"called": &called, "read": &read} {
		s := build(t, m, schema.Options{Extensions: e, DocumentActions: true, Subscriptions: true})
		for _, root := range []*schema.Object{s.Query, s.Mutation, s.Subscription} {
			for _, f := range root.Fields {
				if f.Type != nil && f.Type.UID == "api::article.article" {
					t.Errorf("%s: %s.%s is still there", name, root.Name, f.Name)
				}
			}
		}
		if s.Object("Article") == nil || !e.ShadowCRUD("api::article.article").IsActionDisabled("publish") {
			t.Errorf("%s: the type is gone, or publish is enabled", name)
		}
	}
}

func TestWithoutShadowCRUD(t *testing.T) {
	s := build(t, loadFiles(t, blog), schema.Options{WithoutShadowCRUD: true})
	if want := "type Query {\n  ok: Boolean!\n}\n"; s.SDL != want {
		t.Errorf("got %q, want %q", s.SDL, want)
	}
	var e schema.Extensions
	e.Use(schema.Extension{TypeDefs: "extend type Query { now: DateTime, page(p: PaginationArg): [JSON] }"}, answered)
	s = build(t, loadFiles(t, blog), schema.Options{WithoutShadowCRUD: true, Extensions: &e})
	if s.Query.Field("ok") != nil || s.Query.Field("now").Scalar.Kind != schema.DateTimeScalar || s.Mutation != nil {
		t.Errorf("got %s", s.SDL)
	}
}

// TestNothingLeft checks that Build refuses a type whose fields are all left out.
func TestNothingLeft(t *testing.T) {
	var e schema.Extensions
	for _, name := range []string{"documentId", "title", "level", "zone", "createdAt", "updatedAt", "publishedAt"} {
		e.ShadowCRUD("api::article.article").Field(name).DisableOutput()
	}
	_, err := schema.Build(loadFiles(t, blog), schema.Options{Extensions: &e})
	if err == nil || !strings.Contains(err.Error(), "no field of api::article.article is shown") {
		t.Errorf("error %v", err)
	}
}

// FuzzTypeDefs checks that for any definitions Build returns either an error or a schema that can be parsed.
func FuzzTypeDefs(f *testing.F) {
	for _, seed := range []string{
		"extend type Query { a(b: [Int!] = [1]): Article! }", "enum E { A } extend enum E { B }",
		"input I { a: I b: Int! = 3 }", "union U = Article | Error",
		"scalar S @specifiedBy(url: \"x\")", "interface A { a: Int } type B implements A { a: Int }",
		"type Query { x: Int @deprecated }", "\"\"\"a\nb\"\"\" type X { x: X }",
		"extend input ArticleInput { x: Int }", "type X { x(a: Y = {b: [A]}): Int } input Y { b: [Z] } enum Z { A }",
	} {
		f.Add(seed)
	}
	m := loadFiles(f, blog)
	f.Fuzz(func(t *testing.T, defs string) {
		var e schema.Extensions
		e.Use(schema.Extension{TypeDefs: defs}, answered)
		s, err := schema.Build(m, schema.Options{Extensions: &e})
		if err != nil {
			return
		}
		parse(t, s.SDL)
		again, err := schema.Build(m, schema.Options{Extensions: &e})
		if err != nil || again.SDL != s.SDL {
			t.Fatalf("built again: %v\n%s\n%s", err, s.SDL, again.SDL)
		}
	})
}
