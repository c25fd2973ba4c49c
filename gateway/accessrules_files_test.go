package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
)

// galleryFiles are a project in which visitors see pictures and files by rules.
var galleryFiles = map[string]string{
	"content-types/picture.yaml": `
kind: collectionType
info: {singularName: picture, pluralName: pictures, displayName: Picture}
attributes:
  title: {type: string}
  open: {type: boolean}
  scan: {type: media}
  more: {type: media, multiple: true}
`,
	"config/plugins.yaml": museumFiles["config/plugins.yaml"],
	"config/permissions.yaml": `
roles:
  public:
    api::picture.picture: {find: {where: {open: true}}, findOne: true}
    plugin::upload.content-api: {find: true, findOne: true}
tokens:
  - name: approved
    type: custom
    permissions:
      api::picture.picture: [find, findOne]
      plugin::upload.content-api: {find: {where: {caption: approved}}, findOne: true}
`,
}

// TestRulesOfFiles reads files, what uses them, and what shows them: as the public, who see open pictures only, and as
// one who sees approved files only.
func TestRulesOfFiles(t *testing.T) {
	ready, _ := run(t, writeProject(t, galleryFiles), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	file := func(name, caption string) (id int, path string) {
		r, _ := a.upload("full", formWith(name, "text of "+name, "fileInfo", fmt.Sprintf(`{"caption":%q}`, caption)))
		if r.status != 201 {
			t.Fatal(r.text)
		}
		n, _ := r.body.([]any)[0].(object)["id"].(float64)
		return int(n), fmt.Sprint("/api/upload/files/", n)
	}
	seen, seenPath := file("seen.txt", "approved")
	veiled, veiledPath := file("veiled.txt", "waits")
	picture := func(title string, open bool) {
		a.want(201, "POST", "/api/pictures", "full",
			object{"data": object{"title": title, "open": open, "scan": veiled, "more": []int{seen, veiled}}})
	}
	picture("Open", true)
	picture("SHUT", false)

	// Which pictures use a file: the open ones.
	for _, path := range []string{seenPath + "?populate=related", "/api/upload/files?populate=related",
		"/api/upload/files?populate[related][populate]=scan"} {
		if all := a.want(200, "GET", path, "full", nil).text; !strings.Contains(all, "SHUT") {
			t.Errorf("%s: a full access does not see all: %s", path, all)
		}
		if text := a.want(200, "GET", path, "", nil).text; strings.Contains(text, "SHUT") || !strings.Contains(text, "Open") {
			t.Errorf("%s: %s", path, text)
		}
	}
	for query, want := range map[string]string{
		`{uploadFiles(sort: "name"){name related{... on Picture{title}}}}`: `{"data":{"uploadFiles":[` +
			`{"name":"seen.txt","related":[{"title":"Open"}]},` +
			`{"name":"veiled.txt","related":[{"title":"Open"},{"title":"Open"}]}]}}`,
	} {
		if text := strings.TrimSpace(a.graphql("", query).text); text != want {
			t.Errorf("%s\n got %s\nwant %s", query, text, want)
		}
	}

	// Which files a picture shows: the approved ones. The others are as if nothing linked to them.
	for _, c := range []struct {
		path string
		has  []string
	}{
		{"pictures?populate=*&filters[title]=Open", []string{`"scan":null`, `"name":"seen.txt"`}},
		{"pictures?filters[scan][name]=veiled.txt", []string{`"total":0`}},
		{"pictures?filters[more][name]=seen.txt", []string{`"total":2`}},
		{"pictures?filters[scan][id][$null]=true", []string{`"total":2`}},
		{"upload/files", []string{`"name":"seen.txt"`}},
		{"upload/files?filters[name][$contains]=veil", []string{"[]"}},
	} {
		text := a.want(200, "GET", "/api/"+c.path, "approved", nil).text
		if strings.Contains(text, "veiled") || slices.ContainsFunc(c.has, func(s string) bool { return !strings.Contains(text, s) }) {
			t.Errorf("%s: %s", c.path, text)
		}
	}
	hidden := a.do("GET", veiledPath, "approved", nil)
	if missing := a.do("GET", "/api/upload/files/9999", "approved", nil); hidden.status != 404 || hidden.text != missing.text {
		t.Errorf("a hidden file: %d %s, one that there is not: %s", hidden.status, hidden.text, missing.text)
	}
	a.want(200, "GET", seenPath, "approved", nil)
	want := `{"data":{"pictures":[{"scan":null,"more":[{"name":"seen.txt"}]}]}}`
	r := a.graphql("approved", `{pictures(filters: {title: {eq: "Open"}}){scan{name} more{name}}}`)
	if text := strings.TrimSpace(r.text); text != want {
		t.Errorf("GraphQL: %s\nwant %s", text, want)
	}
}
