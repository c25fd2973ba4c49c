package media_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImageBombs uploads small files that decode to huge images. The server refuses them by their headers and stores
// nothing.
func TestImageBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	s := serve(t, "upload: {config: {pixelLimit: 1000000}}")
	jpeg := jpegOf(picture(8, 8), 0)
	sof := strings.Index(jpeg, "\xff\xc0")
	hugeJPEG := jpeg[:sof+5] + "\xff\xff\xff\xff" + jpeg[sof+9:]
	for name, data := range map[string]string{
		"huge.png":          pngHead(100000, 100000),
		"overflow.png":      pngHead(0x7fffffff, 0x7fffffff),
		"decompression.png": zeroPNG(5000, 5000),
		"huge.jpg":          hugeJPEG,
		"huge.gif":          "GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02D\x01\x00;",
		"huge.webp":         webpFlat(16383, 16383),
		"hidden.webp":       riff("VP8X", vp8x(10, 10), "VP8L", webpFlat(16383, 16383)[20:]),
		"twice.webp": riff("VP8X", vp8x(10, 10), "VP8L", webpFlat(16383, 16383)[20:], "VP8L",
			webpFlat(10, 10)[20:]),
		"hidden2.webp": riff("VP8X", vp8x(10, 10), "VP8X", vp8x(10, 10), "VP8L", webpFlat(16383, 16383)[20:]),
	} {
		a := s.post("", file(name, "image/png", data))
		if a.status != 400 || !strings.Contains(string(a.body), "File is not a valid image") {
			t.Errorf("%s (%d bytes): %d %s", name, len(data), a.status, a.body)
		}
	}
	s.empty()
	if a := s.post("", file("ok.png", "image/png", pngOf(picture(1000, 1000)))); a.status != 201 {
		t.Errorf("as many pixels as may be: %d %s", a.status, a.body)
	}
}

// TestWebPWithin uploads WebP files whose inner picture has another size than the file states. The server must not
// decode them, because it checks its limits against the stated size; browsers do not show them either.
func TestWebPWithin(t *testing.T) {
	s := serve(t, "upload: {config: {pixelLimit: 1000000}}")
	flat := func(w, h int) string { return webpFlat(w, h)[20:] }
	for name, data := range map[string]string{
		"larger":       riff("VP8X", vp8x(10, 10), "VP8L", flat(300, 200)),
		"smaller":      riff("VP8X", vp8x(300, 200), "VP8L", flat(10, 10)),
		"turned":       riff("VP8X", vp8x(300, 200), "VP8L", flat(200, 300)),
		"wider":        riff("VP8X", vp8x(300, 200), "VP8L", flat(301, 200)),
		"higher":       riff("VP8X", vp8x(300, 200), "VP8L", flat(300, 201)),
		"second, too":  riff("VP8X", vp8x(300, 200), "VP8L", flat(300, 200), "VP8L", flat(10, 10)),
		"first, fewer": riff("VP8X", vp8x(300, 200), "VP8L", flat(10, 10), "VP8L", flat(300, 200)),
	} {
		if f := s.upload(file(name+".webp", "image/webp", data))[0]; f.Width != nil || f.Height != nil ||
			f.Formats != nil {
			t.Errorf("%s: %s", name, shape(f))
		}
	}
	if f := s.upload(file("same.webp", "image/webp",
		riff("VP8X", vp8x(300, 200), "VP8L", flat(300, 200))))[0]; *f.Width != 300 || *f.Height != 200 {
		t.Errorf("of the same size: %+v", f)
	}
}

// vp8x returns the header chunk of an extended WebP file.
func vp8x(w, h int) string {
	b := binary.LittleEndian.AppendUint32(nil, 0)
	return string(append(b, byte(w-1), byte((w-1)>>8), byte((w-1)>>16), byte(h-1), byte((h-1)>>8), byte((h-1)>>16)))
}

// zeroPNG returns a PNG file of one colour, thousands of times smaller than the image that it decodes to.
func zeroPNG(w, h int) string {
	var z bytes.Buffer
	zw, _ := zlib.NewWriterLevel(&z, 9)
	row := make([]byte, 1+4*w)
	for range h {
		zw.Write(row)
	}
	zw.Close()
	head := pngHead(uint32(w), uint32(h))
	idat := append([]byte("IDAT"), z.Bytes()...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(z.Len()))
	chunk = append(chunk, idat...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(idat))
	return head[:33] + string(chunk) + head[33:]
}

// TestDamagedImages uploads images that are cut off or damaged at any byte. The server stores what it cannot decode
// without size and formats. It refuses only what states more pixels than there may be, and never answers with a status
// of 500 or above.
func TestDamagedImages(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	s := serve(t, "")
	for name, data := range map[string]string{
		"a.png":  pngOf(picture(300, 200)),
		"a.jpg":  jpegOf(picture(300, 200), 6),
		"a.gif":  gifOf(picture(300, 200)),
		"a.webp": webpFlat(300, 200),
	} {
		if half := s.upload(file(name, "image/png", data[:len(data)/2]))[0]; name != "a.webp" &&
			(half.Width != nil || half.Height != nil || half.Formats != nil) {
			t.Errorf("%s in half: %s", name, shape(half))
		}
		for at := 1; at < len(data); at += 1 + len(data)/40 {
			if a := s.post("", file(name, "image/png", data[:at])); a.status != 201 {
				t.Errorf("%s cut off at %d: %d %s", name, at, a.status, a.body)
			}
			damaged := data[:at] + string(data[at]^0xff) + data[at+1:]
			if a := s.post("", file(name, "image/png", damaged)); a.status != 201 &&
				!strings.Contains(string(a.body), " pixels") {
				t.Errorf("%s damaged at %d: %d %s", name, at, a.status, a.body)
			}
		}
	}
	if _, spooled := s.stored(); len(spooled) > 0 {
		t.Errorf("in the spool: %v", spooled)
	}
}

// TestScripts uploads and fetches content that a browser could run, under various declared types and names. The answer
// tells the browser to save the content, or has a type that cannot run. In both cases the content gets no origin.
func TestScripts(t *testing.T) {
	s := serve(t, "")
	const (
		page = `<!doctype html><script>alert(1)</script>`
		svg  = `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1" onload="alert(1)"><script>alert(2)</script></svg>`
		xml  = `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>`
		pdf  = "%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n%%EOF"
	)
	gif := gifOf(picture(2, 2)) + "/*" + page + "*/=1;alert(1)"
	for _, test := range []struct {
		name, mime, data string
		served           string
		saved            bool
	}{
		{"p.html", "text/html", page, "text/html; charset=utf-8", true},
		{"p.txt", "text/plain", page, "text/html; charset=utf-8", true},
		{"p.png", "image/png", page, "text/html; charset=utf-8", true},
		{"p.html", "image/png", "hello <script>", "text/html; charset=utf-8", true},
		{"p.HTM", "image/png", "just text", "text/html; charset=utf-8", true},
		{"p.xhtml", "image/png", xml, "application/xhtml+xml", true},
		{"p.xml", "image/png", xml, "text/xml; charset=utf-8", true},
		{"p.jpg", "image/jpeg", xml, "text/xml; charset=utf-8", true},
		{"p.svg", "image/svg+xml", svg, "image/svg+xml", true},
		{"p.png", "image/png", svg, "image/svg+xml", true},
		{"p.svg", "image/svg+xml", "no svg", "image/svg+xml", true},
		{"p.pdf", "application/pdf", pdf, "application/pdf", true},
		{"p.png", "image/png", pdf, "application/pdf", true},
		{"p.js", "text/javascript", "alert(1)", "text/plain; charset=utf-8", false},
		{"p.mjs", "application/javascript", "#!/usr/bin/env node\nalert(1)", "text/plain; charset=utf-8", true},
		{"p.gif", "text/html", gif, "image/gif", false},
		{"p.html", "text/html", gif, "image/gif", false},
		{"p.js", "text/javascript", gif, "image/gif", false},
		{"p.html", "text/html", "\x00\x01\x02\x03binary", "application/octet-stream", false},
		{"p.txt", "text/html", "hello", "text/plain; charset=utf-8", false},
		{"p.csv", "text/html", "a,b\n1,2\n", "text/csv; charset=utf-8", false},
		{"p.md", "text/html", "# hello", "text/markdown; charset=utf-8", false},
		{"p.json", "text/html", `{"a":"<script>"}`, "application/json; charset=utf-8", false},
		{"p.css", "text/html", "a{}", "text/css; charset=utf-8", false},
		{"p.zip", "text/html", "PK\x03\x04\x14\x00\x00\x00\x08\x00", "application/zip", false},
		{"p", "text/html", "hello", "text/html; charset=utf-8", true},
	} {
		f := s.upload(file(test.name, test.mime, test.data))[0]
		a := s.get(f.URL)
		if got := a.header.Get("Content-Type"); got != test.served {
			t.Errorf("%s %.30q: served as %s, want %s", test.name, test.data, got, test.served)
		}
		if got := strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment"); got != test.saved {
			t.Errorf("%s %.30q: to be saved: %v", test.name, test.data, got)
		}
		if csp := a.header.Get("Content-Security-Policy"); !strings.Contains(csp, "sandbox") ||
			strings.Contains(csp, "'self'") || !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("%s: %s", test.name, csp)
		}
		if a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be sniffed", test.name)
		}
		if string(a.body) != test.data {
			t.Errorf("%s: another content", test.name)
		}
	}
}

// TestPaths requests names and paths that are not files of the library.
func TestPaths(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.txt", "text/plain", "hello"))[0]
	uploads := filepath.Join(s.dir, "data/uploads")
	writeFile(t, filepath.Join(s.dir, "data/secret.txt"), "secret")
	writeFile(t, filepath.Join(uploads, "sub/inner.txt"), "secret")
	writeFile(t, filepath.Join(uploads, ".hidden.txt"), "secret")
	writeFile(t, filepath.Join(uploads, ".incoming/spooled.txt"), "secret")
	for name, target := range map[string]string{
		"out.txt": "../secret.txt", "absolute.txt": filepath.Join(s.dir, "data/secret.txt"),
		"inside.txt": strings.TrimPrefix(f.URL, "/uploads/"), "hidden.txt": ".hidden.txt",
		"loop.txt": "loop.txt", "dir": "sub",
	} {
		if err := os.Symlink(target, filepath.Join(uploads, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"/uploads", "/uploads/", "/uploads/.", "/uploads/..", "/uploads/../secret.txt", "/uploads/..%2fsecret.txt",
		"/uploads/%2e%2e/secret.txt",
		"/uploads/%2e%2e%2fsecret.txt", "/uploads/..%5csecret.txt", "/uploads/..%252fsecret.txt",
		"/uploads//etc/passwd", "/uploads/%2fetc%2fpasswd",
		"/uploads/./" + f.Hash + f.Ext, "/uploads/%00", f.URL + "%00", f.URL + "%00.png", f.URL + "/", f.URL + "/x",
		"/uploads/sub", "/uploads/sub/inner.txt", "/uploads/sub%2finner.txt",
		"/uploads/.hidden.txt", "/uploads/.incoming", "/uploads/.incoming/spooled.txt",
		"/uploads/.incoming%2fspooled.txt",
		"/uploads/out.txt", "/uploads/absolute.txt", "/uploads/inside.txt", "/uploads/hidden.txt", "/uploads/loop.txt",
		"/uploads/dir/inner.txt", "/uploads/dir",
		"/uploads/CON", "/uploads/nul.txt", "/uploads/" + strings.Repeat("a", 5000), "/uploads/%ff",
		"/uploads/none_0123456789.txt", "/uploads/c:%5cwindows",
	} {
		a := s.get(path)
		if a.status != 404 && !(a.status == 400 && strings.Contains(path, "%00")) &&
			!(a.status == 400 && strings.Contains(path, "%ff")) {
			t.Errorf("%s: %d %.100s", path, a.status, a.body)
		}
		var e struct{ Error struct{ Name string } }
		if json.Unmarshal(a.body, &e) != nil || e.Error.Name == "" {
			t.Errorf("%s: %.100s", path, a.body)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, path := range []string{f.URL, "/uploads/none.txt"} {
			if a := s.do(method, path, "", nil); a.status != 405 {
				t.Errorf("%s %s: %d", method, path, a.status)
			}
		}
	}
	if a := s.get(f.URL + "?v=1&../../x"); a.status != 200 || string(a.body) != "hello" {
		t.Errorf("with a query: %d %s", a.status, a.body)
	}
	if a := s.do("HEAD", f.URL, "", nil); a.status != 200 || a.header.Get("Content-Length") != "5" || len(a.body) > 0 {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
}

// TestRangesAnswerPartsOfAFile requests parts of a file.
func TestRangesAnswerPartsOfAFile(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.txt", "text/plain", "hello upload\n"))[0]
	for _, test := range []struct {
		header string
		status int
		body   string
		says   string // expected Content-Range
	}{
		{"bytes=0-4", 206, "hello", "bytes 0-4/13"},
		{"bytes=6-", 206, "upload\n", "bytes 6-12/13"},
		{"bytes=0-0", 206, "h", "bytes 0-0/13"},
		{"bytes=-4", 206, "oad\n", "bytes 9-12/13"},
		{"bytes=-100", 206, "hello upload\n", "bytes 0-12/13"},
		{"bytes=6-1000", 206, "upload\n", "bytes 6-12/13"},
		{"bytes=0-1000000000000000000", 206, "hello upload\n", "bytes 0-12/13"},
		{"bytes=0-10000000000000000000", 200, "hello upload\n", ""},
		{"bytes=4-0", 200, "hello upload\n", ""},
		{"bytes=100-,0-4", 206, "hello", "bytes 0-4/13"},
		{"bytes=100-,-0", 416, "", "bytes */13"},
		{"bytes=-0", 416, "", "bytes */13"},
		{"bytes=13-", 416, "", "bytes */13"},
		{"bytes=100-200", 416, "", "bytes */13"},
		{"bytes=x-y", 200, "hello upload\n", ""},
		{"bytes=", 200, "hello upload\n", ""},
		{"bytes=-", 200, "hello upload\n", ""},
		{"items=0-4", 200, "hello upload\n", ""},
		{"bytes=0-4,x", 200, "hello upload\n", ""},
		{strings.Repeat("bytes=0-4,", 3), 200, "hello upload\n", ""},
	} {
		a := s.get(f.URL, "Range", test.header)
		if a.status != test.status || a.header.Get("Content-Range") != test.says || test.status != 416 &&
			string(a.body) != test.body {
			t.Errorf("%s: %d %q %q", test.header, a.status, a.header.Get("Content-Range"), a.body)
		}
	}
	if a := s.get(f.URL, "Range", "bytes=0-0,2-2,4-4"); a.status != 206 ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("several: %d %s", a.status, a.header.Get("Content-Type"))
	}
	if a := s.get(f.URL, "Range", "bytes=0-12"+strings.Repeat(",0-12", 1000)); a.status != 200 || len(a.body) != 13 {
		t.Errorf("more than there is: %d, %d bytes", a.status, len(a.body))
	}
}

// TestRangesThatAFileLacksAreAnError requests parts that a file does not have. They are answered by an error of the
// API, unless a condition of the request makes the range count for nothing.
func TestRangesThatAFileLacksAreAnError(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.txt", "text/plain", "hello"))[0]
	full := s.get(f.URL)
	tag, modified := full.header.Get("ETag"), full.header.Get("Last-Modified")
	const envelope = `{"data":null,"error":{"status":416,"name":"RangeNotSatisfiableError","message":"Range Not Satisfiable","details":{}}}`
	const jsonType, past = "application/json; charset=utf-8", "Thu, 01 Jan 2015 00:00:00 GMT"
	for _, test := range []struct {
		headers    []string
		status     int
		kind, body string
	}{
		{nil, 416, jsonType, envelope},
		{[]string{"If-Range", tag}, 416, jsonType, envelope},
		{[]string{"If-Range", modified}, 416, jsonType, envelope},
		{[]string{"If-None-Match", `"other"`, "If-Modified-Since", modified}, 416, jsonType, envelope},
		{[]string{"If-Modified-Since", past}, 416, jsonType, envelope},
		{[]string{"If-Range", "W/" + tag}, 200, "text/plain; charset=utf-8", "hello"},
		{[]string{"If-Range", past}, 200, "text/plain; charset=utf-8", "hello"},
		{[]string{"If-None-Match", "W/" + tag}, 304, "", ""},
		{[]string{"If-None-Match", "*"}, 304, "", ""},
		{[]string{"If-Modified-Since", modified}, 304, "", ""},
	} {
		a := s.get(f.URL, append(test.headers, "Range", "bytes=5-")...)
		if a.status != test.status || a.header.Get("Content-Type") != test.kind || string(a.body) != test.body {
			t.Errorf("%q: %d %s %s", test.headers, a.status, a.header.Get("Content-Type"), a.body)
		}
		if refused := a.status == 416; refused != (a.header.Get("Content-Range") == "bytes */5") ||
			refused == (a.header.Get("ETag") != "") {
			t.Errorf("%q: %d %v", test.headers, a.status, a.header)
		}
	}
	a := s.get(f.URL, "Range", "bytes=5-", "Accept", "application/problem+json")
	if a.status != 416 || a.header.Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(string(a.body), `"name":"RangeNotSatisfiableError"`) {
		t.Errorf("as a problem: %d %s %s", a.status, a.header.Get("Content-Type"), a.body)
	}
}

// TestFilesHaveTheConfiguredCacheControl serves files with the Cache-Control header of the project's settings.
func TestFilesHaveTheConfiguredCacheControl(t *testing.T) {
	s := serve(t, "upload: {config: {cacheControl: 'private, max-age=60'}}")
	f := s.upload(file("a.txt", "text/plain", "hello"))[0]
	if got := s.get(f.URL).header.Get("Cache-Control"); got != "private, max-age=60" {
		t.Errorf("Cache-Control: %s", got)
	}
}

// TestCaching requests files with the ETag that the client already has.
func TestCaching(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.png", "image/png", pngOf(picture(3, 2))))[0]
	a := s.get(f.URL)
	tag, modified := a.header.Get("ETag"), a.header.Get("Last-Modified")
	if tag == "" || modified == "" || a.header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
		a.header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%v", a.header)
	}
	for _, h := range [][2]string{{"If-None-Match", tag}, {"If-Modified-Since", modified},
		{"If-None-Match", `"x", ` + tag}} {
		if a := s.get(f.URL, h[0], h[1]); a.status != 304 || len(a.body) > 0 {
			t.Errorf("%v: %d", h, a.status)
		}
	}
	if a := s.post(fmt.Sprint("?id=", f.ID), file("b.png", "image/png", pngOf(picture(2, 3)))); a.status != 200 {
		t.Fatalf("replace: %d %s", a.status, a.body)
	}
	if a := s.get(f.URL, "If-None-Match", tag); a.status != 200 || a.header.Get("ETag") == tag {
		t.Errorf("after another content: %d %s", a.status, a.header.Get("ETag"))
	}
	text := s.upload(file("a.txt", "text/plain", "0000"))[0]
	seen := map[string]bool{}
	for i := range 20 { // faster than the clock of the file system ticks
		s.changed(text.ID, file("a.txt", "text/plain", fmt.Sprintf("%04d", i)))
		tag := s.get(text.URL).header.Get("ETag")
		if seen[tag] {
			t.Fatalf("another content has the same tag, %s", tag)
		}
		seen[tag] = true
	}
	if a := s.get("/uploads/nothing_0123456789.png"); a.status != 404 || a.header.Get("Cache-Control") != "" {
		t.Errorf("what is not there: %d, to be kept for %q", a.status, a.header.Get("Cache-Control"))
	}
	if a := s.get(f.URL, "Range", "bytes=100000-"); a.status != 416 || a.header.Get("Cache-Control") != "" {
		t.Errorf("a range past the end: %d, to be kept for %q", a.status, a.header.Get("Cache-Control"))
	}
	const long, soon = "Thu, 01 Jan 2015 00:00:00 GMT", "Thu, 01 Jan 2099 00:00:00 GMT"
	tag = s.get(f.URL).header.Get("ETag")
	for _, test := range []struct {
		status  int
		headers []string
	}{
		{200, []string{"If-Match", tag, "If-Unmodified-Since", long}},
		{200, []string{"If-Match", "*"}},
		{200, []string{"If-Unmodified-Since", soon}},
		{200, []string{"If-Unmodified-Since", "no date"}},
		{304, []string{"If-Match", tag, "If-None-Match", tag}},
		{412, []string{"If-Match", "W/" + tag}},
		{412, []string{"If-Match", `"x"`, "If-None-Match", tag}},
		{412, []string{"If-Match", `"x"`, "If-Unmodified-Since", soon}},
		{412, []string{"If-Unmodified-Since", long}},
	} {
		a := s.get(f.URL, test.headers...)
		if a.status != test.status || (a.status == 412) != (a.header.Get("Cache-Control") == "") {
			t.Errorf("%v: %d, to be kept for %q", test.headers, a.status, a.header.Get("Cache-Control"))
		}
	}
	if a := s.do("HEAD", f.URL, "", nil, "Range", "bytes=0-1"); a.status != 200 || a.header.Get("Content-Range") != "" {
		t.Errorf("HEAD with a range: %d %v", a.status, a.header)
	}
	if a := s.get(f.URL, "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "" {
		t.Errorf("compressed: %v", a.header)
	}
}
