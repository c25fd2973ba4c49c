package gateway_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// aboutTransfer are the headers in which the answers to HEAD and GET may differ: each answer has its own date and id, and HEAD transfers no body.
var aboutTransfer = []string{"Date", "X-Request-Id", "Content-Length", "Transfer-Encoding"}

// TestHeadHasTheHeadersOfGet asks for answers of several lengths and kinds, in several encodings, and for their headers alone.
func TestHeadHasTheHeadersOfGet(t *testing.T) {
	files := maps.Clone(historyFiles)
	files["content-types/topic.yaml"] = strings.Replace(files["content-types/topic.yaml"], "{type: string, unique: true}", "{type: text}", 1)
	a := serve(t, files)
	long, id := "", ""
	for i := range 3 {
		for name, id := range map[string]*string{fmt.Sprint("short ", i): &id, fmt.Sprint(i, strings.Repeat(" long", 300)): &long} { // longer than what is not compressed
			*id = a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": name}}).at("data.documentId").(string)
		}
	}
	compressed := 0
	for _, path := range []string{
		"/api/topics", "/api/topics?fields=id&pagination[pageSize]=1", "/api/topics/" + long, "/api/topics/" + id, "/api/topics/" + long + "/_history",
		"/api/topics/none", "/api/topics?filters[none]=1", "/api/home", "/api/users", "/api/upload/files", "/api/_schedules", "/api/_changes", "/api/_openapi.json", "/nowhere",
	} {
		for _, accepts := range []string{"identity", "gzip", "zstd", "gzip, zstd", "gzip;q=0.5, zstd;q=0.1", "gzip;q=0", "br"} {
			get, head := a.do("GET", path, "full", nil, "Accept-Encoding", accepts), a.do("HEAD", path, "full", nil, "Accept-Encoding", accepts)
			encoding, length := get.header.Get("Content-Encoding"), head.header.Get("Content-Length")
			wrong := length != get.header.Get("Content-Length")
			if encoding != "" {
				compressed++
				wrong = length != "" // it is not known before the whole answer is compressed
			}
			for _, name := range aboutTransfer {
				get.header.Del(name)
				head.header.Del(name)
			}
			if wrong || head.status != get.status || head.text != "" || !maps.EqualFunc(get.header, head.header, slices.Equal[[]string]) {
				t.Errorf("%s, Accept-Encoding %q:\nGET  %d %v\nHEAD %d %v, length %s", path, accepts, get.status, get.header, head.status, head.header, length)
			}
			tag := get.header.Get("ETag")
			if tag == "" {
				continue
			}
			if r := a.do("HEAD", path, "full", nil, "Accept-Encoding", accepts, "If-None-Match", tag); r.status != 304 || r.header.Get("ETag") != tag {
				t.Errorf("%s, Accept-Encoding %q, If-None-Match %s: HEAD is answered %d with the ETag %s", path, accepts, tag, r.status, r.header.Get("ETag"))
			}
		}
	}
	if compressed < 16 {
		t.Errorf("only %d answers to GET were compressed", compressed)
	}
}
