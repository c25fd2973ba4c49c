package gateway_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/budget"
)

// parsedFiles are a project in which everybody may write posts and upload files.
func parsedFiles(limits string) map[string]string {
	files := circleFiles(limits)
	files["config/permissions.yaml"] = "roles:\n  public:\n    api::post.post: [find, findOne, create]\n    api::tag.tag: [find]\n    plugin::upload.content-api: [upload]\n"
	files["config/plugins.yaml"] = "mcp: {enabled: true}\ngraphql: {config: {subscriptions: true}}\nusers-permissions: {config: {ratelimit: {enabled: false}}}\n"
	files["content-types/post.yaml"] += "  more: {type: json}\n"
	return files
}

// newParsed returns a server of parsedFiles.
func newParsed(t *testing.T, limits string) *circle {
	t.Helper()
	dir := writeProject(t, parsedFiles(limits))
	ready, _ := run(t, dir, gateway.Options{Production: true}, nil)
	return &circle{api: newAPI(t, ready), data: dir + "/data"}
}

// listOf returns a JSON list of about n bytes that repeats an element.
func listOf(element string, n int) string {
	return "[" + strings.Repeat(element+",", n/(len(element)+1)) + element + "]"
}

// A parsedRequest is a request that is parsed to far more than it has bytes.
type parsedRequest struct{ name, method, path, kind, body string }

// parsedRequests are requests with a list of n bytes, each of which becomes 37 bytes when it is parsed.
func parsedRequests(n int) []parsedRequest {
	const json = "application/json"
	list := listOf(`{"":0}`, n)
	field := func(name, value string) string {
		return "--b\r\nContent-Disposition: form-data; name=" + name + "\r\n\r\n" + value + "\r\n"
	}
	return []parsedRequest{
		{"variables that are not used", "POST", "/graphql", json, `{"query":"{__typename}","variables":{"x":` + list +
			`}}`},
		{"a filter of GraphQL", "POST", "/graphql", json,
			`{"query":"query($x:[PostFiltersInput]){posts(filters:{or:$x}){title}}","variables":{"x":` +
				listOf("{}", n) + `}}`},
		{"a login", "POST", "/api/auth/local", json, `{"identifier":"a","password":"b","x":` + list + `}`},
		{"a registration", "POST", "/api/auth/local/register", json, `{"username":"a","x":` + list + `}`},
		{"a batch", "POST", "/api/_batch", json, `{"operations":` + list + `}`},
		{"a create", "POST", "/api/posts", json, `{"data":{"title":"x","more":` + list + `}}`},
		{"numbers", "POST", "/api/posts", json, `{"data":{"title":"x","more":` + listOf("0", n) + `}}`},
		{"a message", "POST", "/mcp", json,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"type":"posts","filters":` + list + `}}}`},
		{"an upload", "POST", "/api/upload", "multipart/form-data; boundary=b", field("fileInfo", list) +
			field(`files; filename="a.txt"`, "x") + "--b--\r\n"},
	}
}

func (c *circle) send(p parsedRequest, headers ...string) reply {
	c.t.Helper()
	return c.do(p.method, p.path, "", p.body,
		append([]string{"Content-Type", p.kind, "Accept", "application/json, text/event-stream"}, headers...)...)
}

// TestParsedRequestsReserveMemory sends requests that would be parsed to more than limits.memory, as they are and
// compressed. Each is refused with 413 and leaves nothing reserved, and others are answered.
func TestParsedRequestsReserveMemory(t *testing.T) {
	c := newParsed(t, "{memory: 32mb, answer: 16mb}")
	for _, p := range parsedRequests(1<<20 - 1000) {
		for _, encoding := range []string{"identity", "gzip"} {
			sent := p
			if encoding == "gzip" {
				sent.body = gzipped(p.body)
			}
			got := c.send(sent, "Content-Encoding", encoding)
			refused := got.status == http.StatusRequestEntityTooLarge
			if p.path == "/mcp" {
				refused = got.status == http.StatusOK && strings.Contains(got.text, `\"status\":413`)
			}
			if !refused || !strings.Contains(got.text, "limits.memory (32mb)") {
				t.Errorf("%s, %s: %d %.300s", p.name, encoding, got.status, got.text)
			}
			c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
		}
	}
	if m := c.memory(); m.Peak < 8<<20 || m.Peak > m.Limit {
		t.Errorf("%+v", m)
	}
	for _, p := range parsedRequests(1 << 10) {
		if got := c.send(p); got.status == http.StatusRequestEntityTooLarge || got.status >= 500 {
			t.Errorf("%s, small: %d %.300s", p.name, got.status, got.text)
		}
	}
}

// TestParsedRequestsWaitForNoMemory fills limits.memory with answers that nobody reads. Requests that are parsed to
// much are refused with 503 then, and small ones are answered.
func TestParsedRequestsWaitForNoMemory(t *testing.T) {
	c := newCircle(t, "{memory: 32mb, answer: 16mb, answerRate: 1kb}")
	for range 6 {
		c.askOnly(deepPosts(7))
	}
	c.until("all memory to be taken", taken)
	large := fmt.Sprintf(`{"query":"{__typename}","variables":{"x":%s}}`, listOf(`{"":0}`, 100<<10))
	if got := c.do("POST", "/graphql", "", large); got.status != 503 || got.header.Get("Retry-After") == "" ||
		!strings.Contains(got.message(), "limits.memory (32mb)") {
		t.Errorf("%d %v %.300s", got.status, got.header, got.text)
	}
	if got := c.do("POST", "/graphql", "", `{"query":"{__typename}","variables":{"x":[{"":0}]}}`); got.status != 200 {
		t.Errorf("a small one: %d %.300s", got.status, got.text)
	}
}

// TestQueriesReserveMemory expects long query strings and GraphQL documents to reserve what they are parsed to.
func TestQueriesReserveMemory(t *testing.T) {
	for _, test := range []struct {
		name, method, path string
		body               string
		least              int64 // bytes that must have been reserved
	}{
		{"nested parameters", "GET", "/api/posts?" +
			strings.Repeat("&x[a][a][a][a][a][a][a][a][a][a][a][a][a][a][a][a][a][a][a]", 900), "", 5 << 20},
		{"variables", "GET", "/graphql?query={__typename}&variables=" +
			url.QueryEscape(`{"x":`+listOf("{}", 15<<10)+`}`), "", 1 << 20},
		{"a document", "POST", "/graphql", `{"query":"{posts{` + strings.Repeat("title ", 7000) + `}}"}`, 4 << 20},
		{"a form", "POST", "/api/posts", "data[a]=1" + strings.Repeat("&data[a][a][a][a][a][a][a][a][a]", 900),
			3 << 20},
	} {
		c := newParsed(t, "{memory: 128mb}")
		kind := "application/json"
		if strings.HasPrefix(test.body, "data") {
			kind = "application/x-www-form-urlencoded"
		}
		if got := c.send(parsedRequest{test.name, test.method, test.path, kind, test.body}, "Apollo-Require-Preflight",
			"1"); got.status >= 500 || got.status == 413 {
			t.Errorf("%s: %d %.300s", test.name, got.status, got.text)
		}
		if m := c.memory(); m.Peak < test.least || m.Reserved != 0 {
			t.Errorf("%s: %+v, want a peak of %d", test.name, m, test.least)
		}
	}
}

// TestHeadersReserveMemory expects a request with very many headers to reserve what they take while it waits for its
// body.
func TestHeadersReserveMemory(t *testing.T) {
	c := newParsed(t, "{memory: 32mb, answer: 16mb}")
	for what, name := range map[string]func(i int) string{
		"many names": func(i int) string { return fmt.Sprintf("%x", 0xa000+i) },
		"one name":   func(int) string { return "a" },
	} {
		t.Run(what, func(t *testing.T) {
			var headers strings.Builder
			for i := range 5000 {
				fmt.Fprintf(&headers, "%s:\r\n", name(i))
			}
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.Base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n%s\r\n{", headers.String())
			c.until("the headers to be counted", func(m budget.Stats) bool { return m.Reserved >= 5000*16 })
			conn.Close()
			c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
		})
	}
}

// TestMessagesOfLongValuesAreShort sends an object with many wrong keys and a long text as a variable. The answer,
// which quotes the object for each of them, stays short.
func TestMessagesOfLongValuesAreShort(t *testing.T) {
	c := newParsed(t, "{memory: 128mb}")
	var keys strings.Builder
	for i := range 60 {
		fmt.Fprintf(&keys, `,"k%d":0`, i)
	}
	got := c.do("POST", "/graphql", "",
		`{"query":"query($x:PostFiltersInput){posts(filters:$x){title}}","variables":{"x":{"a":"`+
			strings.Repeat("x", 500<<10)+`"`+keys.String()+`}}}`)
	if got.status != 400 || len(got.text) > 1<<20 || !strings.Contains(got.text, "is not defined by type") {
		t.Errorf("%d, %d bytes: %.300s", got.status, len(got.text), got.text)
	}
}

// TestLongArgumentsOfToolsReserveMemory calls tools with arguments that stand for queries far longer than they are.
func TestLongArgumentsOfToolsReserveMemory(t *testing.T) {
	c := newParsed(t, "{memory: 128mb}")
	for name, filters := range map[string]string{
		"a long key":  `{"` + strings.Repeat("a", 60<<10) + `":` + listOf("1", 20<<10) + `}`,
		"deep nested": strings.Repeat(`{"a":`, 300) + listOf("1", 20<<10) + strings.Repeat("}", 300),
	} {
		got := c.send(parsedRequest{name, "POST", "/mcp", "application/json",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"type":"posts","filters":` + filters + `}}}`})
		if !strings.Contains(got.text, "the arguments are") || !strings.Contains(got.text, `"isError":true`) {
			t.Errorf("%s: %d %.300s", name, got.status, got.text)
		}
	}
}
