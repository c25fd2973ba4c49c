package binding_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
)

// A graph binds operations on the content of the kitchen project.
type graph struct {
	t        *testing.T
	schema   *schema.Schema
	language *language.Schema
	binder   *binding.Binder
}

func newGraph(t *testing.T, l limits.Operation) *graph {
	t.Helper()
	model, problems := contenttypes.Load("../../../testdata/conformance/projects/kitchen", contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	built, err := schema.Build(model, schema.Options{DocumentActions: true})
	if err != nil {
		t.Fatal(err)
	}
	g := &graph{t: t, schema: built, language: language.New(built)}
	l = l.OrDefaults()
	g.binder = binding.New(built, g.language, params.New(model, "en", params.ListSettings{}), &l)
	return g
}

// compile compiles the one operation of a document.
func (g *graph) compile(query, variables string) (*binding.Plan, language.Variables) {
	g.t.Helper()
	doc, errs := g.language.Parse(query, language.DefaultDocumentLimits)
	if errs != nil {
		g.t.Fatalf("%s: %v", query, errs[0].Message)
	}
	op, wrong := doc.Operation(nil)
	if wrong != nil {
		g.t.Fatalf("%s: %v", query, wrong.Message)
	}
	given, err := jsontree.Parse([]byte(variables), jsontree.MaxDepth)
	if err != nil {
		g.t.Fatal(err)
	}
	vars, errs := g.language.Variables(doc, op, given.(*jsontree.Object))
	if errs != nil {
		g.t.Fatalf("%s: %v", variables, errs[0].Message)
	}
	p := &binding.Plan{}
	p.Compile(g.schema, g.language, doc, op, vars)
	return p, vars
}

// bind binds an operation for a caller who may carry out these actions; none stands for full access.
func (g *graph) bind(query, variables string, actions ...string) (
	p *binding.Plan, list []binding.Binding, n int, err error,
) {
	g.t.Helper()
	access := permission.FullAccess
	if len(actions) > 0 {
		access = permission.NewAccess(actions)
	}
	p, vars := g.compile(query, variables)
	var memory []binding.Binding
	list, n, wrong := g.binder.Bind(p, vars, access, &memory)
	if wrong != nil {
		return p, nil, 0, fmt.Errorf("%s", wrong.Message)
	}
	return p, list, n, nil
}

// find returns the field at a path of names, such as "menus.dishes".
func find(s *plan.Selection, path string) *plan.Field {
	name, rest, more := strings.Cut(path, ".")
	i := slices.IndexFunc(s.Fields, func(f *plan.Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	if f := s.Fields[i]; !more {
		return f
	} else {
		return find(f.Subs[0], rest)
	}
}

// TestBindingHoldsWhatIsRead expects the rows that each field reads: how many from where on, and in which version.
func TestBindingHoldsWhatIsRead(t *testing.T) {
	g := newGraph(t, limits.Operation{DefaultLimit: 10, MaxLimit: 50, AmountLimit: 40})
	for _, c := range []struct{ query, variables, field, want string }{
		{`{menus{title}}`, `{}`, "menus", "from 0, 10"},
		{`{menus(pagination:{limit:3,start:4}){title}}`, `{}`, "menus", "from 4, 3"},
		{`{menus(pagination:{page:3,pageSize:5}){title}}`, `{}`, "menus", "from 10, 5"},
		{`{menus(pagination:{page:0,pageSize:0}){title}}`, `{}`, "menus", "from 0, 1"},
		{`{menus(pagination:{limit:-1}){title}}`, `{}`, "menus", "from 0, 40"},
		{`{menus(pagination:{limit:900}){title}}`, `{}`, "menus", "from 0, 40"},
		{`{menus(pagination:{limit:null}){title}}`, `{}`, "menus", "from 0, 10"},
		{`query($n:Int){menus(pagination:{limit:$n}){title}}`, `{"n":7}`, "menus", "from 0, 7"},
		{`query($n:Int){menus(pagination:{limit:$n}){title}}`, `{}`, "menus", "from 0, 10"},
		{`{menus_connection{nodes{title}}}`, `{}`, "menus_connection", "from 0, 10"},
		{`{menus_connection{pageInfo{total}}}`, `{}`, "menus_connection", "from 0, 10, counted"},
		{`{menu(documentId:"a"){title}}`, `{}`, "menu", "from 0, 1"},
		{`{menus{dishes{name}}}`, `{}`, "menus.dishes", "from 0, 10"},
		{`{menus{dishes(pagination:{limit:-1}){name}}}`, `{}`, "menus.dishes", "from 0, 50"},
		{`{restaurants{dz{__typename}}}`, `{}`, "restaurants.dz", "from 0, -1"},
		{`{restaurants(status:DRAFT){name}}`, `{}`, "restaurants", "from 0, 10, draft"},
		{`{restaurants(status:PUBLISHED){name}}`, `{}`, "restaurants", "from 0, 10"},
		{`{restaurants(locale:"de"){name}}`, `{}`, "restaurants", "from 0, 10, [de]"},
		{`{restaurants(filters:{name:{eq:"x"}}){name}}`, `{}`, "restaurants", "from 0, 10, filtered"},
		{`{restaurants(filters:{}){name}}`, `{}`, "restaurants", "from 0, 10"},
		{`{restaurants(filters:{or:[{}]}){name}}`, `{}`, "restaurants", "from 0, 10"},
		{`{restaurants(sort:["name:desc",null,"visits"]){name}}`, `{}`, "restaurants", "from 0, 10, 2 sort keys"},
		{`{restaurants(hasPublishedVersion:true){name}}`, `{}`, "restaurants", "from 0, 10, filtered"},
		{`{restaurants{categories(filters:{name:{ne:"x"}},sort:"name"){name}}}`, `{}`, "restaurants.categories",
			"from 0, 10, filtered, 1 sort keys"},
	} {
		p, list, _, err := g.bind(c.query, c.variables)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
			continue
		}
		f := find(p.Root, c.field)
		if f == nil || f.Slot < 0 {
			t.Errorf("%s: no %s", c.query, c.field)
			continue
		}
		if got := read(&list[f.Slot]); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.query, c.field, got, c.want)
		}
	}
}

// read says which rows a field reads.
func read(b *binding.Binding) string {
	if b.Err != nil {
		return b.Err.Error()
	}
	q := &b.Query
	says := fmt.Sprintf("from %d, %d", q.Offset, q.Limit)
	if q.Count {
		says += ", counted"
	}
	if q.Status.String() == "draft" {
		says += ", draft"
	}
	if q.Locales.Codes != nil && !slices.Equal(q.Locales.Codes, []string{"en"}) {
		says += fmt.Sprint(", ", q.Locales.Codes)
	}
	if q.Filter != nil {
		says += ", filtered"
	}
	if len(q.Sort) > 0 {
		says += fmt.Sprintf(", %d sort keys", len(q.Sort))
	}
	return says
}

// TestFieldsAreRefused expects the error of a field that the caller may not use, or whose arguments cannot be used. The
// other fields are bound.
func TestFieldsAreRefused(t *testing.T) {
	g := newGraph(t, limits.Operation{SortKeys: 2, Conditions: 60})
	const finds = "api::restaurant.restaurant.find"
	for _, c := range []struct {
		query, actions, field, want string
	}{
		{`{restaurants{name} menus{title}}`, finds, "restaurants", ""},
		{`{restaurants{name} menus{title}}`, finds, "menus", "Forbidden access"},
		{`{restaurant(documentId:"a"){name}}`, finds, "restaurant", "Forbidden access"},
		{`{restaurants{categories{name}}}`, finds, "restaurants.categories", "Forbidden access"},
		{`{restaurants{categories{name}}}`, finds + " api::category.category.find", "restaurants.categories", ""},
		{`{restaurants{dz{__typename}}}`, finds, "restaurants.dz", ""},
		{`{restaurants(filters:{categories:{name:{eq:"x"}}}){name}}`, finds, "restaurants", "Invalid key categories"},
		{`mutation{deleteMenu(documentId:"a"){documentId}}`, finds, "deleteMenu", "Forbidden access"},
		{`mutation{deleteMenu(documentId:"a"){documentId}}`, "api::menu.menu.delete", "deleteMenu", ""},
		{`{restaurants(pagination:{page:1,start:1}){name}}`, "", "restaurants",
			"Cannot use both page & offset pagination in the same query"},
		{`{restaurants(sort:["name","visits","tier"]){name}}`, "", "restaurants", "sort keys"},
		{`{restaurants(sort:["name","visits",null]){name}}`, "", "restaurants", ""},
		{`{restaurants(filters:{name:{in:["` + strings.Repeat(`x","`, 60) + `x"]}}){name}}`, "", "restaurants", "conditions"},
		{`{restaurants(filters:{categories:{name:{eq:"x"}}}){name}}`, "", "restaurants", ""},
		{`{restaurants(filters:{categories:{restaurants:{name:{eq:"x"}}}}){name}}`, "", "restaurants", "conditions"},
	} {
		p, list, _, err := g.bind(c.query, `{}`, strings.Fields(c.actions)...)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
			continue
		}
		got := ""
		if err := list[find(p.Root, c.field).Slot].Err; err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s as %s: %q, want %q", c.query, c.actions, got, c.want)
		}
	}
}

// TestOperationsAreRefused expects the error of an operation that exceeds a limit as a whole.
func TestOperationsAreRefused(t *testing.T) {
	g := newGraph(t, limits.Operation{Cost: 1000, DefaultLimit: 10})
	const tooLarge = "may answer with more than"
	for _, c := range []struct{ want, query string }{
		{"", `{menus{dishes{name}}}`}, // 10 menus with 10 dishes
		{"", `{menus(pagination:{limit:100}){dishes(pagination:{limit:9}){name}}}`}, // 100 and 900
		{tooLarge, `{menus(pagination:{limit:100}){dishes(pagination:{limit:10}){name}}}`},
		{tooLarge, `{a:menus(pagination:{limit:90}){dishes{name}} b:menus{dishes{name}}}`},
		{"", `{restaurants(pagination:{limit:100}){dz{__typename} menu{dishes(pagination:{limit:3}){name}}}}`},
		{tooLarge, `{restaurants(pagination:{limit:100}){dz{__typename} menu{dishes(pagination:{limit:5}){name}}}}`},
		{"", `mutation{publishRestaurant(documentId:"a"){categories(pagination:{limit:90}){name}}}`},
		{tooLarge, `mutation{publishRestaurant(documentId:"a"){categories(pagination:{limit:100}){name}}}`},
	} {
		_, _, _, err := g.bind(c.query, `{}`)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
	g = newGraph(t, limits.Operation{Introspections: 1})
	for query, refused := range map[string]bool{
		`{__schema{queryType{name}}}`:                               false,
		`{a:__schema{queryType{name}} b:__schema{queryType{name}}}`: true,
	} {
		if _, _, _, err := g.bind(query, `{}`); (err != nil) != refused {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestConditionsAreCounted counts the comparisons in the filters of an operation, and the objects that hold them. A
// condition through a relation counts as many.
func TestConditionsAreCounted(t *testing.T) {
	g := newGraph(t, limits.Operation{})
	for query, want := range map[string]int{
		`{menus{title}}`:                                                                            0,
		`{menus(filters:{}){title}}`:                                                                1,
		`{menus(filters:{title:{eq:"a"}}){title}}`:                                                  2,
		`{menus(filters:{title:{in:["a","b","c"]}}){title}}`:                                        4,
		`{menus(filters:{or:[{title:{eq:"a"}},{title:{ne:"b"}}]}){title}}`:                          5,
		`{a:menus(filters:{title:{eq:"a"}}){title} b:menus(filters:{not:{title:{eq:"a"}}}){title}}`: 5,
		`{menus(filters:{restaurant:{name:{eq:"a"}}}){title}}`:                                      43,
	} {
		if _, _, n, err := g.bind(query, `{}`); n != want || err != nil {
			t.Errorf("%s: %d conditions (%v), want %d", query, n, err, want)
		}
	}
}

// TestBindingsOfCallerAreCached expects bindings to be computed once for a caller if no argument holds a variable, and
// each time if one does.
func TestBindingsOfCallerAreCached(t *testing.T) {
	g := newGraph(t, limits.Operation{})
	reader := permission.NewAccess([]string{"api::menu.menu.find"})
	for query, cached := range map[string]bool{
		`{menus(filters:{title:{eq:"a"}}){title}}`:                                 true,
		`query($t:String){menus(filters:{title:{eq:$t}}){title}}`:                  false,
		`query($no:Boolean=true){menus{title @include(if:$no) rating:documentId}}`: true,
	} {
		p, vars := g.compile(query, `{"t":"a"}`)
		if p.Static != cached {
			t.Errorf("%s: static: %v", query, p.Static)
		}
		bind := func(access *permission.Access) (*binding.Binding, error) {
			var memory []binding.Binding
			list, n, wrong := g.binder.Bind(p, vars, access, &memory)
			if wrong != nil {
				t.Fatal(wrong.Message)
			}
			if want := strings.Count(query, "filters") * 2; n != want && list[0].Err == nil {
				t.Errorf("%s: %d conditions, want %d", query, n, want)
			}
			return &list[0], list[0].Err
		}
		first, err := bind(reader)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if _, err := bind(permission.NewAccess(nil)); err != binding.ErrForbidden {
			t.Errorf("%s: of another caller: %v", query, err)
		}
		if again, err := bind(reader); (again == first) != cached || err != nil {
			t.Errorf("%s: the bindings were cached: %v (%v)", query, again == first, err)
		}
		for range 8 { // more callers than are cached
			bind(permission.NewAccess([]string{"api::menu.menu.find"}))
		}
		if again, _ := bind(reader); again == first {
			t.Errorf("%s: the bindings of a caller are cached for ever", query)
		}
	}
}

// TestRebindChangesOneField gives a root field other arguments. The bindings of the operation stay as they are, and the
// limit of cost holds.
func TestRebindChangesOneField(t *testing.T) {
	g := newGraph(t, limits.Operation{Cost: 1000})
	p, list, _, err := g.bind(`{menus(pagination:{limit:2}){dishes{name}} restaurants{name}}`, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	menus, restaurants := find(p.Root, "menus").Slot, find(p.Root, "restaurants").Slot
	before := read(&list[restaurants])
	for _, c := range []struct{ limit, wantRows, wantError string }{
		{"5", "from 0, 5", ""}, {"100", "", "may answer with more than"},
	} {
		limit := jsontree.ObjectOf("limit", jsontree.Number(c.limit))
		changed, err := g.binder.Rebind(p, find(p.Root, "menus"), plan.Arguments{{Name: "pagination", Value: limit}}, nil,
			permission.FullAccess, list)
		switch {
		case c.wantError != "":
			if err == nil || !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("limit %s: %v", c.limit, err)
			}
		case err != nil || read(&changed[menus]) != c.wantRows || read(&changed[restaurants]) != before:
			t.Errorf("limit %s: %s, %s (%v)", c.limit, read(&changed[menus]), read(&changed[restaurants]), err)
		}
	}
	if got := read(&list[menus]); got != "from 0, 2" {
		t.Errorf("the bindings of the operation became %s", got)
	}
}

// TestFilterNeedsPermission compiles an argument filters by itself.
func TestFilterNeedsPermission(t *testing.T) {
	g := newGraph(t, limits.Operation{Conditions: 45})
	filters := g.schema.FieldSpec("Query", "restaurants").Filters
	for _, c := range []struct {
		given, actions, want string
		filtered             bool
	}{
		{`{}`, "", "", false},
		{`{"name":{"eq":"a"}}`, "", "", true},
		{`{"not":{}}`, "", "", false},
		{`{"name":null}`, "", "", true},
		{`{"categories":{"name":{"eq":"a"}}}`, "api::category.category.find", "", true},
		{`{"categories":{"name":{"eq":"a"}}}`, "api::restaurant.restaurant.find", "Invalid key categories", false},
		{`{"and":[{"categories":{"name":{"eq":"a"}}},{"name":{"eq":"a"}},{"name":{"eq":"a"}}]}`, "", "conditions", false},
	} {
		given, err := jsontree.Parse([]byte(c.given), jsontree.MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		access := permission.FullAccess
		if c.actions != "" {
			access = permission.NewAccess([]string{c.actions})
		}
		filter, err := g.binder.Filter(filters, given.(*jsontree.Object), access)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (filter != nil) != c.filtered || c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s as %s: %v (%q)", c.given, c.actions, filter, got)
		}
	}
}

// TestPageInfo numbers the pages of lists.
func TestPageInfo(t *testing.T) {
	for _, c := range []struct {
		maxLimit, total     int
		pagination          string
		number, size, pages int
	}{
		{50, 101, `{limit:10}`, 1, 10, 11},
		{50, 101, `{limit:10,start:20}`, 3, 10, 11},
		{50, 101, `{limit:10,start:25}`, 3, 10, 11},
		{50, 101, `{page:2,pageSize:50}`, 2, 40, 3},
		{50, 0, `{limit:10}`, 1, 10, 0},
		{50, 101, `{limit:-1}`, 1, 40, 3}, // a limit of the server stands in for all
		{-1, 30, `{limit:-1}`, 1, 30, 1},
		{-1, 30, `{limit:-1,start:4}`, 1, 26, 1},
		{-1, 30, `{limit:-1,start:40}`, 1, 0, 1},
		{-1, 101, `{limit:-1}`, 1, 40, 3}, // there are more than a list may have
	} {
		g := newGraph(t, limits.Operation{MaxLimit: c.maxLimit, AmountLimit: 40})
		p, list, _, err := g.bind(`{menus_connection(pagination:`+c.pagination+`){pageInfo{total}}}`, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		page := list[find(p.Root, "menus_connection").Slot].Page
		if n, size, pages := page.Number(c.total), page.Size(c.total), page.Count(c.total); n != c.number ||
			size != c.size || pages != c.pages {
			t.Errorf("%s of %d, at most %d: page %d of %d, size %d; want page %d of %d, size %d", c.pagination, c.total,
				c.maxLimit, n, pages, size, c.number, c.pages, c.size)
		}
	}
}

// TestCallersMayUseRootFields asks for each kind of permission that a root field can need.
func TestCallersMayUseRootFields(t *testing.T) {
	g := newGraph(t, limits.Operation{})
	menu := *g.schema.FieldSpec("Query", "menus")
	open, demanding, custom := menu, menu, schema.FieldSpec{Kind: schema.Custom, Of: menu.Of, Name: "own"}
	open.Auth, demanding.Auth = schema.NoAuth, schema.Scopes("api::menu.menu.find", "api::review.review.find")
	for _, c := range []struct {
		name    string
		field   *schema.FieldSpec
		actions []string
		isUser  bool
		want    bool
	}{
		{"generated", &menu, nil, true, false},
		{"generated", &menu, []string{"api::menu.menu.findOne"}, false, false},
		{"generated", &menu, []string{"api::menu.menu.find"}, false, true},
		{"opened", &open, nil, false, true},
		{"demanding", &demanding, []string{"api::menu.menu.find"}, true, false},
		{"demanding", &demanding, []string{"api::menu.menu.find", "api::review.review.find"}, false, true},
		{"custom", &custom, nil, false, false},
		{"custom", &custom, nil, true, true},
		{"custom", &custom, []string{"Query.own"}, false, true},
		{"login", g.schema.FieldSpec("Mutation", "login"), nil, false, true},
	} {
		if got := g.binder.MayUse(c.field, permission.NewAccess(c.actions), c.isUser); got != c.want {
			t.Errorf("%s, with %v, user %v: %v", c.name, c.actions, c.isUser, got)
		}
	}
	for name, field := range map[string]*schema.FieldSpec{"generated": &menu, "demanding": &demanding, "custom": &custom} {
		if !g.binder.MayUse(field, permission.FullAccess, false) {
			t.Errorf("%s: full access is refused", name)
		}
	}
}
