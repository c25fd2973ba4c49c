package server_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/gateway/internal/server"
)

// TestBody sends bodies to a route that answers with the value that it read.
func TestBody(t *testing.T) {
	s, _ := newServer(t, server.Config{})
	bad := func(status int, name, message string) string {
		return fmt.Sprintf(`{"data":null,"error":{"status":%d,"name":%q,"message":%q}}`, status, name, message)
	}
	tooLarge := bad(413, "PayloadTooLargeError", "request entity too large")
	notJSON := bad(400, "SyntaxError", "invalid JSON, only supports object and array")
	text := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	const json, form, multipart = "application/json", "application/x-www-form-urlencoded",
		"multipart/form-data; boundary=b"
	for _, test := range []struct {
		name, kind, encoding, body string
		status                     int
		want                       string
	}{
		{"JSON", json, "", `{"a":[1]}`, 200, `{"a":[1]}`},
		{"JSON with a charset", json + "; charset=utf-8", "", `{"a":1}`, 200, `{"a":1}`},
		{"JSON API", "application/vnd.api+json", "", ` [1]`, 200, `[1]`},
		{"a CSP report", "application/csp-report", "", `{}`, 200, `{}`},
		{"a byte order mark", json, "", "\ufeff{}", 200, `{}`},
		{"nothing", json, "", "", 200, "null"},
		{"blanks", json, "", " ", 400, notJSON},
		{"a word", json, "", "a=1", 400, notJSON},
		{"cut off", json, "", `{"a":`, 400, bad(400, "SyntaxError", "Unexpected end of JSON input")},
		{"a prototype", json, "", `{"__proto__":1}`, 400,
			bad(400, "SyntaxError", "Object contains forbidden prototype property")},
		{"a type that is not read", "application/octet-stream", "", "{}", 200, "null"},
		{"text", "text/plain", "", "{}", 200, "null"},
		{"a type that is none", ";;", "", "{}", 200, "null"},
		{"a form", form, "", "data[a]=1+2&data.b=%21", 200, `{"data":{"a":"1 2","b":"!"}}`},
		{"a multipart form", multipart, "",
			"--b\r\nContent-Disposition: form-data; name=\"data[a]\"\r\n\r\n1\r\n--b--\r\n", 200, `{"data":{"a":"1"}}`},
		{"multipart with a file", multipart, "",
			"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n1\r\n--b--\r\n", 200, `{}`},
		{"multipart, cut off", multipart, "", "--b\r\nContent-Dis", 400,
			bad(400, "BadRequestError", "the multipart body is malformed")},
		{"multipart without a boundary", "multipart/form-data", "", "--b", 400,
			bad(400, "BadRequestError", "the multipart body has no boundary")},
		{"JSON as large as may be", json, "", text(1 << 20), 200, text(1 << 20)},
		{"JSON too large", json, "", text(1<<20 + 1), 413, tooLarge},
		{"a form too large", form, "", "a=" + strings.Repeat("x", 57343), 413, tooLarge},
		{"text too large", "text/plain", "", strings.Repeat("x", 57345), 413, tooLarge},
		{"gzip", json, "gzip", gzipped(`{"a":1}`), 200, `{"a":1}`},
		{"deflate", json, "deflate", deflated(`{"a":1}`), 200, `{"a":1}`},
		{"gzip, too large inside", json, "gzip", gzipped(text(1<<20 + 1)), 413, tooLarge},
		{"gzip that is none", json, "gzip", "{}", 400, bad(400, "BadRequestError", "the request body cannot be read")},
		{"gzip, cut off", json, "gzip", gzipped(text(1 << 10))[:20], 400,
			bad(400, "BadRequestError", "the request body cannot be read")},
		{"an unknown encoding", json, "foo", "{}", 415, bad(415, "Error", "Unsupported Content-Encoding: foo")},
		{"several encodings", json, "gzip|br", gzipped("{}"), 415,
			bad(415, "Error", "Unsupported Content-Encoding: gzip, br")},
	} {
		r := httptest.NewRequest("POST", "/api/things", strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		if test.encoding != "" {
			r.Header["Content-Encoding"] = strings.Split(test.encoding, "|")
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != test.status || w.Body.String() != test.want {
			t.Errorf("%s: got %d %.200s, want %d %.200s", test.name, w.Code, w.Body, test.status, test.want)
		}
		if got := w.Header().Get("Accept-Encoding"); (got == "gzip, deflate") != (w.Code == 415) {
			t.Errorf("%s: %d with Accept-Encoding: %s", test.name, w.Code, got)
		}
	}
}

// TestHostileBodies sends deeply nested and malformed bodies. None causes an internal error or a log line.
func TestHostileBodies(t *testing.T) {
	s, log := newServer(t, server.Config{})
	for name, body := range map[string]string{
		"arrays":  strings.Repeat("[", 10000),
		"objects": strings.Repeat(`{"a":`, 10000),
		"closed":  strings.Repeat("[", 10000) + strings.Repeat("]", 10000),
	} {
		r := httptest.NewRequest("POST", "/api/things", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("10,000 nested %s: got %d, want 400", name, w.Code)
		}
	}
	for _, form := range []string{strings.Repeat("a[", 10000) + "=1", "a" + strings.Repeat("[b]", 10000) + "=1",
		strings.Repeat("a=1&", 10000), "\x00=\xff&%00%ff=%"} {
		r := httptest.NewRequest("POST", "/api/things", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("form %.20q: got %d", form, w.Code)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", log)
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

func deflated(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}
