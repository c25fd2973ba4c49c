package media_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names returns the names of the files in a value of an answer: a file, a list of files, or null.
func names(v any) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		return []string{v["name"].(string)}
	case []any:
		for _, x := range v {
			list = append(list, names(x)...)
		}
	}
	return list
}

// created creates an entry and returns its documentId and the id of its row.
func (s *server) created(path, body string) (documentID string, id int) {
	s.Helper()
	data := s.json("POST", path, body, 201)["data"].(map[string]any)
	return data["documentId"].(string), int(data["id"].(float64))
}

// TestUploadsAttachToEntries uploads files and links them from fields of entries.
func TestUploadsAttachToEntries(t *testing.T) {
	s := serve(t, "")
	one := file("new.txt", "text/plain", "x")
	to := func(ref string, id any, field_ string) []part {
		return []part{field("ref", ref), field("refId", fmt.Sprint(id)), field("field", field_)}
	}
	person, personRow := s.created("/api/people", `{"data":{"name":"P"}}`)
	deleted, deletedRow := s.created("/api/people", `{"data":{"name":"D"}}`)
	s.json("DELETE", "/api/people/"+deleted, "", 204)
	article, publishedRow := s.created("/api/articles", `{"data":{"title":"A"}}`)
	draftRow := int(s.json("GET", "/api/articles/"+article+"?status=draft", "",
		200)["data"].(map[string]any)["id"].(float64))

	shown := func(path string, keys ...string) []string {
		t.Helper()
		v := s.json("GET", path, "", 200)["data"]
		for _, key := range keys {
			v = v.(map[string]any)[key]
		}
		return names(v)
	}
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	avatar := "/api/people/" + person + "?populate=avatar"
	s.upload(append(to("api::person.person", personRow, "avatar"), file("one.txt", "", "x"))...)
	expect("a single one", shown(avatar, "avatar"), "one.txt")
	s.upload(append(to("api::person.person", personRow, "avatar"), file("two.txt", "", "x"),
		file("three.txt", "", "x"))...)
	expect("in its place", shown(avatar, "avatar"), "three.txt")

	gallery := "/api/articles/" + article + "?populate=gallery"
	s.upload(append(to("api::article.article", draftRow, "gallery"), file("1.txt", "", "x"), file("2.txt", "", "x"))...)
	s.upload(append(to("api::article.article", draftRow, "gallery"), file("3.txt", "", "x"))...)
	expect("the draft", shown(gallery+"&status=draft", "gallery"), "1.txt", "2.txt", "3.txt")
	expect("what is published", shown(gallery, "gallery"))
	s.upload(append(to("api::article.article", publishedRow, "gallery"), file("4.txt", "", "x"))...)
	expect("what is published", shown(gallery, "gallery"), "4.txt")
	expect("the draft as it was", shown(gallery+"&status=draft", "gallery"), "1.txt", "2.txt", "3.txt")

	before := len(s.allFiles())
	s.upload(append(to("api::person.person", "", "avatar"), one)...)
	s.upload(append(to("api::person.person", personRow, ""), one)...)
	s.upload(append(to("", personRow, "avatar"), one)...)
	if got := len(s.allFiles()); got != before+3 {
		t.Errorf("%d files, want %d", got, before+3)
	}
	expect("nothing changed", shown(avatar, "avatar"), "three.txt")
	for _, test := range []struct {
		parts  []part
		status int
		says   string
	}{
		{to("nope", 1, "avatar"), 400, "ref names no content-type"},
		{to("lectern::api-token", 1, "avatar"), 400, "ref names no content-type"},
		{to("parts.seo", 1, "image"), 400, "ref names no content-type"},
		{to("api::person.person", person, "avatar"), 400, "refId must be the numeric id"},
		{to("api::person.person", "1 OR 1=1", "avatar"), 400, "refId must be the numeric id"},
		{to("api::person.person", "-1", "avatar"), 400, "refId must be the numeric id"},
		{to("api::person.person", "18446744073709551616", "avatar"), 400, "refId must be the numeric id"},
		{to("api::person.person", 99999, "avatar"), 400, "refId names no entry of api::person.person: 99999"},
		{to("api::person.person", 0, "avatar"), 400, "refId names no entry of api::person.person: 0"},
		{to("api::person.person", deletedRow, "avatar"), 400, "refId names no entry"},
		{to("api::article.article", personRow+1000, "gallery"), 400, "refId names no entry of api::article.article"},
		{to("api::person.person", personRow, "nope"), 400, "field names no media attribute"},
		{to("api::person.person", personRow, "name"), 400, "field names no media attribute"},
		{to("api::article.article", draftRow, "secret"), 400, "field names no media attribute"},
		{to("api::closed.closed", 1, "picture"), 403, "Forbidden"},
		{to("plugin::users-permissions.user", 1, "role"), 403, "Forbidden"},
	} {
		a := s.post("", append(test.parts, one)...)
		if a.status != test.status || !strings.Contains(string(a.body), test.says) {
			t.Errorf("%s: %d %s", test.parts[0].data, a.status, a.body)
		}
	}
	if got := len(s.allFiles()); got != before+3 {
		t.Errorf("something was kept: %d files", got)
	}
	if files, spooled := listUploads(t, s.dir); len(files) != before+3 || len(spooled) > 0 {
		t.Errorf("something was kept on the disk: %q, %q", files, spooled)
	}
}

func (s *server) allFiles() (files []fileAnswer) {
	s.Helper()
	a := s.get("/api/upload/files")
	if err := json.Unmarshal(a.body, &files); err != nil {
		s.Fatalf("%v: %s", err, a.body)
	}
	return files
}

// TestDeletedFileIsShownNowhere deletes a file that is linked from drafts, published versions, components and dynamic
// zones. None of them shows it afterwards.
func TestDeletedFileIsShownNowhere(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("gone.png", "image/png", pngOf(picture(300, 200))), file("stays.txt", "text/plain", "x"))
	gone, stays := f[0], f[1]
	article, _ := s.created("/api/articles", fmt.Sprintf(`{"data":{"title":"A","cover":%[1]d,"gallery":[%[2]d,%[1]d],
		"seo":{"image":%[1]d,"images":[%[1]d,%[2]d]},"zone":[{"__component":"parts.seo","image":%[1]d}]}}`, gone.ID, stays.ID))
	person, _ := s.created("/api/people", fmt.Sprintf(`{"data":{"name":"P","avatar":%d}}`, gone.ID))
	look := func(query string) string {
		t.Helper()
		d := s.json("GET", "/api/articles/"+article+
			"?populate[cover]=true&populate[gallery]=true&populate[seo][populate]=*&populate[zone][populate]=*&"+query,
			"", 200)["data"].(map[string]any)
		seo, zone := d["seo"].(map[string]any), d["zone"].([]any)[0].(map[string]any)
		return fmt.Sprint(names(d["cover"]), names(d["gallery"]), names(seo["image"]), names(seo["images"]),
			names(zone["image"]))
	}
	for _, query := range []string{"", "status=draft"} {
		if got := look(query); got != "[gone.png] [stays.txt gone.png] [gone.png] [gone.png stays.txt] [gone.png]" {
			t.Fatalf("%s: %s", query, got)
		}
	}
	if used := string(s.get(fmt.Sprintf("/api/upload/files/%d?populate=related", gone.ID)).body); strings.Count(
		used, "__type") < 2 {
		t.Errorf("used by: %s", used)
	}
	a := s.do("DELETE", fmt.Sprint("/api/upload/files/", gone.ID), "", nil)
	var shown fileAnswer
	if err := json.Unmarshal(a.body, &shown); a.status != 200 || err != nil || shown.DocumentID != gone.DocumentID {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, query := range []string{"", "status=draft"} {
		if got := look(query); got != "[] [stays.txt] [] [stays.txt] []" {
			t.Errorf("%s: %s", query, got)
		}
	}
	if got := names(s.json("GET", "/api/people/"+person+"?populate=avatar", "",
		200)["data"].(map[string]any)["avatar"]); got != nil {
		t.Errorf("avatar: %v", got)
	}
	for _, url := range []string{gone.URL, gone.Formats["thumbnail"].URL} {
		if a := s.get(url); a.status != 404 {
			t.Errorf("%s: %d", url, a.status)
		}
	}
	files, spooled := s.stored()
	if diff := cmp.Diff([]string{stays.Hash + stays.Ext}, files); diff != "" || len(spooled) > 0 {
		t.Errorf("%s %v", diff, spooled)
	}
	if a := s.do("DELETE", fmt.Sprint("/api/upload/files/", gone.ID), "", nil); a.status != 404 {
		t.Errorf("again: %d", a.status)
	}
}
