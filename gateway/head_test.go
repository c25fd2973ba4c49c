package gateway_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// aboutTransfer are the headers in which the answers to HEAD and GET may differ: each answer has its own date and id,
// and HEAD transfers no body.
var aboutTransfer = []string{"Date", "X-Request-Id", "Content-Length", "Transfer-Encoding"}

// TestHeadHasTheHeadersOfGet asks for answers of several lengths and kinds, in several encodings, and for their headers
// alone.
func TestHeadHasTheHeadersOfGet(t *testing.T) {
	files := maps.Clone(historyFiles)
	files["content-types/topic.yaml"] = strings.Replace(files["content-types/topic.yaml"],
		"{type: string, unique: true}", "{type: text}", 1)
	a := serve(t, files)
	long, id := "", ""
	for i := range 3 {
		for name, id := range map[string]*string{fmt.Sprint("short ", i): &id,
			fmt.Sprint(i, strings.Repeat(" long", 300)): &long} { // longer than what is not compressed
			*id = a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": name}}).at(
				"data.documentId").(string)
		}
	}
	compressed := 0
	for _, path := range []string{
		"/api/topics", "/api/topics?fields=id&pagination[pageSize]=1", "/api/topics/" + long, "/api/topics/" + id,
		"/api/topics/" + long + "/_history",
		"/api/topics/none", "/api/topics?filters[none]=1", "/api/home", "/api/users", "/api/upload/files",
		"/api/_schedules", "/api/_changes", "/api/_openapi.json", "/nowhere",
	} {
		for _, accepts := range []string{"identity", "gzip", "zstd", "gzip, zstd", "gzip;q=0.5, zstd;q=0.1", "gzip;q=0",
			"br"} {
			get := a.sameHead(path, "full", "Accept-Encoding", accepts)
			if get.header.Get("Content-Encoding") != "" {
				compressed++
			}
			tag := get.header.Get("ETag")
			if tag == "" {
				continue
			}
			if r := a.do("HEAD", path, "full", nil, "Accept-Encoding", accepts, "If-None-Match",
				tag); r.status != 304 || r.header.Get("ETag") != tag {
				t.Errorf("%s, Accept-Encoding %q, If-None-Match %s: HEAD is answered %d with the ETag %s", path,
					accepts, tag, r.status, r.header.Get("ETag"))
			}
		}
	}
	if compressed < 16 {
		t.Errorf("only %d answers to GET were compressed", compressed)
	}
}

// TestHeadOfLinesReadsOneDocument asks for streams, for those that are refused, and for their headers alone. The server
// reads one document for these, whatever the order.
func TestHeadOfLinesReadsOneDocument(t *testing.T) {
	a := serve(t, withMetrics(linesFiles))
	jwt, _ := a.register("ada")
	const notes = 50
	for i := range notes {
		a.want(201, "POST", "/api/notes?fields[0]=title", "full",
			object{"data": object{"title": fmt.Sprint("note ", i%7), "rank": i % 5}})
	}
	for _, c := range []struct {
		query, as string
		status    int
	}{
		{"", "full", 200}, {"", "", 200}, {"sort=rank:desc&sort=title&locale=*", "full", 200},
		{"filters[rank]=3", "full", 200}, {"filters[rank]=9", "full", 200},
		{"pagination[limit]=0", "full", 200}, {"pagination[start]=49", "full", 200},
		{"pagination[start]=50", "full", 200},
		{"", jwt, 403}, {"", "no-token", 401}, {"filters[none]=1", "full", 400},
		{"asOf=2020-01-01T00:00:00Z", "full", 400},
	} {
		for _, accepts := range []string{"identity", "gzip", "zstd", "gzip;q=0"} {
			get := a.sameHead("/api/notes?"+c.query, c.as, "Accept", "application/x-ndjson", "Accept-Encoding", accepts)
			if get.status != c.status ||
				(get.status == 200) != (get.header.Get("Content-Type") == "application/x-ndjson") {
				t.Errorf("%s as %q: %d %v, want %d", c.query, c.as, get.status, get.header, c.status)
			}
			if vary := strings.Join(get.header["Vary"], ", "); !strings.Contains(
				strings.ReplaceAll(vary, "Accept-Encoding", ""), "Accept") {
				t.Errorf("%s as %q: an answer whose form depends on Accept has Vary: %s", c.query, c.as, vary)
			}
		}
	}
	for _, query := range []string{"", "sort=rank:desc&sort=title"} {
		before := a.scrape().value("lectern_store_rows_read_total")
		a.do("HEAD", "/api/notes?"+query, "full", nil, "Accept", "application/x-ndjson")
		if read := a.scrape().value("lectern_store_rows_read_total") - before; read < 1 || read > notes/2 {
			t.Errorf("HEAD of the stream with %q reads %v documents", query, read)
		}
	}
}

// sameHead sends GET and HEAD, expects the same status and headers, and returns the answer to GET.
func (a *api) sameHead(path, as string, headers ...string) (get reply) {
	a.t.Helper()
	get = a.do("GET", path, as, nil, headers...)
	head := a.do("HEAD", path, as, nil, headers...)
	want, got := maps.Clone(get.header), maps.Clone(head.header)
	for _, name := range aboutTransfer {
		want.Del(name)
		got.Del(name)
	}
	length := get.header.Get("Content-Length")
	if get.header.Get("Content-Encoding") != "" || get.text == "" {
		length = "" // it is not known before the whole answer is compressed, nor that there will be no body
	}
	if head.status != get.status || head.text != "" || head.header.Get("Content-Length") != length ||
		!maps.EqualFunc(want, got, slices.Equal[[]string]) {
		a.t.Errorf("%s %q:\nGET  %d %v\nHEAD %d %v", path, headers, get.status, get.header, head.status, head.header)
	}
	return get
}
