package params_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lectern/documents/permission"
	"lectern/store"
)

// Valid filters, each with the store query that they are read as.
func TestFilters(t *testing.T) {
	for query, want := range map[string]string{
		"":                                       "",
		"filters[name]=x":                        `name =["x"]`,
		"filters[name][$eq]=x":                   `name =["x"]`,
		"filters[seats]=20.0&filters[tier]=gold": `and(seats =[20], tier =["gold"])`,
		"filters[seats][$gt]=1e1&filters[seats][$lt]=10.5":                `and(seats >[10], seats <[10.5])`,
		"filters[seats]=0x0A":                                             `seats =[10]`,
		"filters[name][]=a&filters[name][]=b":                             `name in["a","b"]`,
		"filters[name][$eq]=a&filters[name][$eq]=b":                       `name in["a","b"]`,
		"filters[name][$in]=a,b":                                          `name in["a,b"]`,
		"filters[tier][$notIn][0]=gold&filters[tier][$notIn][1]":          `tier notIn["gold",null]`,
		"filters[seats][$between]=1&filters[seats][$between]=2":           `seats between[1,2]`,
		"filters[name][$contains]=":                                       `name contains[""]`,
		"filters[name][$contains][]=a&filters[name][$contains][]=b":       `or(name contains["a"], name contains["b"])`,
		"filters[name][$notContains][]=a&filters[name][$notContains][]=b": `and(name notContains["a"], name notContains["b"])`,
		"filters[name][$ne][]=a&filters[name][$ne][]=b":                   `name notIn["a","b"]`,
		"filters[visits]=9007199254740993":                                `visits =[9007199254740993]`,
		"filters[visits]=5.0":                                             `visits =[5]`,

		"filters[visits]=99999999999999999999":                                        `visits in`,
		"filters[visits][$ne]=-99999999999999999999":                                  `visits notNull`,
		"filters[visits][$lt]=99999999999999999999":                                   `visits notNull`,
		"filters[visits][$gte]=99999999999999999999":                                  `visits in`,
		"filters[visits][$between]=-99999999999999999999&filters[visits][$between]=3": `and(visits notNull, visits <=[3])`,

		// null
		"filters[rating]":                                         `rating null`,
		"filters[rating][$eq]":                                    `rating null`,
		"filters[rating][$ne]":                                    `rating notNull`,
		"filters[rating][$not]":                                   `rating notNull`,
		"filters[rating][$null]":                                  `rating notNull`,
		"filters[rating][$null]=true":                             `rating null`,
		"filters[rating][$null]=False":                            `rating notNull`,
		"filters[rating][$notNull]=0":                             `rating null`,
		"filters[rating][$gt]":                                    `rating >[null]`,
		"filters[name][$gt]=cc&filters[name][$gt]=aa":             `or(name >["cc"], name >["aa"])`,
		"filters[seats][$lte][]=5":                                `seats <=[5]`,
		"filters[owner][age][$gte][]=4&filters[owner][age][$gte]": `owner>or(age >=[null], age >=[4])`,
		"filters[id][$not][$lt][]=4&filters[id][$not][$lt][]=x":   `not(or(id <[4], id in))`,
		"filters[name][$eqi]":                                     `name null`,
		"filters[name][$eq]=null":                                 `name =["null"]`,
		"filters":                                                 ``,
		"filters[$not]&filters[$and]":                             ``,
		"filters[name][$nei]=a":                                   `name !=i["a"]`,
		"filters[seats][$eqi]=3.0":                                `seats =[3]`,
		"filters[vegan]=no":                                       `vegan =[false]`,
		"filters[vegan][$in][]=t":                                 `vegan in[true]`,
		"filters[extra][$eq]=%7B%22a%22":                          `extra =["{\"a\""]`,

		// dates
		"filters[openedOn]=2020-01-15T23:00:00.000Z":            `openedOn =["2020-01-15"]`,
		"filters[opensAt]=12:00:00.5":                           `opensAt =["12:00:00.500"]`,
		"filters[inspectedAt][$gt]=2024-05-01T12:30:00%2B02:30": `inspectedAt >["2024-05-01T10:00:00.000Z"]`,
		"filters[openedOn][$startsWith]=2020-01":                `openedOn startsWith["2020-01"]`,

		// logic
		"filters[$or][0][name]=a&filters[$or][1][tier]=b&filters[seats]=1": `and(or(name =["a"], tier =["b"]), seats =[1])`,
		"filters[$and][0][name]=a&filters[$and][1][tier]=b":                `and(name =["a"], tier =["b"])`,
		"filters[$not][seats]=1&filters[$not][tier]=b":                     `not(and(seats =[1], tier =["b"]))`,
		"filters[seats][$not][$gt]=1&filters[seats][$not][$lt]=9":          `not(and(seats >[1], seats <[9]))`,
		"filters[name][$not]=a":                                            `not(name =["a"])`,
		"filters[name][$not]=":                                             `not(name =[""])`,
		"filters[name][$not][]=a&filters[name][$not][]=b":                  `not(name in["a","b"])`,
		"filters[name][$or][0][$eq]=a&filters[name][$or][1]=b":             `or(name =["a"], name =["b"])`,
		"filters[0][name]=a&filters[1][tier]=b":                            `and(name =["a"], tier =["b"])`,
		"filters[$not][0][name]=a":                                         `not(name =["a"])`,

		// conditions on relations, components and media
		"filters[owner][age][$gt]=40&filters[owner][lastName]=x": `owner>and(age >[40], lastName =["x"])`,
		"filters[owner]=1":           `owner>id =[1]`,
		"filters[owner]":             `owner>id null`,
		"filters[owner][$null]=true": `owner>id null`,
		"filters[owner][$in][0]=1&filters[owner][$in][1]=x": `owner>id in[1]`,
		"filters[owner]=f00":                                             `owner>id in`,
		"filters[owner][$ne]=f00":                                        `owner>id notNull`,
		"filters[owner][$not]=1":                                         `owner>not(id =[1])`,
		"filters[owner][$not][firstName]=Ann":                            `owner>not(firstName =["Ann"])`,
		"filters[owner][$or][0][age]=1&filters[owner][$or][1]=7":         `owner>or(age =[1], id =[7])`,
		"filters[address][geo][lat][$lt]=0":                              `address>geo>lat <[0]`,
		"filters[address][id]=4":                                         `address>id =[4]`,
		"filters[cover][mime][$startsWith]=image/":                       `cover>mime startsWith["image/"]`,
		"filters[localizations][name]=x":                                 `localizations>name =["x"]`,
		"filters[categories][parent][restaurants][menu][dishes][name]=x": `categories>parent>restaurants>menu>dishes>name =["x"]`,

		// filters together with other parameters
		"filters[name]=x&_q=y&hasPublishedVersion=true": `and(name =["x"], search "y" in documentId,name,slug,summary,body,contact,tier, publication 5)`,
		"_q=4.5": `search "4.5" in documentId,name,slug,summary,body,contact,tier,id,seats,visits,rating,price`,
		"publicationFilter=modified&hasPublishedVersion=false": `publication 2`,
	} {
		l, err := newParser().List(typeOf(t, "restaurant"), parse(t, query), permission.FullAccess)
		if err != nil {
			t.Errorf("%s: %s", query, said(err))
		} else if got := filterText(l.Query.Filter); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// Every request in the list is refused. The errors are those of Strapi, or our own if Strapi has none.
func TestRefused(t *testing.T) {
	const at = `,"source":"query","param":`
	for _, tt := range []struct{ as, query, want string }{
		// keys of filters
		{"full", "filters[foo]=1", `Invalid key foo {"key":"foo","path":null` + at + `"filters"}`},
		{"full", "filters[owner][foo]=1", `Invalid key foo at owner {"key":"foo","path":"owner"` + at + `"filters"}`},
		{"full", "filters[id][foo]=1", `Invalid key foo {"key":"foo","path":null` + at + `"filters"}`},
		{"full", "filters[name][eq]=1", `Invalid key eq at name {"key":"eq","path":"name"` + at + `"filters"}`},
		{"full", "filters[name][$eq][$ne]=x", `Invalid key $ne at name {"key":"$ne","path":"name"` + at + `"filters"}`},
		{"full", "filters[name][$in][a]=x", `Invalid key a at name {"key":"a","path":"name"` + at + `"filters"}`},
		{"full", "filters[$eq]=x", `Invalid key $eq {"key":"$eq","path":null` + at + `"filters"}`},
		{"full", "filters[constructor]=1", `Invalid key constructor {"key":"constructor","path":null` + at +
			`"filters"}`},
		{"full", "filters[__proto__][a]=1", `Invalid key __proto__ {"key":"__proto__","path":null` + at + `"filters"}`},
		{"full", "filters[address][documentId]=1",
			`Invalid key documentId at address {"key":"documentId","path":"address"` + at + `"filters"}`},
		{"full", "filters[createdBy][id]=1", `Invalid key createdBy {"key":"createdBy","path":"createdBy"` + at +
			`"filters"}`},
		{"full", "filters[cover][folder]=1",
			`Invalid key folder at cover.folder {"key":"folder","path":"cover.folder"` + at + `"filters"}`},
		{"full", "filters[cover][related][id]=1",
			`Invalid key related at cover.related {"key":"related","path":"cover.related"` + at + `"filters"}`},
		{"full", "filters[owner][locale]=en",
			`Invalid key locale at owner.locale {"key":"locale","path":"owner.locale"` + at + `"filters"}`},
		{"public", "filters[owner][id]=1", `Invalid key owner {"key":"owner","path":"owner"` + at + `"filters"}`},
		{"public", "filters[related][owner][id]=1",
			`Invalid key owner at related.owner {"key":"owner","path":"related.owner"` + at + `"filters"}`},

		// the first of several invalid keys is reported
		{"full", "filters[hidden]=1&filters[foo]=1", `Invalid key foo {"key":"foo","path":null` + at + `"filters"}`},
		{"full", "filters[hidden]=1&filters[secret]=1", `Invalid key secret {"key":"secret","path":"secret"` + at +
			`"filters"}`},
		{"full", "filters[secret]=1&filters[dz]=1", `Invalid key dz {"key":"dz","path":"dz"` + at + `"filters"}`},
		{"full", "filters[secret][$foo]=1", `Invalid key $foo at secret {"key":"$foo","path":"secret"` + at +
			`"filters"}`},
		{"full", "fields=baz&sort=bar&filters[dz][x]=1", `Invalid key dz {"key":"dz","path":"dz"` + at + `"filters"}`},
		{"full", "filters[openedOn]=x&hasPublishedVersion=x",
			"Invalid value for 'hasPublishedVersion'. Expected boolean or 'true'/'false' string."},
		{"full", "pagination[page]=x&hasPublishedVersion=x",
			"convertStartQueryParams expected a positive integer got NaN"},
		{"full", "filters=x&sort=name:up", "Invalid order. order can only be one of asc|desc|ASC|DESC"},
		{"full", "filters=x&lookup=1", "Invalid params: 'lookup'"},
		{"full", "sort=hidden,secret,dz,foo", `Invalid key foo {"key":"foo","path":null` + at + `"sort"}`},
		{"full", "sort=owner,hidden", `Invalid key hidden {"key":"hidden","path":"hidden"` + at + `"sort"}`},
		{"full", "fields=secret,hidden,foo", `Invalid key foo {"key":"foo","path":null` + at + `"fields"}`},
		{"full", "fields=secret,hidden", `Invalid key hidden {"key":"hidden","path":"hidden"` + at + `"fields"}`},

		// values and shapes of filters
		{"full", "filters=", "The filters parameter must be an object or an array"},
		{"full", "filters[]=x", "Invalid filters parameter. Expected an array of objects"},
		{"full", "filters[$and]=x", "Invalid $and parameter. Expected an array of objects"},
		{"full", "filters[$or][name]=x", "Invalid $or parameter. Expected an array of objects"},
		{"full", "filters[$or][0]=x", "Invalid $or parameter. Expected an array of objects"},
		{"full", "filters[$not]=x", "Invalid $not parameter. Expected an object"},
		{"full", "filters[name][$between]=x", "Invalid $between parameter. Expected an array of two values"},
		{"full", "filters[name][$gt][0][0]=x", "Invalid value at name. Expected a single value"},
		{"full", "filters[name][$startsWith][0][0]=x", "Invalid value at name. Expected a single value"},
		{"full", "filters[seats][$gt][]=5&filters[seats][$gt][]=abc", "Invalid value at seats. Expected a number"},
		{"full", "filters[name][$in][0][0]=x", "Invalid value at name. Expected a single value"},
		{"full", "filters[name][$null][]=true", "Invalid $null parameter. Expected a boolean"},
		{"full", "filters[seats]=abc", "Invalid value at seats. Expected a number"},
		{"full", "filters[seats]=", "Invalid value at seats. Expected a number"},
		{"full", "filters[seats][$in][]=1&filters[seats][$in][]=Infinity", "Invalid value at seats. Expected a number"},
		{"full", "filters[menu][dishes][price]=x", "Invalid value at menu.dishes.price. Expected a number"},
		{"full", "filters[visits]=1.5", "Invalid value at visits. Expected an integer"},
		{"full", "filters[openedOn][$not][$gt]=2021-02-30", "Invalid date"},
		{"full", "_q[]=x", "Invalid _q parameter. Expected a string"},

		// sort
		{"full", "sort[owner]=asc", `Invalid key asc at owner {"key":"asc","path":"owner"` + at + `"sort"}`},
		{"full", "sort=owner:asc", `Invalid key asc at owner {"key":"asc","path":"owner"` + at + `"sort"}`},
		{"full", "sort=menu.dishes:desc", `Invalid key desc at menu.dishes {"key":"desc","path":"menu.dishes"` + at +
			`"sort"}`},
		{"full", "sort=owner.", `Invalid key owner {"key":"owner","path":"owner"` + at + `"sort"}`},
		{"full", "sort=address.geo", `Invalid key geo at address.geo {"key":"geo","path":"address.geo"` + at +
			`"sort"}`},
		{"full", "sort=name.foo", `Invalid key foo at name {"key":"foo","path":"name"` + at + `"sort"}`},
		{"full", "sort=dz.body", `Invalid key dz {"key":"dz","path":"dz"` + at + `"sort"}`},
		{"full", "sort=constructor", `Invalid key constructor {"key":"constructor","path":null` + at + `"sort"}`},
		{"full", "sort=name:", "Invalid order. order can only be one of asc|desc|ASC|DESC"},
		{"full", "sort=owner.firstName:bad", "Invalid order. order can only be one of asc|desc|ASC|DESC"},
		{"full", "sort[name][]=desc", "Invalid order. order can only be one of asc|desc|ASC|DESC"},
		{"full", "sort[name][asc]=1", "Invalid order. order can only be one of asc|desc|ASC|DESC"},
		{"full", "sort[0][0]=name", "Invalid sort query"},
		{"full", "sort=" + strings.Repeat("related.", 21) + "name", "Too deep a sort: at most 20 levels are allowed"},
		{"full", branches("filters[$or]", 15), "Too many relations to follow in filters: at most 100 are allowed"},
		{"full", branches("filters[$or]", 8) + "&" + branches("populate[related][filters][$and]", 8),
			"Too many relations to follow in filters: at most 100 are allowed"},
		{"public", "sort=owner.firstName", `Invalid key owner {"key":"owner","path":"owner"` + at + `"sort"}`},
		{"public", "sort=owner", `Invalid key owner {"key":"owner","path":"owner"` + at + `"sort"}`},

		// fields
		{"full", "fields=", `Invalid key  {"key":"","path":null` + at + `"fields"}`},
		{"full", "fields=*,foo", `Invalid key foo {"key":"foo","path":null` + at + `"fields"}`},
		{"full", "fields=createdBy", `Invalid key createdBy {"key":"createdBy","path":"createdBy"` + at + `"fields"}`},
		{"full", "fields[0]=name,seats", "Invalid fields parameter. Expected a string or an array of strings"},
		{"full", "fields=constructor", `Invalid key constructor {"key":"constructor","path":null` + at + `"fields"}`},

		// locale
		{"full", "locale[a]=fr", "Invalid locale param [object Object] provided. Document locales must be strings."},
	} {
		_, err := newParser().List(typeOf(t, "restaurant"), parse(t, tt.query), callers[tt.as])
		if err == nil {
			t.Errorf("%s: not refused", tt.query)
		} else if got := said(err); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.query, got, tt.want)
		}
	}
}

func TestSort(t *testing.T) {
	for query, want := range map[string]string{
		"sort=name":                                         "name",
		"sort=seats:desc , ,name:ASC,":                      "seats:desc,name",
		"sort[0]=seats:desc&sort[1]=name":                   "seats:desc,name",
		"sort[seats]=desc&sort[name]=":                      "seats:desc,name",
		"sort[0][seats]=DESC&sort[1]=name&sort[2]":          "seats:desc,name",
		"sort[owner][age]=desc&sort=id":                     "id,owner.age:desc",
		"sort=owner..firstName:desc:asc":                    "owner.firstName:desc",
		"sort=menu.dishes.price,address.geo.lat:desc":       "menu.dishes.price,address.geo.lat:desc",
		"sort=name,name:desc,localizations.name:%20desc%20": "name,localizations.name:desc",
		"sort=": "", "sort": "", "sort=:desc": "",
	} {
		l, err := newParser().List(typeOf(t, "restaurant"), parse(t, query), permission.FullAccess)
		if err != nil {
			t.Errorf("%s: %s", query, said(err))
		} else if got := sortText(l.Query.Sort); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

func TestPaging(t *testing.T) {
	type paging struct {
		byOffset                 bool
		page, size, start, limit int
	}
	const greatest = min(1<<53-1, math.MaxInt) // of a 32-bit system, too
	for query, want := range map[string]paging{
		"":                 {false, 1, 25, 0, 25},
		"pagination=2":     {false, 1, 25, 0, 25},
		"pagination[page]": {false, 1, 25, 0, 25},
		"pagination[page]=3&pagination[pageSize]=2": {false, 3, 2, 4, 2},
		"pagination[page]=-3":                       {false, 1, 25, 0, 25},
		"pagination[page]=&pagination[foo]=1":       {false, 1, 25, 0, 25},
		"pagination[page]=1e1":                      {false, 10, 25, 225, 25},
		"pagination[page]=99999999999999999999":     {false, greatest, 25, greatest, 25},
		"pagination[pageSize]=0":                    {false, 1, 1, 0, 1},
		"pagination[pageSize]=abc":                  {false, 1, 100, 0, 100},
		"pagination[pageSize]=Infinity":             {false, 1, 100, 0, 100},
		"pagination[start]=3":                       {true, 1, 25, 3, 25},
		"pagination[start]=-1&pagination[limit]=2":  {true, 1, 2, 0, 2},
		"pagination[limit]=0.5":                     {true, 1, 1, 0, 1},
		"pagination[limit]=101":                     {true, 1, 100, 0, 100},
		"pagination[page]&pagination[limit]=1":      {true, 1, 1, 0, 1},
	} {
		l, err := newParser().List(typeOf(t, "restaurant"), parse(t, query), permission.FullAccess)
		if err != nil {
			t.Errorf("%s: %s", query, said(err))
			continue
		}
		g := l.Paging
		if got := (paging{g.ByOffset, g.Page, g.PageSize, g.Start, g.Limit}); got != want || !g.WithCount {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
		if l.Query.Offset != g.Start || l.Query.Limit != g.Limit || !l.Query.Count {
			t.Errorf("%s: the query is for %d at %d", query, l.Query.Limit, l.Query.Offset)
		}
	}
}

func TestVersions(t *testing.T) {
	list := func(q store.Query) string {
		s := []string{"published", "draft"}[q.Status] + " " + strings.Join(q.Locales.Codes, ",")
		if q.Locales.All {
			s += "all"
		}
		return s + " " + filterText(q.Filter)
	}
	for query, want := range map[string]string{
		"":                         "published en ",
		"status=published&locale=": "published en ",
		"status=junk&locale=fr":    "draft fr ",
		"status":                   "draft en ",
		"status[]=published":       "draft en ",
		"locale=*":                 "published all ",
		"locale[]=fr&locale[]=de":  "published fr,de ",
		"locale[]=*":               "published * ",
		"locale=fr&filters[locale]=it&filters[name]=x":                 `published it name =["x"]`,
		"locale=*&filters[locale][$in][]=fr&filters[locale][$in][]=de": `published fr,de `,
		"filters[locale][$contains]=f":                                 `published all locale contains["f"]`,
		"filters[locale]":                                              `published all locale null`,
		"filters[$and][0][locale]=fr":                                  `published en locale =["fr"]`,
		"filters[$not][locale]=fr":                                     `published en not(locale =["fr"])`,
	} {
		l, err := newParser().List(typeOf(t, "restaurant"), parse(t, query), permission.FullAccess)
		if err != nil {
			t.Errorf("%s: %s", query, said(err))
		} else if got := list(l.Query); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}

	one := func(uid, query string) string {
		o, err := newParser().One(typeOf(t, uid), parse(t, query), permission.FullAccess)
		if err != nil {
			return said(err)
		}
		return list(o.Query)[len("published "):]
	}
	for query, want := range map[string]string{
		"":                          "en ",
		"locale=*":                  "* ",
		"filters[locale]=fr":        "fr ",
		"locale[]=fr":               "Invalid locale param fr provided. Document locales must be strings.",
		"filters[name]=x&_q=":       `en name =["x"]`,
		"pagination[page]=x&page=1": "en ",

		"locale=de&filters[locale][$in][]=fr&filters[locale][$in][]=it": "fr,it ",
		"locale=*&filters[locale][$containsi]=e":                        `all locale containsi["e"]`,
		"locale[]=fr&filters[locale]=fr":                                "Invalid locale param fr provided. Document locales must be strings.",
	} {
		if got := one("restaurant", query); got != want {
			t.Errorf("one %s: got %q, want %q", query, got, want)
		}
	}
	if got := one("review", "locale=*"); got != " " {
		t.Errorf("one review: %q", got)
	}
}

func TestWriteAndDelete(t *testing.T) {
	write := func(uid, query string) string {
		w, err := newParser().Write(typeOf(t, uid), parse(t, query), permission.FullAccess)
		if err != nil {
			return said(err)
		}
		return []string{"published", "draft"}[w.Status] + " " + w.Locale + " " + selectionText(w.Selection)
	}
	for query, want := range map[string]string{
		"": "published en -",
		"foo=1&page=2&pagination[page]=x&filters=x&sort=name:up&hasPublishedVersion=x&filters[openedOn]=x&_q[]=": "published en -",
		"status=draft&locale=xx&fields=name": "draft xx id,documentId,name",
		"locale=*":                           "Invalid locale param * provided. Document locales must be strings.",
		"locale[]=fr&locale[]=de":            "Invalid locale param fr,de provided. Document locales must be strings.",
		"locale=*&populate=nope":             `Invalid key nope {"key":"nope","path":"nope","source":"query","param":"populate"}`,
		"filters[foo]=1":                     `Invalid key foo {"key":"foo","path":null,"source":"query","param":"filters"}`,
	} {
		if got := write("restaurant", query); got != want {
			t.Errorf("write %s: got %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"locale=*": "published  -", "status=draft": "draft  -", "status=nope": "published  -",
		"status[]=draft": "published  -",
	} {
		if got := write("review", query); got != want {
			t.Errorf("a type without locales and drafts, %s: got %q, want %q", query, got, want)
		}
	}

	for query, want := range map[string]string{
		"": "en", "locale=": "en", "locale=fr": "fr", "locale=*": "*", "locale[]=fr&locale[]=de": "fr de",
		"status=draft": "en",
		"locale[a]=fr": "Invalid locale param [object Object] provided. Document locales must be strings.",
	} {
		codes, err := newParser().DeleteEach(typeOf(t, "restaurant"), parse(t, query))
		got := strings.Join(codes, " ")
		if err != nil {
			got = said(err)
		}
		if got != want {
			t.Errorf("delete %s: got %q, want %q", query, got, want)
		}
	}
}

func TestPlainList(t *testing.T) {
	for query, want := range map[string][2]int{
		"": {0, -1}, "start=1&limit=2": {1, 2}, "limit=-1&page=7": {0, -1}, "limit=0&pagination[page]=x": {0, -1},
	} {
		l, err := newParser().PlainList(typeOf(t, "plugin::upload.file"), parse(t, query), permission.FullAccess)
		if err != nil {
			t.Errorf("%s: %s", query, said(err))
		} else if got := [2]int{l.Query.Offset, l.Query.Limit}; got != want {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	_, err := newParser().PlainList(typeOf(t, "plugin::upload.file"), parse(t, "limit=x"), permission.FullAccess)
	if got, want := said(err), "convertLimitQueryParams expected a positive integer got NaN"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// branches returns sibling filters, each of which follows 14 relations.
func branches(under string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s[%d]%s[name]=x", under, i, strings.Repeat("[related]", 14)))
	}
	return strings.Join(all, "&")
}
