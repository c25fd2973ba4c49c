package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/budget"
	"lectern/internal/servertest"
)

// circleFiles are a project in which a short query can ask for a long answer: tags and posts are related to each other.
func circleFiles(limits string) map[string]string {
	return map[string]string{
		"config/server.yaml":      "limits: " + limits + "\n",
		"config/permissions.yaml": "roles:\n  public:\n    api::post.post: [find]\n    api::tag.tag: [find]\n    plugin::upload.content-api: [upload]\n",
		"content-types/post.yaml": "kind: collectionType\ninfo: {singularName: post, pluralName: posts, displayName: Post}\nattributes:\n" +
			"  title: {type: string}\n  text: {type: text}\n  tags: {type: relation, relation: manyToMany, target: api::tag.tag, inversedBy: posts}\n",
		"content-types/tag.yaml": "kind: collectionType\ninfo: {singularName: tag, pluralName: tags, displayName: Tag}\nattributes:\n" +
			"  name: {type: string}\n  posts: {type: relation, relation: manyToMany, target: api::post.post, mappedBy: tags}\n",
	}
}

// A circle is a server of circleFiles with 40 posts, each of which has all of 10 tags.
type circle struct {
	*api
	data string
}

func newCircle(t *testing.T, limits string) *circle {
	t.Helper()
	return newCircleWith(t, limits, gateway.Options{Production: true})
}

func newCircleWith(t *testing.T, limits string, o gateway.Options) *circle {
	t.Helper()
	dir := writeProject(t, circleFiles(limits))
	c := &circle{data: filepath.Join(dir, "data")}
	ready, _ := run(t, dir, o, nil)
	c.api = newAPI(t, ready)
	a, err := gateway.Directory(dir, gateway.Options{}).Administer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var lines strings.Builder
	var tags []string
	for i := range 10 {
		tags = append(tags, fmt.Sprintf("tag%d", i))
		fmt.Fprintf(&lines, `{"type":"api::tag.tag","documentId":"tag%d","data":{"name":"Tag %d"}}`+"\n", i, i)
	}
	list, _ := json.Marshal(tags)
	for i := range 40 {
		fmt.Fprintf(&lines, `{"type":"api::post.post","documentId":"post%d","data":{"title":"Post %d","text":%q,"tags":%s}}`+"\n", i, i, strings.Repeat("x", 100), list)
	}
	if _, err := a.Import(t.Context(), strings.NewReader(lines.String()), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// deepPosts returns the path of a query whose answer has about 0.6 MB for each post.
func deepPosts(posts int) string {
	return fmt.Sprintf("/api/posts?pagination[pageSize]=%d&populate[tags][populate][posts][populate]=tags", posts)
}

// memory returns the counters of the memory for requests.
func (c *circle) memory() budget.Stats {
	c.t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return admin.DialControl(ctx, c.data)
	}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://control/server")
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	var info struct{ Memory budget.Stats }
	if err := json.NewDecoder(answer.Body).Decode(&info); err != nil {
		c.t.Fatal(err)
	}
	return info.Memory
}

// until waits until the counters of the memory satisfy a condition.
func (c *circle) until(what string, is func(budget.Stats) bool) {
	c.t.Helper()
	servertest.Await(c.t, what, func() error {
		if m := c.memory(); !is(m) {
			return fmt.Errorf("%+v", m)
		}
		return nil
	})
}

// askOnly sends a request and does not read the answer.
func (c *circle) askOnly(path string) net.Conn {
	c.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.Base, "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	return conn
}

// taken reports whether three of six answers of deepPosts(7) hold all the memory that large answers may take, 24 of 32
// MiB, and the other three were refused. Each of the answers takes 8 MiB.
func taken(m budget.Stats) bool { return m.Reserved >= 24<<20 && m.Refused >= 3 }

// TestAnswersReserveMemory fills the memory for requests with answers that nobody reads. The server then refuses large
// answers with 503 and still sends small ones. It sends large ones again when the slow clients have left.
func TestAnswersReserveMemory(t *testing.T) {
	c := newCircle(t, "{memory: 32mb, answer: 16mb, answerRate: 1kb}")
	if got := c.do("GET", deepPosts(7), "", nil); got.status != 200 {
		t.Fatalf("%d, %d bytes, %.200s", got.status, len(got.text), got.text)
	}
	c.until("nothing to be reserved", func(m budget.Stats) bool { return m.Reserved == 0 })
	var unread []net.Conn
	for range 6 {
		unread = append(unread, c.askOnly(deepPosts(7)))
	}
	c.until("all memory to be taken", taken)
	got := c.do("GET", deepPosts(7), "", nil)
	if got.status != 503 || got.header.Get("Retry-After") == "" ||
		!strings.Contains(got.message(), "limits.memory (32mb)") {
		t.Errorf("%d, %d bytes, %v %.200s", got.status, len(got.text), got.header, got.text)
	}
	if got := c.do("GET", "/api/posts?populate=*", "", nil); got.status != 200 {
		t.Errorf("a small answer: %d %.200s", got.status, got.text)
	}
	for _, conn := range unread {
		conn.Close()
	}
	c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
	if got := c.do("GET", deepPosts(7), "", nil); got.status != 200 {
		t.Errorf("after that: %d %.200s", got.status, got.text)
	}
	if m := c.memory(); m.Limit != 32<<20 || m.Peak > m.Limit || m.Denied == 0 || m.Refused == 0 {
		t.Errorf("%+v", m)
	}
}

// TestSlowReaderIsDisconnected expects the server to disconnect a client that reads nothing of a long answer, and to
// free the memory of the answer.
func TestSlowReaderIsDisconnected(t *testing.T) {
	c := newCircle(t, "{memory: 64mb, answerRate: 4mb}")
	conn := c.askOnly(deepPosts(12))
	c.until("an answer that is not read", func(m budget.Stats) bool { return m.Reserved > 0 })
	c.until("its memory to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err == nil || answer.StatusCode != 200 {
		t.Errorf("%d, %d bytes of an answer that was to be cut, %v", answer.StatusCode, n, err)
	}
}

// TestAnswersAreLimited expects limits.answer to limit the length of an answer, and the refusal to name that setting.
func TestAnswersAreLimited(t *testing.T) {
	c := newCircle(t, "{answer: 1mb}")
	if got := c.do("GET", deepPosts(5), "", nil); got.status != 400 ||
		!strings.Contains(got.message(), "limits.answer (1mb)") {
		t.Errorf("%d %.200s", got.status, got.text)
	}
	if got := c.do("GET", "/api/posts?pagination[pageSize]=10&populate=tags", "", nil); got.status != 200 {
		t.Errorf("%d %.200s", got.status, got.text)
	}
}

// TestGraphQLSharesTheMemoryOfREST expects GraphQL and REST to share one memory budget. A large GraphQL answer is
// refused with 503 while other answers hold the memory, and sent once they have released it.
func TestGraphQLSharesTheMemoryOfREST(t *testing.T) {
	c := newCircle(t, "{memory: 32mb, answer: 16mb, answerRate: 1kb}")
	ask := func() reply {
		return c.do("POST", "/graphql", "",
			map[string]any{"query": `{posts(pagination:{limit:7}){title tags(pagination:{limit:-1}){name posts(pagination:{limit:-1}){documentId title text tags(pagination:{limit:-1}){documentId name}}}}}`})
	}
	if got := ask(); got.status != 200 || got.at("errors") != nil || len(got.text) < 1<<20 {
		t.Fatalf("%d, %d bytes, %.200s", got.status, len(got.text), got.text)
	}
	c.until("nothing to be reserved", func(m budget.Stats) bool { return m.Reserved == 0 })
	if m := c.memory(); m.Peak < 1<<20 {
		t.Errorf("an answer of GraphQL reserved nothing: %+v", m)
	}
	var unread []net.Conn
	for range 6 {
		unread = append(unread, c.askOnly(deepPosts(7)))
	}
	c.until("all memory to be taken", taken)
	if got := ask(); got.status != 503 || got.header.Get("Retry-After") == "" ||
		!strings.Contains(got.message(), "limits.memory (32mb)") {
		t.Errorf("%d, %d bytes, %v %.200s", got.status, len(got.text), got.header, got.text)
	}
	if got := c.do("POST", "/graphql", "", map[string]any{"query": `{posts{title tags{name}}}`}); got.status != 200 ||
		got.at("errors") != nil {
		t.Errorf("a small answer: %d %.200s", got.status, got.text)
	}
	for _, conn := range unread {
		conn.Close()
	}
	c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
	if got := ask(); got.status != 200 || got.at("errors") != nil {
		t.Errorf("after that: %d %.200s", got.status, got.text)
	}
}

// TestGraphQLAnswersAreLimited expects limits.answer to apply to GraphQL if graphql.config.limits.bytes is not set.
func TestGraphQLAnswersAreLimited(t *testing.T) {
	c := newCircle(t, "{answer: 100kb}")
	got := c.do("POST", "/graphql", "",
		map[string]any{"query": `{posts(pagination:{limit:40}){title tags(pagination:{limit:-1}){name posts{title text}}}}`})
	if text, _ := json.Marshal(got.at("errors")); !strings.Contains(string(text), "limits.answer (100kb)") {
		t.Errorf("%d, %d bytes, %.300s", got.status, len(got.text), got.text)
	}
}

// TestImagesReserveMemory expects an image to reserve the memory that decoding it takes. An image that needs more than
// the whole budget is refused before it is decoded.
func TestImagesReserveMemory(t *testing.T) {
	c := newCircle(t, "{memory: 8mb, answer: 1mb}")
	upload := func(side int) reply {
		var file, body bytes.Buffer
		m := image.NewNRGBA(image.Rect(0, 0, side, side))
		m.Set(0, 0, color.NRGBA{1, 2, 3, 4})
		if err := png.Encode(&file, m); err != nil {
			t.Fatal(err)
		}
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("files", "image.png")
		if err == nil {
			_, err = part.Write(file.Bytes())
		}
		if err := errors.Join(err, form.Close()); err != nil {
			t.Fatal(err)
		}
		return c.do("POST", "/api/upload", "", body.String(), "Content-Type", form.FormDataContentType())
	}
	if got := upload(200); got.status != 201 {
		t.Fatalf("%d %.300s", got.status, got.text)
	}
	if m := c.memory(); m.Peak < 4*200*200 || m.Reserved != 0 {
		t.Errorf("after an image of 200 × 200 pixels: %+v", m)
	}
	if got := upload(2000); got.status != 400 || !strings.Contains(got.message(), "limits.memory") {
		t.Errorf("%d %.300s", got.status, got.text)
	}
	if m := c.memory(); m.Peak > 4<<20 {
		t.Errorf("an image that was refused was decoded: %+v", m)
	}
}
