package media_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/documents"
	"lectern/documents/apierror"
)

// changed sends a change of a file and returns the file from the answer.
func (s *server) changed(id int, parts ...part) (f fileAnswer) {
	s.Helper()
	a := s.post(fmt.Sprint("?id=", id), parts...)
	if err := json.Unmarshal(a.body, &f); a.status != 200 || err != nil {
		s.Fatalf("%d %s", a.status, a.body)
	}
	return f
}

// TestReplacedFileHasTheNewContent replaces the content of files.
func TestReplacedFileHasTheNewContent(t *testing.T) {
	s := serve(t, "")
	old := s.upload(file("old.png", "image/png", pngOf(picture(1200, 800))),
		field("fileInfo", `{"alternativeText":"alt"}`))[0]
	next := pngOf(picture(600, 400))
	f := s.changed(old.ID, file("new.png", "image/png", next), field("fileInfo", `{"caption":"cap"}`))
	if f.ID != old.ID || f.DocumentID != old.DocumentID || f.Hash != old.Hash || f.URL != old.URL ||
		f.Name != "new.png" || *f.AlternativeText != "alt" || *f.Caption != "cap" {
		t.Errorf("%+v", f)
	}
	if got := shape(f); got != "600x400 thumbnail 234x156 small 500x333" {
		t.Error(got)
	}
	for name, x := range f.Formats {
		s.checkFormat(f, name, x)
	}
	if a := s.get(f.URL); string(a.body) != next {
		t.Error("it has the old content")
	}
	files, spooled := s.stored()
	want := []string{f.Hash + ".png", "small_" + f.Hash + ".png", "thumbnail_" + f.Hash + ".png"}
	if diff := cmp.Diff(want, files); diff != "" || len(spooled) > 0 {
		t.Errorf("%s %v", diff, spooled)
	}
	small := s.changed(old.ID, file("small.png", "image/png", pngOf(picture(3, 2))))
	if got := shape(small); got != "3x2" || small.Formats == nil || len(small.Formats) > 0 {
		t.Errorf("%s %v", got, small.Formats)
	}
	if files, _ := s.stored(); len(files) != 1 {
		t.Errorf("stored: %v", files)
	}
	for name, parts := range map[string][]part{
		"a text":     {file("x.png", "image/png", "hello")},
		"a page":     {file("x.png", "image/png", "<html><script>")},
		"another":    {file("x.jpg", "image/jpeg", jpegOf(picture(3, 2), 0))},
		"two":        {file("a.png", "image/png", next), file("b.png", "image/png", next)},
		"a bad info": {file("a.png", "image/png", next), field("fileInfo", "[]")},
	} {
		if a := s.post(fmt.Sprint("?id=", old.ID), parts...); a.status != 400 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := s.get(f.URL); string(a.body) != pngOf(picture(3, 2)) {
		t.Error("a refused content was taken")
	}
	half := next[:len(next)/2] // it cannot be decoded, and is taken like any other file
	if damaged := s.changed(old.ID, file("a.png", "image/png", half)); damaged.Width != nil ||
		len(damaged.Formats) > 0 {
		t.Errorf("half of one: %s", shape(damaged))
	}
	if a := s.get(f.URL); string(a.body) != half {
		t.Error("half of one is not served")
	}
	for _, id := range []string{"99999", "abc", "-1", "1e0", "18446744073709551616"} {
		for _, p := range []part{file("a.png", "image/png", next), field("fileInfo", `{"name":"x"}`)} {
			if a := s.post("?id="+id, p); a.status != 404 || !strings.Contains(string(a.body), "Entity not found") {
				t.Errorf("id=%s: %d %s", id, a.status, a.body)
			}
		}
	}
	for _, query := range []string{"?id[]=1&id[]=2", "?id[a]=1", "?id=1&id=2"} {
		if a := s.post(query, field("fileInfo", `{"name":"x"}`)); a.status != 400 {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	if _, spooled := s.stored(); len(spooled) > 0 {
		t.Errorf("in the spool: %v", spooled)
	}
}

// TestFileKeepsItsContentIfAHookRefuses replaces a file although a hook refuses that. The file keeps its content.
func TestFileKeepsItsContentIfAHookRefuses(t *testing.T) {
	s := &server{T: t, dir: writeProject(t, "")}
	s.beforeUpdate = func(context.Context,
		*documents.Event) error {
		return apierror.Application("files stay as they are")
	}
	s.start()
	old := s.upload(file("old.png", "image/png", pngOf(picture(600, 400))))[0]
	if a := s.post(fmt.Sprint("?id=", old.ID),
		file("new.png", "image/png", pngOf(picture(300, 200)))); a.status != 400 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.get(old.URL); string(a.body) != pngOf(picture(600, 400)) {
		t.Error("the former content is gone")
	}
	for name, x := range old.Formats {
		s.checkFormat(old, name, x)
	}
	if files, spooled := s.stored(); len(files) != 3 || len(spooled) > 0 {
		t.Errorf("%v %v", files, spooled)
	}
}

// TestFileInfoChangesFields changes the fields of a file that fileInfo sets.
func TestFileInfoChangesFields(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.txt", "text/plain", "x"), field("fileInfo", `{"caption":"C"}`))[0]
	for _, test := range []struct{ body, want string }{
		{`{"fileInfo":{"name":"b.txt","alternativeText":"A"}}`, "b.txt A C"},
		{`{"fileInfo":{"alternativeText":null}}`, "b.txt A C"},
		{`{"fileInfo":{"caption":""}}`, "b.txt A "},
		{`{"fileInfo":{}}`, "b.txt A "},
		{`{}`, "b.txt A "},
		{`{"fileInfo":{"url":"/x","hash":"y","id":7}}`, "b.txt A "},
	} {
		got := s.json("POST", fmt.Sprint("/api/upload?id=", f.ID), test.body, 200)
		if said := fmt.Sprint(got["name"], " ", got["alternativeText"], " ", got["caption"]); said != test.want ||
			got["url"] != f.URL {
			t.Errorf("%s: %s", test.body, said)
		}
	}
	for _, body := range []string{`{"fileInfo":null}`, `{"fileInfo":"x"}`, `{"fileInfo":[{"name":"q"}]}`,
		`{"fileInfo":{"caption":{}}}`, `{"fileInfo":`} {
		if a := s.do("POST", fmt.Sprint("/api/upload?id=", f.ID), "application/json", []byte(body)); a.status != 400 {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

// TestConcurrentReplacementsNeverMix replaces, edits, fetches and deletes one file from many clients at once. Each
// fetch returns one of the contents, never a mixture.
func TestConcurrentReplacementsNeverMix(t *testing.T) {
	s := serve(t, "")
	contents := map[string]bool{}
	for i := range 4 {
		contents[strings.Repeat(fmt.Sprint(i), 50000)] = true
	}
	f := s.upload(file("a.txt", "text/plain", strings.Repeat("0", 50000)))[0]
	var all sync.WaitGroup
	for content := range contents {
		all.Go(func() {
			for range 10 {
				if a := s.post(fmt.Sprint("?id=", f.ID), file("a.txt", "text/plain", content)); a.status != 200 &&
					a.status != 404 {
					t.Errorf("replace: %d %s", a.status, a.body)
				}
			}
		})
		all.Go(func() {
			for range 30 {
				if a := s.get(f.URL); a.status != 404 && !contents[string(a.body)] {
					t.Errorf("fetched a mixture of %d bytes", len(a.body))
				}
			}
		})
	}
	all.Wait()
	if a := s.do("DELETE", fmt.Sprint("/api/upload/files/", f.ID), "", nil); a.status != 200 {
		t.Errorf("delete: %d", a.status)
	}
	s.empty()
}
