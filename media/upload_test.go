package media_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNames uploads files with unusual names and checks the names that they are stored under.
func TestNames(t *testing.T) {
	s := serve(t, "")
	for _, test := range []struct {
		name, mime string
		status     int
		hash, ext  string // hash without its random digits
	}{
		{"notes.txt", "text/plain", 201, "notes", ".txt"},
		{"SHOUT.TXT", "text/plain", 201, "SHOUT", ".TXT"},
		{"archive.tar.gz", "application/gzip", 201, "archive_tar", ".gz"},
		{"readme", "text/plain", 201, "readme", ".txt"},
		{"readme", "application/x-foo", 201, "readme", ".bin"},
		{"readme", "", 201, "readme", ".bin"},
		{"pic", "image/png", 201, "pic", ".png"},
		{".htaccess", "text/plain", 201, "htaccess", ".txt"},
		{"abc.", "text/plain", 201, "abc", ".txt"},
		{"a.b c", "text/plain", 201, "a_b_c", ".txt"},
		{"a.p%hp", "text/plain", 201, "a_p_hp", ".txt"},
		{"a..txt", "text/plain", 201, "a", ".txt"},
		{"Crème brûlée (1) & co.txt", "text/plain", 201, "Creme_brulee_1_and_co", ".txt"},
		{"Straße Übung Ärger öl ø å ł.txt", "text/plain", 201, "Strasse_Uebung_Aerger_oel_o_a_l", ".txt"},
		{"Cre\u0300me.txt", "text/plain", 201, "Creme", ".txt"},
		{"Привет мир.txt", "text/plain", 201, "Privet_mir", ".txt"},
		{"日本語.txt", "text/plain", 201, "", ".txt"},
		{"fooBar HTML5.txt", "text/plain", 201, "foo_Bar_HTML_5", ".txt"},
		{"Ψυχή Щука æ Æ Þing.txt", "text/plain", 201, "P_Syxi_Shhuka_ae_AE_T_Hing", ".txt"},
		{"مرحبا საქართველო.txt", "text/plain", 201, "mrhba_saqartvelo", ".txt"},
		{"a😀b.txt", "text/plain", 201, "a_b", ".txt"},
		{"a&b@c%d$e+f-g_h~i'j!k,l.m.txt", "text/plain", 201, "a_and_b_c_d_e_f_g_h_i_j_k_l_m", ".txt"},
		{"CON.txt", "text/plain", 201, "CON", ".txt"},
		{"nul", "text/plain", 201, "nul", ".txt"},
		{"aux.c", "text/plain", 201, "aux", ".c"},
		{"\u202egnp.txt", "text/plain", 201, "gnp", ".txt"},
		{strings.Repeat("ü", 200) + ".txt", "text/plain", 201, strings.Repeat("ue", 60), ".txt"},
		{`..\..\evil.txt`, "text/plain", 201, "evil", ".txt"},
		{`C:\windows\win.ini`, "text/plain", 201, "win", ".ini"},
		{"../evil.txt", "text/plain", 400, "", ""},
		{"/etc/passwd", "text/plain", 400, "", ""},
		{"a/../../evil.txt", "text/plain", 400, "", ""},
		{"..", "text/plain", 400, "", ""},
		{".", "text/plain", 400, "", ""},
		{"a\x00.png", "image/png", 400, "", ""},
		{"a\x1b[31m.txt", "text/plain", 400, "", ""},
		{"a\x7f.txt", "text/plain", 400, "", ""},
		{"a\xff.txt", "text/plain", 400, "", ""},
		{"???.txt", "text/plain", 400, "", ""},
		{"a:b.txt", "text/plain", 400, "", ""},
		{"a|b*.txt", "text/plain", 400, "", ""},
		{strings.Repeat("x", 300) + ".txt", "text/plain", 400, "", ""},
	} {
		t.Run(fmt.Sprintf("%.40q", test.name), func(t *testing.T) {
			s := &server{T: t, base: s.base, dir: s.dir}
			a := s.post("", file(test.name, test.mime, "hello"))
			if a.status != test.status {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if a.status != 201 {
				if !strings.Contains(string(a.body), `"File name contains invalid characters"`) &&
					!strings.Contains(string(a.body), "cannot be read") {
					t.Errorf("%s", a.body)
				}
				return
			}
			var files []fileAnswer
			if err := json.Unmarshal(a.body, &files); err != nil {
				t.Fatal(err)
			}
			f := files[0]
			if !regexp.MustCompile(`^` + regexp.QuoteMeta(test.hash) + `_[0-9a-f]{10}$`).MatchString(f.Hash) {
				t.Errorf("hash %q, want %s_…", f.Hash, test.hash)
			}
			if f.Ext != test.ext || f.URL != "/uploads/"+f.Hash+f.Ext {
				t.Errorf("ext %q, url %q", f.Ext, f.URL)
			}
			if f.Size != 0.01 || f.Provider != "local" || f.IsURLSigned == nil || *f.IsURLSigned || f.Width != nil ||
				f.Formats != nil {
				t.Errorf("%s", a.body)
			}
			if got := s.get(f.URL); got.status != 200 || string(got.body) != "hello" {
				t.Errorf("fetched: %d %s", got.status, got.body)
			}
		})
	}
	files, spooled := s.stored()
	for _, name := range files {
		if !regexp.MustCompile(`^[A-Za-z0-9_]+\.[A-Za-z0-9]+$`).MatchString(name) {
			t.Errorf("stored as %q", name)
		}
	}
	if len(spooled) > 0 {
		t.Errorf("in the spool: %v", spooled)
	}
}

// TestTypeIsFoundIfClientsStateNone uploads files as clients do that know no types: Go's CreateFormFile and Blobs
// declare application/octet-stream for all files.
func TestTypeIsFoundIfClientsStateNone(t *testing.T) {
	s := serve(t, "")
	const unknown = "application/octet-stream"
	png := pngOf(image.NewNRGBA(image.Rect(0, 0, 2, 2)))
	for _, test := range []struct{ name, declared, data, mime, ext string }{
		{"a.png", unknown, png, "image/png", ".png"},
		{"a.png", "", png, "image/png", ".png"},
		{"a.jpg", unknown, png, "image/png", ".jpg"},
		{"a.dat", unknown, png, "image/png", ".dat"},
		{"blob", unknown, png, "image/png", ".png"},
		{"blob", "text/plain", png, "image/png", ".png"},
		{"a.pdf", "image/png", png, "application/pdf", ".pdf"},
		{"a.dat", "image/png", png, "image/png", ".dat"},
		{"blob", unknown, "%PDF-1.4\n%x", "application/pdf", ".pdf"},
		{"a.PDF", "text/plain", "%PDF-1.4\n%x", "application/pdf", ".PDF"},
		{"a.csv", unknown, "a,b\n1,2\n", "text/csv", ".csv"},
		{"a.csv", "text/plain", "a,b\n1,2\n", "text/csv", ".csv"},
		{"a.docx", unknown, "PK\x03\x04" + strings.Repeat("a", 30),
			"application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"},
		{"a.mp4", unknown, "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "video/mp4", ".mp4"},
		{"a.svg", unknown, `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="2"/>`, "image/svg+xml", ".svg"},
		{"a.txt", "nonsense", "hello", "text/plain", ".txt"},
		{"a.zzz", "application/x-zzz", "hello", "application/x-zzz", ".zzz"},
		{"a.zzz", unknown, "hello", unknown, ".zzz"},
		{"blob", unknown, "hello", unknown, ".bin"},
		{"blob", "text/plain", "<html>", "text/plain", ".txt"},
	} {
		f := s.upload(file(test.name, test.declared, test.data))[0]
		if f.Mime != test.mime || f.Ext != test.ext || !strings.HasSuffix(f.URL, test.ext) {
			t.Errorf("%s declared as %q: mime %q, ext %q, url %q, want %q, %q", test.name, test.declared, f.Mime, f.Ext,
				f.URL, test.mime, test.ext)
		}
	}
}

// TestDuplicateNames uploads the same name many times. Each upload is a separate file.
func TestDuplicateNames(t *testing.T) {
	s := serve(t, "")
	var parts []part
	for i := range 20 {
		parts = append(parts, file("same.txt", "text/plain", fmt.Sprint("content ", i)))
	}
	for i, f := range s.upload(parts...) {
		if a := s.get(f.URL); string(a.body) != fmt.Sprint("content ", i) {
			t.Errorf("%s: %s", f.URL, a.body)
		}
	}
}

// TestFileInfoIsReadInAllItsForms uploads with the field fileInfo in all its forms.
func TestFileInfoIsReadInAllItsForms(t *testing.T) {
	s := serve(t, "")
	one := file("a.txt", "text/plain", "x")
	said := func(value string) part { return field("fileInfo", value) }
	for _, test := range []struct {
		name   string
		parts  []part
		status int
		want   string // name|alternativeText|caption of each file, or part of the error message
	}{
		{"nothing", []part{one}, 201, "a.txt|-|-"},
		{"all", []part{one, said(`{"name":"N.md","alternativeText":"A","caption":"C"}`)}, 201, "N.md|A|C"},
		{"before the file", []part{said(`{"caption":"C"}`), one}, 201, "a.txt|-|C"},
		{"unknown keys", []part{one,
			said(`{"foo":1,"hash":"x","url":"/etc/passwd","provider":"x","folder":9,"mime":"text/html"}`)}, 201,
			"a.txt|-|-"},
		{"empty texts", []part{one, said(`{"name":"","caption":""}`)}, 201, "a.txt|-|"},
		{"null", []part{one, said(`{"name":null,"caption":null}`)}, 201, "a.txt|-|-"},
		{"scalars", []part{one, said(`{"name":5,"caption":true}`)}, 201, "5|-|true"},
		{"brackets", []part{one, field("fileInfo[caption]", "z")}, 201, "a.txt|-|z"},
		{"a list of one", []part{one, said(`[{"name":"x"}]`)}, 201, "x|-|-"},
		{"two", []part{one, one, said(`{"caption":"1"}`), said(`{"caption":"2"}`)}, 201, "a.txt|-|1 a.txt|-|2"},
		{"a list for two", []part{one, one, said(`[{"caption":"1"},{"caption":"2"}]`)}, 201, "a.txt|-|1 a.txt|-|2"},
		{"two for three", []part{one, one, one, said(`{"caption":"1"}`), said(`{"caption":"2"}`)}, 201,
			"a.txt|-|1 a.txt|-|2 a.txt|-|-"},
		{"one for two", []part{one, one, said(`{"name":"X"}`)}, 400,
			"fileInfo must be a `array` type, but the final value was: `null` (cast from the value `{\n  \"name\": \"\\\"X\\\"\"\n}`)."},
		{"two for one", []part{one, said(`{}`), said(`{}`)}, 400, "fileInfo must be a `object` type"},
		{"a string", []part{one, said(`"x"`)}, 400,
			"fileInfo must be a `object` type, but the final value was: `null` (cast from the value `\"x\"`)."},
		{"null itself", []part{one, said(`null`)}, 400,
			"fileInfo must be a `object` type, but the final value was: `null`."},
		{"empty", []part{one, said(``)}, 400,
			"fileInfo must be a `object` type, but the final value was: `null` (cast from the value `\"\"`)."},
		{"no JSON", []part{one, said(`nope`)}, 400, "fileInfo must be JSON"},
		{"deep", []part{one, said(strings.Repeat("[", 5000))}, 400, "fileInfo must be JSON"},
		{"an object for a text", []part{one, said(`{"name":{"a":1}}`)}, 400,
			"fileInfo.name must be a `string` type, but the final value was: `{\n  \"a\": \"1\"\n}`."},
		{"a focal point that is none", []part{one, said(`{"focalPoint":{"x":"1","y":[]}}`)}, 400,
			"fileInfo.focalPoint must be a `object` type"},
		{"control characters", []part{one, said(`{"name":"a\u0000b"}`)}, 400, "File name contains invalid characters"},
		{"a long name", []part{one, said(`{"name":"` + strings.Repeat("x", 256) + `"}`)}, 400,
			"File name contains invalid characters"},
		{"no file", []part{said(`{"name":"X"}`)}, 400, "Files are empty"},
		{"another field", []part{{name: "file", isFile: true, file: "a.txt", data: []byte("x")}}, 400,
			"Files are empty"},
		{"an empty file", []part{file("a.txt", "text/plain", "")}, 400, "Files are empty"},
		{"an empty file among others", []part{one, file("b.txt", "text/plain", "")}, 201, "a.txt|-|- b.txt|-|-"},
		{"too many files", slicesRepeat(one, 101), 400, "Too many files at once"},
		{"too many fields", append(slicesRepeat(field("x", "y"), 1001), one), 413, "too many or too long"},
		{"a long field", []part{one, field("x", strings.Repeat("y", 1<<20+1))}, 413, "too many or too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{T: t, base: s.base, dir: s.dir}
			a := s.post("", test.parts...)
			if a.status != test.status {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if a.status != 201 {
				var e struct{ Error struct{ Message string } }
				if err := json.Unmarshal(a.body, &e); err != nil || !strings.Contains(e.Error.Message, test.want) {
					t.Errorf("%s", a.body)
				}
				return
			}
			var files []fileAnswer
			if err := json.Unmarshal(a.body, &files); err != nil {
				t.Fatal(err)
			}
			text := func(s *string) string {
				if s == nil {
					return "-"
				}
				return *s
			}
			var got []string
			for _, f := range files {
				got = append(got, f.Name+"|"+text(f.AlternativeText)+"|"+text(f.Caption))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q", strings.Join(got, " "), test.want)
			}
		})
	}
	if _, spooled := s.stored(); len(spooled) > 0 {
		t.Errorf("in the spool: %v", spooled)
	}
}

func slicesRepeat(p part, n int) (list []part) {
	for range n {
		list = append(list, p)
	}
	return list
}

// TestSizeLimit uploads files around the size limit. Sizes count in kilobytes rounded to two decimals.
func TestSizeLimit(t *testing.T) {
	s := serve(t, "upload: {config: {sizeLimit: 1000000}}")
	for _, test := range []struct{ size, status int }{{1000000, 201}, {1000004, 201}, {1000005, 413}, {5000000, 413}} {
		a := s.post("", file("over.bin", "application/octet-stream",
			strings.Repeat("\xff\x00", test.size/2+test.size%2)[:test.size]))
		if a.status != test.status {
			t.Errorf("%d bytes: %d %s", test.size, a.status, a.body)
		}
		if want := `{"data":null,"error":{"status":413,"name":"PayloadTooLargeError","message":"over.bin exceeds size limit of 1 MB.","details":{}}}`; a.status == 413 && string(a.body) != want {
			t.Errorf("%s", a.body)
		}
	}
	if a := s.post("", file("a.txt", "text/plain", "x"),
		file("over.bin", "", strings.Repeat("x", 2000000))); a.status != 413 {
		t.Errorf("one of two: %d %s", a.status, a.body)
	}
	files, spooled := s.stored()
	if len(files) != 2 || len(spooled) > 0 {
		t.Errorf("kept: %v %v", files, spooled)
	}
}

// TestMalformedForms sends bodies that are not forms, or are incomplete ones. Nothing is stored.
func TestMalformedForms(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	s := serve(t, "upload: {config: {sizeLimit: 100000}}")
	whole, contentType := form(file("a.txt", "text/plain", "hello"))
	var bomb, body bytes.Buffer
	z := gzip.NewWriter(&bomb)
	large, largeType := form(file("bomb.bin", "", strings.Repeat("\x00", 50<<20)))
	z.Write(large)
	z.Close()
	z = gzip.NewWriter(&body)
	z.Write(whole)
	z.Close()
	for _, test := range []struct {
		name, contentType string
		body              []byte
		encoding          string
		status            int
		says              string
	}{
		{"no boundary", "multipart/form-data", whole, "", 400, "no boundary"},
		{"another boundary", "multipart/form-data; boundary=X", whole, "", 400, "cannot be read"},
		{"cut off", contentType, whole[:len(whole)-10], "", 400, "cannot be read"},
		{"cut off in the head", contentType, whole[:60], "", 400, "cannot be read"},
		{"a part without a disposition", "multipart/form-data; boundary=X", []byte("--X\r\n\r\nhello\r\n--X--\r\n"), "",
			400, "Files are empty"},
		{"a disposition that is none", "multipart/form-data; boundary=X",
			[]byte("--X\r\nContent-Disposition: form-data; name=\"files; filename=a.txt\r\n\r\nhello\r\n--X--\r\n"), "",
			400, "Files are empty"},
		{"many heads", "multipart/form-data; boundary=X", []byte("--X\r\n" + strings.Repeat("A: b\r\n", 50000) +
			"\r\nhello\r\n--X--\r\n"), "", 400, "cannot be read"},
		{"no body", "", nil, "", 400, "Files are empty"},
		{"text", "text/plain", []byte("hello"), "", 400, "Files are empty"},
		{"JSON", "application/json", []byte(`{"files":[1]}`), "", 400, "Files are empty"},
		{"cut off JSON", "application/json", []byte(`{"files":`), "", 400, "Unexpected end of JSON input"},
		{"a bomb", largeType, bomb.Bytes(), "gzip", 413, "bomb.bin exceeds size limit of 100 kB."},
		{"no gzip", contentType, whole, "gzip", 400, "cannot be read"},
		{"cut off gzip", contentType, body.Bytes()[:body.Len()-20], "gzip", 400, "cannot be read"},
		{"an unknown encoding", contentType, whole, "br", 415, "Unsupported"},
	} {
		a := s.do("POST", "/api/upload", test.contentType, test.body, "Content-Encoding", test.encoding)
		if a.status != test.status || !strings.Contains(string(a.body), test.says) {
			t.Errorf("%s: %d %s", test.name, a.status, a.body)
		}
	}
	s.empty()
	if a := s.do("POST", "/api/upload", contentType, body.Bytes(), "Content-Encoding", "gzip"); a.status != 201 {
		t.Errorf("a compressed form: %d %s", a.status, a.body)
	}
}

// TestCompressedForms uploads forms that are much longer than what is sent.
func TestCompressedForms(t *testing.T) {
	s := serve(t, "upload: {config: {sizeLimit: 1000000}}")
	zeros := strings.Repeat("\x00", 900_000)
	elsewhere := func(data string) part {
		return part{name: "attachments", file: "a.bin", isFile: true, data: []byte(data)}
	}
	many := func(n int, p part) []part { return slices.Repeat([]part{p}, n) }
	for _, test := range []struct {
		name   string
		parts  []part
		status int
		says   string
	}{
		{"one file", many(1, file("a.bin", "", zeros)), 201, ""},
		{"a file and fields", []part{field("x", strings.Repeat("x", 1<<20-100)), file("a.bin", "", zeros)}, 201, ""},
		{"many files", many(20, file("a.bin", "", zeros)), 413, "the compressed form exceeds size limit of 1 MB"},
		{"files in another field", append(many(2, elsewhere(zeros)), file("a.txt", "", "hello")), 413,
			"the files in fields other than files are too long"},
		{"a file in another field", []part{elsewhere(zeros), file("a.txt", "", "hello")}, 201, ""},
		{"many parts", append(many(12_000, part{}), file("a.txt", "", "hello")), 413, "too many parts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sent bytes.Buffer
			body, contentType := form(test.parts...)
			z := gzip.NewWriter(&sent)
			z.Write(body)
			z.Close()
			a := s.do("POST", "/api/upload", contentType, sent.Bytes(), "Content-Encoding", "gzip")
			if a.status != test.status || !strings.Contains(string(a.body), test.says) {
				t.Errorf("%d bytes of %d: %d %s", sent.Len(), len(body), a.status, a.body)
			}
		})
	}
}

// TestTypes checks that the content of a file, not its declared type, decides whether it may be uploaded.
func TestTypes(t *testing.T) {
	s := serve(t, "upload: {config: {security: {allowedTypes: [image/*, text/plain, application/pdf], deniedTypes: [image/svg+xml]}}}")
	png := pngOf(picture(3, 2))
	for _, test := range []struct {
		file   part
		status int
	}{
		{file("a.png", "image/png", png), 201},
		{file("a.txt", "text/html", png), 201},
		{file("a.txt", "text/plain", "hello"), 201},
		{file("a.pdf", "application/pdf", "%PDF-1.4\n%%EOF"), 201},
		{file("a.png", "image/png", "<!doctype html><script>alert(1)</script>"), 400},
		{file("a.txt", "text/plain", "<html><script>alert(1)</script>"), 400},
		{file("a.html", "text/plain", "hello"), 400},
		{file("a.png", "image/png", `<svg xmlns="http://www.w3.org/2000/svg"/>`), 400},
		{file("a.svg", "image/png", `<svg xmlns="http://www.w3.org/2000/svg"/>`), 400},
		{file("a.png", "image/png", "MZ\x90\x00\x03\x00\x00\x00\x04\x00"), 400},
		{file("a.png", "image/png", "PK\x03\x04\x14\x00\x00\x00\x08\x00"), 400},
		{file("a.json", "image/png", `{"a":1}`), 400},
	} {
		if a := s.post("", test.file); a.status != test.status {
			t.Errorf("%s %.20q: %d %s", test.file.file, test.file.data, a.status, a.body)
		}
	}
	id := s.upload(file("x.png", "image/png", png))[0].ID
	if a := s.post(fmt.Sprint("?id=", id),
		file("x.png", "image/png", "<html><script>alert(1)</script>")); a.status != 400 {
		t.Errorf("replaced by a page: %d %s", a.status, a.body)
	}
}

// TestUploadRoutesNeedTheirPermission sends requests without the permission for them.
func TestUploadRoutesNeedTheirPermission(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.txt", "text/plain", "x"))[0]
	s.stop()
	if err := os.WriteFile(filepath.Join(s.dir, "config/permissions.yaml"),
		[]byte("roles: {public: {api::person.person: [find]}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start()
	body, contentType := form(file("a.txt", "text/plain", "x"))
	for _, r := range []struct{ method, path string }{
		{"POST", "/api/upload"}, {"POST", fmt.Sprint("/api/upload?id=", f.ID)}, {"GET", "/api/upload/files"},
		{"GET", fmt.Sprint("/api/upload/files/", f.ID)}, {"DELETE", fmt.Sprint("/api/upload/files/", f.ID)},
		{"DELETE", "/api/upload/files/99"},
	} {
		if a := s.do(r.method, r.path, contentType, body); a.status != 403 {
			t.Errorf("%s %s: %d %s", r.method, r.path, a.status, a.body)
		}
	}
	if a := s.get(f.URL); a.status != 200 {
		t.Errorf("the file itself: %d", a.status)
	}
}

// TestUploadCanBeSwitchedOff serves projects without upload routes or without the file type.
func TestUploadCanBeSwitchedOff(t *testing.T) {
	s := &server{T: t, dir: t.TempDir()}
	for name, text := range map[string]string{
		"content-types/person.yaml": "kind: collectionType\ninfo: {singularName: person, pluralName: people, displayName: Person}\nattributes: {name: {type: string}}",
		"config/plugins.yaml":       "upload: {enabled: false}",
		"config/permissions.yaml":   "roles: {public: {api::person.person: [find]}}",
	} {
		writeFile(t, filepath.Join(s.dir, name), text)
	}
	s.start()
	for path, want := range map[string]int{"/api/upload/files": 404, "/uploads/a.txt": 404, "/api/people": 200} {
		if a := s.get(path); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	body, contentType := form(file("a.txt", "text/plain", "x"))
	if a := s.do("POST", "/api/upload", contentType, body); a.status != 405 {
		t.Errorf("upload: %d %s", a.status, a.body)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "data/uploads")); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
}

// TestListsOfFilesHaveNoEnvelope requests lists of files, which have no envelope and parameters of their own.
func TestListsOfFilesHaveNoEnvelope(t *testing.T) {
	s := serve(t, "")
	s.upload(file("b.txt", "text/plain", "x"), file("a.txt", "text/plain", "x"),
		file("c.png", "image/png", pngOf(picture(3, 2))))
	names := func(query string) (got []string) {
		a := s.get("/api/upload/files" + query)
		if a.status != 200 {
			return []string{string(a.body)}
		}
		var files []fileAnswer
		if err := json.Unmarshal(a.body, &files); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			got = append(got, f.Name)
		}
		return got
	}
	for query, want := range map[string][]string{
		"?sort=name":                        {"a.txt", "b.txt", "c.png"},
		"?sort=id&start=1&limit=1":          {"a.txt"},
		"?sort=id&pagination[page]=2":       {"b.txt", "a.txt", "c.png"},
		"?filters[ext]=.txt&sort=name:desc": {"b.txt", "a.txt"},
		"?filters[width][$gt]=1":            {"c.png"},
		"?filters[folderPath]=x":            {`{"data":null,"error":{"status":400,"name":"ValidationError","message":"Invalid key folderPath","details":{"key":"folderPath","path":"folderPath","source":"query","param":"filters"}}}`},
		"?limit=x":                          {`{"data":null,"error":{"status":400,"name":"ValidationError","message":"convertLimitQueryParams expected a positive integer got NaN","details":{}}}`},
	} {
		if diff := cmp.Diff(want, names(query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	for _, path := range []string{"/api/upload/files/99", "/api/upload/files/abc", "/api/upload/files/-1",
		"/api/upload/files/1e0", "/api/upload/files/99999999999999999999"} {
		for _, method := range []string{"GET", "DELETE"} {
			if a := s.do(method, path, "", nil); a.status != 404 || !strings.Contains(string(a.body), "file.notFound") {
				t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
			}
		}
	}
}
