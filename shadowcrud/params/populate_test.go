package params_test

import (
	"strings"
	"testing"
)

func TestPopulate(t *testing.T) {
	const everything = `- cover{-} gallery{-} categories{-} owner{-} menu{-} reviews{-} related{-} closingPeriods{-} address{-} ` +
		`dz[default.closingperiod{-} blocks.rich-text{-} blocks.slider{-}] localizations{-}`
	for _, tt := range []struct{ as, query, want string }{
		{"full", "", "-"},
		{"full", "populate=", "-"},
		{"full", "populate", "-"},
		{"full", "populate=,", "-"},
		{"full", "populate=*", everything},
		{"full", "fields=name,id,name&populate=owner", "id,documentId,name owner{-}"},
		{"full", "fields[]", "id,documentId"},
		{"full", "fields[0]&fields[1]=name&populate[owner][fields][]", "id,documentId,name owner{id,documentId}"},
		{"full", "populate=owner, menu,owner.", "- owner{-} menu{-}"},
		{"full", "populate[0]=owner&populate[5]=menu.dishes", "- owner{-} menu{- dishes{-}}"},
		{"full", "populate=owner.avatar,menu.dishes.categories,owner.restaurants,menu",
			"- owner{- avatar{-} restaurants{-}} menu{- dishes{- categories{-}}}"},
		{"full", "populate[owner]=true&populate[menu]=0&populate[reviews]=t", "- owner{-} reviews{-}"},
		{"full", "populate[0]=owner&populate[owner][fields]=age", "- owner{id,documentId,age}"},
		{"full", "populate[0]=owner&populate[1]=nope&populate[menu]=true", "- menu{-}"},
		{"full", "populate[]=owner&populate[menu]=true", "- menu{-}"},
		{"full", "populate[true]=nope&populate[menu]=true", "- menu{-}"},
		{"full", "populate[owner][populate][0]=nope&populate[owner][populate][avatar]=true", "- owner{- avatar{-}}"},
		{"full", "populate[dz][on][blocks.slider][populate][1]=x&populate[dz][on][blocks.slider][populate][files]=true",
			"- dz[blocks.slider{- files{-}}]"},
		{"full", "populate[owner][populate]=*", "- owner{- restaurants{-} avatar{-}}"},
		{"full", "populate[owner][populate]=avatar,restaurants.menu", "- owner{- avatar{-} restaurants{- menu{-}}}"},
		{"full", "populate[owner][populate][restaurants][populate]=menu&populate[owner][fields]=age",
			"- owner{id,documentId,age restaurants{- menu{-}}}"},
		{"full", "populate[owner][fields][0]=age&populate[owner][populate][avatar]=1",
			"- owner{id,documentId,age avatar{-}}"},
		{"full", "populate[address][fields]=city&populate[address][populate]=geo", "- address{id,city geo{-}}"},
		{"full", "populate[categories][count]=true&populate[owner][count]=0&populate[gallery][count]=1",
			"- categories#{-} owner{-} gallery{-}"},
		{"full", "populate[localizations][count]=true", "- localizations#{-}"},
		{"full", "populate[reviews][sort]=stars:desc&populate[reviews][filters][stars][$gt]=3",
			"- reviews<stars >[3]|stars:desc>{-}"},
		{"full", "populate[categories][filters][parent][name]=x&populate[owner][filters]=&populate[menu][sort]=",
			`- categories<parent>name =["x"]|>{-} owner{-} menu{-}`},
		{"full", "populate[closingPeriods][filters][label]=x", `- closingPeriods<label =["x"]|>{-}`},
		{"full", "populate[address][populate][geo]=*", "- address{- geo{-}}"},

		// zones
		{"full", "populate=dz", "- dz[default.closingperiod{-} blocks.rich-text{-} blocks.slider{-}]"},
		{"full", "populate[dz][count]=true", "- dz[default.closingperiod{-} blocks.rich-text{-} blocks.slider{-}]"},
		{"full", "populate[dz][populate]=*",
			"- dz[default.closingperiod{- media{-}} blocks.rich-text{-} blocks.slider{- files{-}}]"},
		{"full", "populate=dz.files", "- dz[default.closingperiod{-} blocks.rich-text{-} blocks.slider{- files{-}}]"},
		{"full", "populate[dz][on][blocks.slider][populate][files][fields]=name&populate[dz][on][blocks.rich-text]=1",
			"- dz[blocks.slider{- files{id,documentId,name}} blocks.rich-text{-}]"},
		{"full", "populate[dz][on][default.address]=true", "- dz[]"},
		{"full", "populate[dz][on]=", "- dz[]"},
		{"full", "populate[dz][on][blocks.slider]=false&populate[dz][on][blocks.rich-text]=*",
			"- dz[blocks.rich-text{-}]"},

		// files
		{"full", "populate[cover][populate]=*", "- cover+related{-}"},
		{"full", "populate[cover][populate]=related", "- cover+related{-}"},
		{"full", "populate=cover.related", "- cover+related{-}"},
		{"full", "populate[cover][populate][related]=false", "- cover{-}"},
		{"full", "populate[dz][on][blocks.slider][populate][files][populate]=*",
			"- dz[blocks.slider{- files+related{-}}]"},
		{"full", "populate[dz][on][blocks.slider][filters][caption]=x&populate[dz][on][blocks.slider][sort]=caption",
			`- dz[blocks.slider<caption =["x"]>{-}]`},

		// relations that the caller may not find
		{"public", "populate=owner", "-"},
		{"public", "populate[owner]=*", "-"},
		{"public", "populate[owner][0]=*", "-"},
		{"public", "populate[owner][populate][restaurants]=*", "-"},
		{"public", "populate=owner.avatar,categories.parent", "- categories{- parent{-}}"},
		{"public", "populate=reviews.restaurant.menu", "-"},
		{"public", "populate=reviews,reviews.restaurant.menu", "- reviews{-}"},
		{"public", "populate[reviews][populate]=restaurant.menu", "- reviews{-}"},
		{"public", "populate[owner][populate]=*&populate[owner][filters][firstName]=x", "-"},
		{"public", "populate[owner][count]=true", "-"},
		{"public", "populate=*", strings.NewReplacer(" owner{-}", "", " menu{-}", "").Replace(everything)},
		{"public", "populate[related][populate]=*", "- related{" + strings.NewReplacer(" owner{-}", "", " menu{-}",
			"").Replace(everything) + "}"},
	} {
		o, err := newParser().One(typeOf(t, "restaurant"), parse(t, tt.query), callers[tt.as])
		if err != nil {
			t.Errorf("%s: %s", tt.query, said(err))
		} else if got := selectionText(o.Selection); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.as, tt.query, got, tt.want)
		}
	}
}

func TestPopulateRefused(t *testing.T) {
	key := func(name, path string) string {
		out := "Invalid key " + name
		if path != name {
			out += " at " + path
		}
		return out + ` {"key":"` + name + `","path":"` + path + `","source":"query","param":"populate"}`
	}
	top := func(name string) string {
		return "Invalid key " + name + ` {"key":"` + name + `","path":null,"source":"query","param":"populate"}`
	}
	const shape = "Invalid populate parameter. Expected a string, an array of strings, a populate object"
	for _, tt := range []struct{ as, query, want string }{
		{"full", "populate=nope,name", key("nope", "nope")},
		{"full", "populate=name.foo", key("name", "name")},
		{"full", "populate=true", key("true", "true")},
		{"full", "populate=a,*", key("a", "a")},
		{"full", "populate[0]=*", key("*", "*")},
		{"full", "populate=createdBy", key("createdBy", "createdBy")},
		{"full", "populate=owner.createdBy", key("createdBy", "owner.createdBy")},
		{"full", "populate=owner.localizations", key("localizations", "owner.localizations")},
		{"full", "populate=createdBy,nope", key("nope", "nope")},
		{"full", "populate=menu.dishes.nope", key("nope", "menu.dishes.nope")},
		{"full", "populate=dz.nope", key("nope", "dz.nope")},
		{"full", "populate[nope]=true", top("nope")},
		{"full", "populate[id]=true", top("id")},
		{"full", "populate[2]=owner&populate[menu]=true", top("2")},
		{"full", "populate[0]=owner&populate[nope]=true", top("nope")},
		{"full", "populate[name]=true&populate[nope]=true", key("name", "name")},
		{"full", "populate[owner][populate][nope]=1", key("nope", "owner")},
		{"full", "populate[owner][populate][firstName]=1", key("firstName", "owner.populate.firstName")},
		{"full", "populate[owner][populate][restaurants][populate][name]=1",
			key("name", "owner.populate.restaurants.populate.name")},
		{"full", "populate[owner][populate]=restaurants.nope", key("nope", "restaurants.nope")},
		{"full", "populate[owner][populate]=createdBy", key("createdBy", "owner.createdBy")},
		{"full", "populate[owner][populate]=", key("", "owner")},
		{"full", "populate[owner][firstName]=1", key("firstName", "owner.firstName")},
		{"full", "populate[owner][limit]=1", key("limit", "owner")},
		{"full", "populate[owner]=yes", key("yes", "owner")},
		{"full", "populate[owner]=", key("", "owner")},
		{"full", "populate[owner][]=avatar", key("avatar", "owner.avatar")},
		{"full", "populate[owner]=*",
			`Invalid key restaurants at owner.restaurants {"key":"restaurants","path":"owner.restaurants"}`},
		{"full", "populate[owner][count]=yes", key("count", "owner")},
		{"full", "populate[owner][fields]=", top("")},
		{"full", "populate[owner][fields]=restaurants", key("restaurants", "restaurants")},
		{"full", "populate[owner][sort]=bar&populate[owner][filters][foo]=1", top("bar")},
		{"full", "populate[owner][filters][restaurants][hidden]=x", key("hidden", "restaurants.hidden")},
		{"public", "populate[categories][filters][restaurants][owner][id]=1", key("owner", "restaurants.owner")},
		{"full", "populate[owner][on][x.y]=true", key("x.y", "owner.on.x.y")},
		{"full", "populate[owner][on]=x", key("on", "owner.on")},
		{"full", "populate[dz][on][blocks.slider][populate][caption]=1",
			key("caption", "dz.on[blocks.slider].populate.caption")},
		{"full", "populate[dz][on][blocks.slider][nope]=1", key("nope", "dz")},
		{"full", "populate[dz][on][]=blocks.slider", key("0", "dz.on.0")},
		{"full", "populate[dz][populate]=true", key("populate", "dz")},

		{"full", "populate=owner&populate[menu]=true", shape},
		{"full", "populate[]", shape},
		{"full", "populate[owner]", shape},
		{"full", "populate[owner][filters]=x", "The filters parameter must be an object or an array"},
		{"full", "populate[owner][filters][age]=x", "Invalid value at age. Expected a number"},
		{"full", "populate[owner][sort]=age:up", "Invalid order. order can only be one of asc|desc|ASC|DESC"},
		{"full", "populate[owner][fields][a]=b", "Invalid fields parameter. Expected a string or an array of strings"},
		{"full", "populate[owner][on][api::person.person]=true",
			`Using fragments is not permitted to populate "owner" in "api::restaurant.restaurant"`},
		{"full", "populate[dz][on][blocks.slider]", "Invalid nested populate. Expected '*' or an object"},
		{"full", "populate[dz][sort]=body",
			`Invalid nested populate for restaurant.dz (api::restaurant.restaurant). Expected a fragment ("on") or "count" but found {"sort":"body"}`},
		{"full", "populate[dz]=x",
			`Invalid nested populate for restaurant.dz (api::restaurant.restaurant). Expected a fragment ("on") or "count" but found "x"`},
		{"full", "populate=" + strings.Repeat("related.", 21), "Too deep a populate: at most 20 levels are allowed"},
		{"full", "populate=" + tooMany(), "Too many attributes to populate: at most 1000 are allowed"},
	} {
		_, err := newParser().List(typeOf(t, "restaurant"), parse(t, tt.query), callers[tt.as])
		if err == nil {
			t.Errorf("%s: not refused", tt.query)
		} else if got := said(err); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.query, got, tt.want)
		}
	}
}

// tooMany returns a query that names more attributes than may be populated. It names none twice and none too deep.
func tooMany() string {
	var names []string
	for i := range 1 << 10 {
		name := "categories"
		for bit := range 10 {
			name += []string{".parent", ".children"}[i>>bit&1]
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// A populate in one request must not change the default selection of a type for other requests.
func TestSelectionsAreNotShared(t *testing.T) {
	p := newParser()
	typ := typeOf(t, "restaurant")
	for _, query := range []string{
		"populate=*", "populate=owner.avatar,dz.files,cover.related", "populate[dz][populate]=*",
		"populate[owner][populate]=avatar",
		"populate[dz][on][blocks.slider][populate]=*", "populate[related][populate]=*",
		"fields=name&populate[owner][fields]=age",
	} {
		if _, err := p.List(typ, parse(t, query), callers["full"]); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []string{"", "populate=*", "populate=dz", "populate[related][populate]=*"} {
		a, err := p.List(typ, parse(t, query), callers["full"])
		if err != nil {
			t.Fatal(err)
		}
		b, err := newParser().List(typ, parse(t, query), callers["full"])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := selectionText(a.Selection), selectionText(b.Selection); got != want {
			t.Errorf("%s\n now %s\n was %s", query, got, want)
		}
	}
}
