package gateway_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/internal/servertest"

	"github.com/klauspost/compress/zstd"
)

var linesFiles = map[string]string{
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
  rank: {type: integer}
  data: {type: json}
  secret: {type: string, private: true}
  tags: {type: relation, relation: manyToMany, target: api::tag.tag}
`,
	"content-types/tag.yaml": `
kind: collectionType
info: {singularName: tag, pluralName: tags, displayName: Tag}
attributes:
  name: {type: string}
`,
	"config/permissions.yaml": `
roles:
  public:
    api::note.note: [find, stream]
  authenticated:
    api::note.note: [find]
    api::tag.tag: [stream]
`,
}

// A lineStream is an answer in JSON Lines, read to its end.
type lineStream struct {
	status int
	header http.Header
	lines  []string
	err    error // of the connection
}

// lines asks for JSON Lines.
func (a *api) lines(path, as string, headers ...string) (s lineStream) {
	a.t.Helper()
	req, err := http.NewRequest("GET", a.Base+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/x-ndjson")
	if key := a.Tokens[as]; key != "" {
		as = key
	}
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+as)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	body := io.Reader(res.Body)
	switch res.Header.Get("Content-Encoding") {
	case "gzip":
		body, err = gzip.NewReader(body)
	case "zstd":
		body, err = zstd.NewReader(body)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	s.status, s.header = res.StatusCode, res.Header
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		s.lines = append(s.lines, lines.Text())
	}
	s.err = lines.Err()
	return s
}

// listed returns the documents of all pages of a list, as they are printed.
func (a *api) listed(path, as string) (list []string) {
	a.t.Helper()
	for page := 1; ; page++ {
		r := a.want(200, "GET", fmt.Sprint(path, "&pagination[pageSize]=100&pagination[page]=", page), as, nil)
		var answer struct{ Data []json.RawMessage }
		if err := json.Unmarshal([]byte(r.text), &answer); err != nil {
			a.t.Fatal(err)
		}
		for _, v := range answer.Data {
			list = append(list, strings.ReplaceAll(string(v), "\n", " "))
		}
		if len(answer.Data) < 100 {
			return list
		}
	}
}

// TestStreamedLinesAreThoseOfThePages compares streams with the pages of the same list.
func TestStreamedLinesAreThoseOfThePages(t *testing.T) {
	a := serve(t, linesFiles)
	tag := a.want(201, "POST", "/api/tags", "full", object{"data": object{"name": "one"}}).at("data.documentId")
	for i := range 300 {
		body := fmt.Sprintf(`{"data": {"title": "note %d", "rank": %d, "secret": "x", "data": {"a":`+"\n"+
			`[1, 2]}, "tags": [%q]}}`, i%50, i%40, tag)
		id := a.want(201, "POST", "/api/notes?status=draft", "full", body).at("data.documentId").(string)
		if i%3 == 0 {
			a.want(200, "POST", "/api/notes/"+id+"/actions/publish", "full", nil)
		}
	}
	for _, query := range []string{
		"", "status=draft", "status=draft&sort=title:desc", "status=draft&sort=rank&sort=title",
		"filters[rank][$lt]=20&status=draft",
		"filters[title][$contains]=7&status=draft&sort=rank:desc", "status=draft&fields[0]=title&populate=tags",
		"status=draft&locale=*&sort=title",
		"status=draft&filters[rank]=3", "filters[rank]=1000", "locale=en&publicationFilter=modified",
	} {
		want, got := a.listed("/api/notes?"+query, "full"), a.lines("/api/notes?"+query, "full")
		if got.err != nil || got.status != 200 || !slices.Equal(got.lines, want) {
			t.Errorf("%s: %d lines with status %d, %v; want %d\n%.300q\n%.300q", query, len(got.lines), got.status,
				got.err, len(want), got.lines, want)
		}
	}
	all := a.listed("/api/notes?status=draft", "full")
	for query, want := range map[string][]string{
		"pagination[limit]=270": all[:270], "pagination[start]=10&pagination[limit]=280": all[10:290],
		"pagination[start]=290":                       all[290:],
		"pagination[page]=2&pagination[pageSize]=200": all[200:], "pagination[start]=1000": nil,
	} {
		if got := a.lines("/api/notes?status=draft&"+query, "full"); got.err != nil || !slices.Equal(got.lines, want) {
			t.Errorf("%s: %d lines, %v, want %d", query, len(got.lines), got.err, len(want))
		}
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		got := a.lines("/api/notes?status=draft", "full", "Accept-Encoding", encoding)
		if got.err != nil || !slices.Equal(got.lines, all) || got.header.Get("Content-Encoding") != encoding ||
			got.header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: %d lines, %v, %v", encoding, len(got.lines), got.err, got.header)
		}
	}
	if got := a.listed("/api/notes?status=draft&fields[0]=title", ""); !slices.Equal(
		got, a.lines("/api/notes?status=draft&fields[0]=title", "").lines) {
		t.Error("the public has another stream than list")
	}
}

// TestLinesNeedTheirPermission expects a stream to need its own permission and that of the list, and parameters to be
// checked before it begins.
func TestLinesNeedTheirPermission(t *testing.T) {
	a := serve(t, linesFiles)
	jwt, _ := a.register("ada")
	for _, c := range []struct {
		path, as string
		status   int
	}{
		{"/api/notes", "", 200}, {"/api/notes", jwt, 403}, {"/api/tags", jwt, 403}, {"/api/tags", "", 403},
		{"/api/tags", "full", 200},
		{"/api/notes?filters[secret]=x", "", 400}, {"/api/notes?asOf=2020-01-01T00:00:00Z", "full", 400},
		{"/api/notes?" + url.QueryEscape("sort[0]") + "=nothing", "full", 400},
	} {
		if got := a.lines(c.path, c.as); got.status != c.status ||
			(c.status == 200) != (got.header.Get("Content-Type") == "application/x-ndjson") {
			t.Errorf("%s as %q: %d %v", c.path, c.as, got.status, got.lines)
		}
	}
	for accept, want := range map[string]string{
		"*/*":                                    "application/json; charset=utf-8",
		"application/json, application/x-ndjson": "application/json; charset=utf-8",
		"application/x-ndjson, application/json;q=0.5": "application/x-ndjson",
		"application/x-ndjson;q=0, */*":                "application/json; charset=utf-8",
	} {
		if got := a.do("GET", "/api/notes", "full", nil, "Accept", accept).header.Get("Content-Type"); got != want {
			t.Errorf("Accept: %s: %s, want %s", accept, got, want)
		}
	}
}

// TestOldClientsGetNoLines expects no stream over HTTP/1.0, by which a client cannot tell the end of an answer from one
// that was cut off.
func TestOldClientsGetNoLines(t *testing.T) {
	a := serve(t, linesFiles)
	c, err := net.Dial("tcp", strings.TrimPrefix(a.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /api/notes HTTP/1.0\r\nAccept: application/x-ndjson\r\n\r\n")
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.0 400 ") ||
		!strings.Contains(string(answer), "HTTP/1.1") {
		t.Errorf("%v: %s", err, answer)
	}
}

// TestLinesThatAreCutSaySo expects an error in the middle of a stream to be its last line, and the connection to end
// without the end of the answer.
func TestLinesThatAreCutSaySo(t *testing.T) {
	files := map[string]string{"config/server.yaml": "limits: {answer: 4kb}\n"}
	for name, text := range linesFiles {
		files[name] = text
	}
	a := serve(t, files)
	for i := range 10 {
		data := ""
		if i == 7 {
			data = strings.Repeat("x", 50_000)
		}
		a.do("POST", "/api/notes?fields[0]=title", "full", object{"data": object{"data": data}})
	}
	for _, encoding := range []string{"identity", "gzip"} {
		got := a.lines("/api/notes", "full", "Accept-Encoding", encoding)
		if !errors.Is(got.err, io.ErrUnexpectedEOF) || len(got.lines) != 8 ||
			!strings.HasPrefix(got.lines[7], `{"error":{"status":400,`) ||
			!strings.Contains(got.lines[7], "limits.answer") {
			t.Errorf("%s: %d lines, %v: %.200q", encoding, len(got.lines), got.err, got.lines)
		}
	}
}

// beginStream asks for a stream, with a header unless it is "", and reads the status alone. The buffers of the
// connection are small, so that the server cannot send the whole of a long stream.
func beginStream(t *testing.T, base, path, header string) *servertest.RawClient {
	t.Helper()
	return beginBuffered(t, base, path, header, 4<<10)
}

// beginBuffered is beginStream with a client that buffers so many bytes.
func beginBuffered(t *testing.T, base, path, header string, buffer int) *servertest.RawClient {
	t.Helper()
	c := servertest.DialFrom(t, "127.0.0.1", base)
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(buffer); err != nil {
		t.Fatal(err)
	}
	if header != "" {
		header += "\r\n"
	}
	c.Send("GET " + path + " HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\n" + header + "\r\n")
	if line, err := c.Answers.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatal(line, err)
	}
	return c
}

// TestStreamsOfOneAddressAreBounded holds as many streams as one address may. More of it are refused, and those of
// others are not.
func TestStreamsOfOneAddressAreBounded(t *testing.T) {
	files := map[string]string{"config/server.yaml": "limits: {streams: 3, streamsPerAddress: 2}\n"}
	for name, text := range linesFiles {
		files[name] = text
	}
	a := serve(t, files)
	const notes = 7
	for range notes { // more than the buffers of a connection take
		a.want(201, "POST", "/api/notes?fields[0]=title", "full",
			object{"data": object{"data": strings.Repeat("x", 900_000)}})
	}
	for range 2 {
		defer beginStream(t, a.Base, "/api/notes", "").Close()
	}
	if got := a.lines("/api/notes", "full"); got.status != 503 ||
		!strings.Contains(got.lines[0], "to your address (limits.streamsPerAddress: 2)") {
		t.Errorf("a third stream of one address: %d %.300q", got.status, got.lines)
	}
	other := servertest.DialFrom(t, "127.0.0.2", a.Base)
	defer other.Close()
	other.Send("GET /api/notes HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\n\r\n")
	if line, err := other.Answers.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Errorf("a stream of another address: %q %v", line, err)
	}
}

// TestStreamsAreBounded expects no more streams than limits.streams, and those whose clients are gone to be counted no
// more.
func TestStreamsAreBounded(t *testing.T) {
	files := map[string]string{"config/server.yaml": "limits: {streams: 1}\nmetrics: {token: " + metricsToken + "}\n"}
	for name, text := range linesFiles {
		files[name] = text
	}
	a := serve(t, files)
	long := strings.Repeat("x", 900_000)
	const notes = 7
	for range notes { // more than the buffers of a connection take
		a.want(201, "POST", "/api/notes?fields[0]=title", "full", object{"data": object{"data": long}})
	}
	slow := beginStream(t, a.Base, "/api/notes", "")
	if got := a.lines("/api/notes", "full"); got.status != 503 || !strings.Contains(got.lines[0], "limits.streams: 1") {
		t.Errorf("a second stream: %d %.300q", got.status, got.lines)
	}
	if s := a.scrape(); s.value("lectern_places", "of", "streams") != 1 ||
		s.value("lectern_places_refused_total", "of", "streams") != 1 {
		t.Error("the metrics do not count the streams")
	}
	if get := a.sameHead("/api/notes", "full", "Accept", "application/x-ndjson"); get.status != 503 {
		t.Errorf("GET beside a stream: %d", get.status)
	}
	a.want(200, "GET", "/api/notes?pagination[limit]=1", "full", nil)
	slow.Close()
	for deadline := time.Now().Add(10 * time.Second); ; {
		got := a.lines("/api/notes", "full")
		if got.status == 200 && got.err == nil && len(got.lines) == notes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the client was gone: %d, %v", got.status, got.err)
		}
	}
}
