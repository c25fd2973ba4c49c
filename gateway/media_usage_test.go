package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/store"
)

// exhibition has types that use files themselves, in components and in components within those.
var exhibition = map[string]string{
	"components/part/image.yaml": "info: {displayName: Image}\nattributes: {file: {type: media}, text: {type: string}}\n",
	"components/part/row.yaml": "info: {displayName: Row}\n" +
		"attributes: {images: {type: component, component: part.image, repeatable: true}}\n",
	"content-types/picture.yaml": `
kind: collectionType
info: {singularName: picture, pluralName: pictures, displayName: Picture}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  open: {type: boolean}
  scan: {type: media}
  secret: {type: media, private: true}
  more: {type: media, multiple: true}
  body: {type: dynamiczone, components: [part.image, part.row]}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes: {name: {type: string}, files: {type: media, multiple: true}}
`,
	"config/plugins.yaml": museumFiles["config/plugins.yaml"],
	"config/api.yaml":     "drafts: granted\n",
	"config/permissions.yaml": `
tokens:
  - name: editor
    type: custom
    permissions:
      api::picture.picture: [find, findOne, findDrafts]
      plugin::upload.content-api: [find, findOne, findUsage]
  - name: visitor
    type: custom
    permissions:
      api::picture.picture: {find: {where: {open: true}}, findOne: true}
      plugin::upload.content-api: {find: {where: {caption: {$ne: veiled}}}, findOne: true, findUsage: true}
  - name: reader
    type: custom
    permissions: {"plugin::upload.content-api": [find, findOne]}
  - {name: looker, type: read-only}
`,
}

// stored uploads a file and returns its id.
func (a *api) stored(name, caption string) int {
	a.t.Helper()
	r, _ := a.upload("full", formWith(name, "text of "+name, "fileInfo", fmt.Sprintf(`{"caption":%q}`, caption)))
	if r.status != 201 {
		a.t.Fatal(r.text)
	}
	id, _ := r.body.([]any)[0].(object)["id"].(float64)
	return int(id)
}

// usage returns where somebody finds a file to be used, one document a line.
func (a *api) usage(id int, as, query string) string {
	a.t.Helper()
	var answer struct {
		Data []struct {
			ContentType, Title string
			Fields, Status     []string
		}
		Meta struct {
			Pagination struct{ Total int }
			Hidden     bool
		}
	}
	r := a.want(200, "GET", fmt.Sprintf("/api/upload/files/%d/usage%s", id, query), as, nil)
	if err := json.Unmarshal([]byte(r.text), &answer); err != nil {
		a.t.Fatal(err)
	}
	text := ""
	for _, use := range answer.Data {
		text += fmt.Sprintln(use.ContentType, use.Title, use.Fields, use.Status)
	}
	return text + fmt.Sprint(answer.Meta.Pagination.Total, " ", answer.Meta.Hidden)
}

// TestUsageOfFiles reads where files are used, as callers who may see all of it, some and none.
func TestUsageOfFiles(t *testing.T) {
	ready, _ := run(t, writeProject(t, exhibition), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	used, secret, veiled, unused := a.stored("used.txt", "x"), a.stored("secret.txt", "x"), a.stored("veiled.txt", "veiled"),
		a.stored("unused.txt", "x")
	inZone := func(id int) []object {
		return []object{{"__component": "part.row", "images": []object{{"text": "without"}, {"file": id}}}, {"__component": "part.image", "file": id}}
	}
	add := func(path string, data object) { a.want(201, "POST", "/api/"+path, "full", object{"data": data}) }
	add("pictures", object{"title": "Open", "open": true, "scan": used, "more": []int{used, veiled}, "body": inZone(used), "secret": secret})
	add("pictures?status=draft", object{"title": "Draft", "open": true, "scan": used})
	add("pictures", object{"title": "SHUT", "open": false, "body": inZone(used)})
	add("notes", object{"name": "Note", "files": []int{used}})

	const open = "api::picture.picture Open [scan more body.images.file body.file] "
	for _, c := range []struct {
		as, query string
		file      int
		want      string
	}{
		{"full", "", used, "api::note.note Note [files] [published]\n" + open + "[draft published]\n" +
			"api::picture.picture Draft [scan] [draft]\n" +
			"api::picture.picture SHUT [body.images.file body.file] [draft published]\n4 false"},
		{"looker", "?start=1&limit=1", used, open + "[draft published]\n4 false"},
		{"editor", "", used, open + "[draft published]\napi::picture.picture Draft [scan] [draft]\n" +
			"api::picture.picture SHUT [body.images.file body.file] [draft published]\n3 true"},
		{"visitor", "", used, open + "[published]\n1 true"},
		{"visitor", "", secret, "0 true"},
		{"full", "", veiled, "api::picture.picture Open [more] [draft published]\n1 false"},
		{"full", "", unused, "0 false"},
		{"visitor", "", unused, "0 false"},
	} {
		if got := a.usage(c.file, c.as, c.query); got != c.want {
			t.Errorf("%s%s of %d:\n%s\nwant\n%s", c.as, c.query, c.file, got, c.want)
		}
	}
	path := func(id int) string { return fmt.Sprintf("/api/upload/files/%d/usage", id) }
	a.want(403, "GET", path(used), "reader", nil)
	a.want(403, "GET", path(used), "", nil)
	a.want(404, "GET", path(veiled), "visitor", nil)
	a.want(404, "GET", path(999), "full", nil)
	a.want(404, "GET", "/api/upload/files/x/usage", "full", nil)

	names := func(as, query string) string {
		return a.want(200, "GET", "/api/upload/files?fields=name&sort=name&unused=true"+query, as, nil).text
	}
	for _, c := range [][3]string{{"visitor", "", "unused.txt"}, {"full", "", "unused.txt"}, {"full", "&filters[name]=used.txt", ""}} {
		text := names(c[0], c[1])
		if strings.Count(text, `"name"`) != strings.Count(c[2], ".txt") || !strings.Contains(text, c[2]) {
			t.Errorf("unused%s as %s: %s", c[1], c[0], text)
		}
	}
	for query, want := range map[string]string{"": "4", "?unused=true": "1", "?filters[name][$contains]=used": "2"} {
		if text := a.want(200, "GET", "/api/upload/files/count"+query, "full", nil).text; strings.TrimSpace(text) != want {
			t.Errorf("count%s: %s, want %s", query, text, want)
		}
	}
	if text := a.want(200, "GET", "/api/upload/files/count", "visitor", nil).text; strings.TrimSpace(text) != "3" {
		t.Errorf("a visitor counts %s", text)
	}
	a.want(403, "GET", "/api/upload/files?unused=true", "reader", nil)
	a.want(400, "GET", "/api/upload/files?unused=maybe", "full", nil)
	a.want(403, "GET", "/api/upload/files/count", "", nil)
}

// TestUnusedFilesByTheirLinks expects that what unused files cost depends on how many files there are, and not on how
// many documents use them.
func TestUnusedFilesByTheirLinks(t *testing.T) {
	work := func(documents int) store.Stats {
		var project *gateway.Project
		ready, _ := run(t, writeProject(t, exhibition), gateway.Options{Ephemeral: true}, func(p *gateway.Project) { project = p })
		a := newAPI(t, ready)
		var files []int
		for i := range 10 {
			files = append(files, a.stored(fmt.Sprint(i, ".txt"), "x"))
		}
		for i := range documents {
			a.want(201, "POST", "/api/notes", "full", object{"data": object{"name": fmt.Sprint(i), "files": files[:5]}})
		}
		before := project.Store().Stats()
		text := a.want(200, "GET", "/api/upload/files?unused=true", "full", nil).text
		if n := strings.Count(text, `"documentId"`); n != 5 {
			t.Errorf("%d files are unused", n)
		}
		after := project.Store().Stats()
		return store.Stats{Rows: after.Rows - before.Rows, Links: after.Links - before.Links, Seeks: after.Seeks - before.Seeks}
	}
	few, many := work(1), work(60)
	if few != many || many.Rows > 20 {
		t.Errorf("with one document %+v, with many %+v", few, many)
	}
}
