package documents

import (
	"testing"
	"testing/fstest"

	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
)

var keysProject = fstest.MapFS{
	"content-types/place.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: place, pluralName: places, displayName: Place}
options: {draftAndPublish: true}
attributes:
  name: {type: string}
  hidden: {type: string, private: true}
  extra: {type: json}
  address: {type: component, component: parts.address}
  stops: {type: component, component: parts.address, repeatable: true}
  zone: {type: dynamiczone, components: [parts.address, parts.pin]}
  owner: {type: relation, relation: manyToOne, target: "api::owner.owner"}
  about: {type: relation, relation: morphToMany}
  cover: {type: media, multiple: false}
`)},
	"content-types/owner.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: owner, pluralName: owners, displayName: Owner}
options: {draftAndPublish: false}
attributes:
  firstName: {type: string}
  home: {type: component, component: parts.address}
`)},
	"components/parts/address.yaml": {Data: []byte(`
info: {displayName: Address}
attributes:
  city: {type: string}
  pin: {type: component, component: parts.pin}
  keeper: {type: relation, relation: oneToOne, target: "api::owner.owner"}
`)},
	"components/parts/pin.yaml": {Data: []byte(`
info: {displayName: Pin}
attributes:
  lat: {type: float}
`)},
}

func TestCheckKeys(t *testing.T) {
	place := storetest.Model(t, keysProject).Type("api::place.place")
	narrow := permission.NewAccess([]string{"api::place.place.create"})
	for _, c := range []struct {
		access *permission.Access
		data   string
		want   string // "" is fine
	}{
		{permission.FullAccess, `{"name":1,"hidden":2,"extra":{"nope":1,"id":1},"publishedAt":null,"locale":"zz"}`, ""},
		{permission.FullAccess, `{"nope":1,"documentId":"x","id":1}`, `Invalid key id {"key":"id","source":"body"}`},
		{permission.FullAccess, `{"nope":1,"documentId":null}`,
			`Invalid key documentId {"key":"documentId","source":"body"}`},
		{permission.FullAccess, `{"zeta":1,"alpha":2}`, `Invalid key zeta {"key":"zeta","path":null,"source":"body"}`},
		{permission.FullAccess, `{"Name":null}`, `Invalid key Name {"key":"Name","path":null,"source":"body"}`},
		{permission.FullAccess, `{"":1}`, `Invalid key  {"key":"","path":null,"source":"body"}`},
		{permission.FullAccess, `{"constructor":1}`,
			`Invalid key constructor {"key":"constructor","path":null,"source":"body"}`},
		{permission.FullAccess, `{"__component":"x"}`,
			`Invalid key __component {"key":"__component","path":null,"source":"body"}`},
		{permission.FullAccess, `{"createdAt":1,"nope":1}`,
			`Invalid key createdAt {"key":"createdAt","path":"createdAt","source":"body"}`},
		{permission.FullAccess, `{"updatedBy":null}`,
			`Invalid key updatedBy {"key":"updatedBy","path":"updatedBy","source":"body"}`},
		{permission.FullAccess, `{"localizations":[]}`,
			`Invalid key localizations {"key":"localizations","path":"localizations","source":"body"}`},

		{permission.FullAccess, `{"address":{"id":1,"documentId":"x","city":5,"pin":{"lat":1}}}`, ""},
		{permission.FullAccess, `{"address":{"nope":1},"zzz":1}`,
			`Invalid key nope at address {"key":"nope","path":"address","source":"body"}`},
		{permission.FullAccess, `{"zzz":1,"address":{"nope":1}}`,
			`Invalid key zzz {"key":"zzz","path":null,"source":"body"}`},
		{permission.FullAccess, `{"address":{"pin":{"nope":1},"other":1}}`,
			`Invalid key nope at address.pin {"key":"nope","path":"address.pin","source":"body"}`},
		{permission.FullAccess, `{"address":{"createdAt":1}}`,
			`Invalid key createdAt at address {"key":"createdAt","path":"address","source":"body"}`},
		{permission.FullAccess, `{"address":{"__component":"parts.address"}}`,
			`Invalid key __component at address {"key":"__component","path":"address","source":"body"}`},
		{permission.FullAccess, `{"address":[{"nope":1}]}`,
			`Invalid key nope at address {"key":"nope","path":"address","source":"body"}`},
		{permission.FullAccess, `{"stops":[5,null,{"city":"x"},{"nope":1}]}`,
			`Invalid key nope at stops {"key":"nope","path":"stops","source":"body"}`},
		{permission.FullAccess, `{"stops":[[{}]]}`,
			`Invalid key 0 at stops {"key":"0","path":"stops","source":"body"}`},
		{permission.FullAccess, `{"stops":[[]],"address":5}`, ""},

		{permission.FullAccess,
			`{"zone":[{"__component":"parts.pin","id":1,"lat":1},{"__component":"parts.address","city":"x"}]}`, ""},
		{permission.FullAccess, `{"zone":[{"__component":"parts.pin","city":1}]}`,
			`Invalid key city at zone {"key":"city","path":"zone","source":"body"}`},
		{permission.FullAccess, `{"zone":[{"pin":{"nope":1},"__component":"parts.address"}]}`,
			`Invalid key nope at zone.pin {"key":"nope","path":"zone.pin","source":"body"}`},
		{permission.FullAccess, `{"zone":[{"__component":"parts.address","pin":{"__component":"parts.pin"}}]}`,
			`Invalid key __component at zone.pin {"key":"__component","path":"zone.pin","source":"body"}`},
		{permission.FullAccess, `{"zone":[{"nope":1},{"__component":"x.y","nope":1},{"__component":5},"x",null]}`, ""},
		{permission.FullAccess, `{"zone":{"__component":"parts.pin","nope":1}}`, ""},

		{permission.FullAccess,
			`{"owner":{"id":1,"documentId":"x","connect":[{"nope":1}],"disconnect":1,"set":[[1]],"options":{}}}`, ""},
		{permission.FullAccess,
			`{"owner":[{"documentId":"x","firstName":"y","createdAt":1,"locale":"en","home":{"city":"z"}}]}`, ""},
		{permission.FullAccess, `{"owner":{"name":"x"}}`,
			`Invalid key name at owner {"key":"name","path":"owner","source":"body"}`},
		{permission.FullAccess, `{"owner":["x",{"attach":1}]}`,
			`Invalid key attach at owner {"key":"attach","path":"owner","source":"body"}`},
		{permission.FullAccess, `{"owner":{"home":{"nope":1}}}`,
			`Invalid key nope at owner.home {"key":"nope","path":"owner.home","source":"body"}`},
		{permission.FullAccess, `{"owner":{"__type":"x"}}`,
			`Invalid key __type at owner {"key":"__type","path":"owner","source":"body"}`},
		{permission.FullAccess, `{"owner":[["x"]]}`,
			`Invalid key 0 at owner {"key":"0","path":"owner","source":"body"}`},
		{permission.FullAccess, `{"address":{"keeper":{"attach":1}}}`,
			`Invalid key attach at address.keeper {"key":"attach","path":"address.keeper","source":"body"}`},
		{permission.FullAccess, `{"cover":{"id":1,"name":"a.png","url":"/a","mime":"image/png"}}`, ""},
		{permission.FullAccess, `{"cover":[{"id":1,"nope":1}]}`,
			`Invalid key nope at cover {"key":"nope","path":"cover","source":"body"}`},
		{permission.FullAccess, `{"about":[{"__type":"api::owner.owner","id":1}]}`, ""},

		{narrow, `{"cover":1,"about":null}`, ""},
		{narrow, `{"owner":null}`, `Invalid key owner {"key":"owner","path":"owner","source":"body"}`},
		{narrow, `{"owner":"x","createdAt":1}`,
			`Invalid key createdAt {"key":"createdAt","path":"createdAt","source":"body"}`},
		{narrow, `{"owner":"x","nope":1}`, `Invalid key nope {"key":"nope","path":null,"source":"body"}`},
		{narrow, `{"address":{"keeper":null}}`,
			`Invalid key keeper at address.keeper {"key":"keeper","path":"address.keeper","source":"body"}`},
		{narrow, `{"stops":[{"city":"x"},{"keeper":1}]}`,
			`Invalid key keeper at stops.keeper {"key":"keeper","path":"stops.keeper","source":"body"}`},
		{narrow, `{"zone":[{"__component":"parts.address","keeper":1}]}`,
			`Invalid key keeper at zone.keeper {"key":"keeper","path":"zone.keeper","source":"body"}`},
		{narrow, `{"about":{"connect":[{"__type":"api::place.place","id":1},{"__type":"api::owner.owner","id":1}]}}`,
			`Invalid key about {"key":"about","path":"about","source":"body"}`},
	} {
		err := checkKeys(place, parsed(t, c.data).(*jsontree.Object), c.access)
		got := ""
		if err != nil {
			got = err.Message + " " + printed(err.Details)
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.data, got, c.want)
		}
	}
}

func TestReadData(t *testing.T) {
	const missing = `Missing "data" payload in the request body`
	for in, want := range map[string]string{
		`{"data":{"a":1},"other":2}`: "",
		`{"data":{}}`:                "",
		`{"data":"x"}`:               missing,
		`{"data":null}`:              missing,
		`{"data":5}`:                 missing,
		`{"a":1}`:                    missing,
		`[{"data":{}}]`:              missing,
		`null`:                       missing,
		`{"data":[]}`:                "this must be a `object` type, but the final value was: `null` (cast from the value `[]`).",
		`{"data":[{"stars":1}]}`:     "this must be a `object` type, but the final value was: `null` (cast from the value `[\n  {\n    \"stars\": \"1\"\n  }\n]`).",
	} {
		data, err := ReadData(parsed(t, in))
		switch {
		case want == "" && (err != nil || data == nil):
			t.Errorf("%s: %v, %v", in, data, err)
		case want != "" && (err == nil || err.Message != want):
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// parsed parses the JSON of a test case.
func parsed(t *testing.T, text string) any {
	t.Helper()
	v, err := jsontree.Parse([]byte(text), jsontree.MaxDepth)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

// printed returns a value as JSON.
func printed(v any) string { return string(jsontree.Append(nil, v)) }
