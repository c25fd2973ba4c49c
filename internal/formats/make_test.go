package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lectern/store"
)

var (
	makeWith   = flag.String("make", "", "TestMake: the binary that writes a fixture")
	makeFormat = flag.Uint64("make.format", store.Format, "TestMake: the format that the binary writes")
)

// questions are the requests whose answers a fixture keeps. %s stands for the documentId of an article.
var questions = []exchange{
	{Method: "GET", Path: "/api/articles?sort=length&populate=*&pagination[pageSize]=100"},
	{Method: "GET", Path: "/api/articles?status=draft&sort=title:desc&pagination[pageSize]=100"},
	{Method: "GET", Path: "/api/articles?locale=de&sort=id&populate[tags][fields]=name"},
	{Method: "GET", Path: "/api/articles/%s?populate[parts][populate]=*&populate[cover]=true&populate[seo][populate]=image"},
	{Method: "GET", Path: "/api/articles?filters[kind]=essay&sort=price:desc&fields=title,price"},
	{Method: "GET", Path: "/api/articles?filters[length][$between]=10&filters[length][$between]=30&sort=length&fields=length"},
	{Method: "GET", Path: "/api/articles?filters[title][$containsi]=THE%201&sort=id&fields=title"},
	{Method: "GET", Path: "/api/articles?filters[author][name]=Author%202&sort=day,id&fields=day"},
	{Method: "GET", Path: "/api/articles?filters[extra][$null]=true&sort=seen:desc&fields=seen&pagination[page]=2&pagination[pageSize]=5"},
	{Method: "GET", Path: "/api/authors?populate[articles][sort]=length&populate[articles][fields]=length&sort=name"},
	{Method: "GET", Path: "/api/tags?populate[articles][fields]=length&status=draft&sort=name"},
	{Method: "GET", Path: "/api/home?populate[featured][fields]=name"},
	{Method: "GET", Path: "/api/users?sort=id"},
	{Method: "GET", Path: "/api/upload/files?sort=id"},
	{Method: "POST", Path: "/api/auth/local", Body: json.RawMessage(`{"identifier":"ada","password":"secret-of-ada"}`)},
	{Method: "POST", Path: "/api/auth/local", Body: json.RawMessage(`{"identifier":"ada","password":"another"}`)},
	{Method: "POST", Path: "/graphql", Body: json.RawMessage(`{"query":"{articles(sort:\"length\",pagination:{limit:20}){title author{name} tags(sort:\"name\"){name}} tags_connection{pageInfo{total}}}"}`)},
}

// TestMake writes a fixture with the binary that -make names: it fills a project by requests, and records the answers to questions.
func TestMake(t *testing.T) {
	if *makeWith == "" {
		t.Skip("makes a fixture; needs -make BINARY")
	}
	data := filepath.Join(t.TempDir(), "data")
	key, err := exec.Command(*makeWith, "token", "create", "--data", data, "--type", "full-access", projectDir, "full").Output()
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(*makeWith, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	server, base := startBinary(t, *makeWith, data)
	a := answers{By: string(version), Token: strings.TrimSpace(string(key))}
	m := &maker{T: t, client: client{base, a.Token}}
	article := m.fill()
	for _, q := range questions {
		if q.Path = strings.ReplaceAll(q.Path, "%s", article); q.Path != "" {
			q.Status, q.Answer = m.must(q.Method, q.Path, "application/json", q.Body)
			a.Requests = append(a.Requests, q)
		}
	}
	for _, file := range m.files {
		q := exchange{Method: "GET", Path: file}
		if q.Status, q.Answer = m.must(q.Method, q.Path, "", nil); strings.HasSuffix(file, ".txt") {
			a.Requests = append(a.Requests, q)
		}
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := pack(data, fixtureDir(*makeFormat), a); err != nil {
		t.Fatal(err)
	}
}

var baseInLog = regexp.MustCompile(`serving[^\n]*base["=:]+(http://[0-9.:]+)`)

// startBinary serves the project of the fixtures.
func startBinary(t *testing.T, binary, data string) (server *exec.Cmd, base string) {
	t.Helper()
	server = exec.Command(binary, "serve", projectDir, "--data", data, "--addr", "127.0.0.1:0", "--env", "production")
	log, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := baseInLog.FindStringSubmatch(lines.Text()); m != nil {
			return server, m[1]
		}
		t.Log(lines.Text())
	}
	t.Fatal("the server ended before it served")
	return nil, ""
}

// A maker fills a project by requests.
type maker struct {
	*testing.T
	client
	files []string // the paths of uploaded files
}

// must sends a request, and fails the test if it is answered with a fault of the server.
func (m *maker) must(method, path, contentType string, body []byte) (int, any) {
	m.Helper()
	status, answer, err := m.send(method, path, contentType, body)
	if err != nil || status >= 500 || status == 404 {
		m.Fatalf("%s %s: %d %v %v", method, path, status, answer, err)
	}
	return status, answer
}

// save sends the data of a document, and returns its documentId.
func (m *maker) save(method, path string, data map[string]any) string {
	m.Helper()
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		m.Fatal(err)
	}
	status, answer := m.must(method, path, "application/json", body)
	if status >= 300 {
		m.Fatalf("%s %s: %d %v", method, path, status, answer)
	}
	return answer.(map[string]any)["data"].(map[string]any)["documentId"].(string)
}

// upload stores a file, and returns its id.
func (m *maker) upload(name string, content []byte) any {
	m.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("files", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err := errors.Join(err, form.Close()); err != nil {
		m.Fatal(err)
	}
	status, answer := m.must(http.MethodPost, "/api/upload", form.FormDataContentType(), body.Bytes())
	if status != http.StatusCreated {
		m.Fatalf("upload: %d %v", status, answer)
	}
	file := answer.([]any)[0].(map[string]any)
	m.files = append(m.files, file["url"].(string))
	return file["id"]
}

// fill makes content with every kind of attribute, relation and version, and returns the documentId of an article that has everything.
func (m *maker) fill() (article string) {
	picture := image.NewGray(image.Rect(0, 0, 16, 9))
	picture.Set(3, 4, color.White)
	var cover bytes.Buffer
	if err := png.Encode(&cover, picture); err != nil {
		m.Fatal(err)
	}
	image, text := m.upload("cover.png", cover.Bytes()), m.upload("words.txt", []byte("kept in every format\n"))
	var authors, tags []string
	for i := range 4 {
		authors = append(authors, m.save("POST", "/api/authors", map[string]any{"name": fmt.Sprint("Author ", i), "address": fmt.Sprintf("author%d@example.com", i)}))
	}
	for i := range 6 {
		tags = append(tags, m.save("POST", "/api/tags", map[string]any{"name": fmt.Sprint("Tag ", i)}))
	}
	for i := range 40 {
		data := map[string]any{
			"title": fmt.Sprintf("The %d of %s", i, strings.Repeat("long ", i)), "text": strings.Repeat("word ", 3*i),
			"kind": []string{"news", "essay", "note"}[i%3], "length": 40 - i, "price": float64(i*i) / 8, "big": strconv.FormatInt(1<<53+int64(i), 10),
			"day": fmt.Sprintf("20%02d-01-02", 10+i), "seen": fmt.Sprintf("2026-03-%02dT10:00:00.000Z", 1+i%28), "open": i%2 == 0,
			"author": authors[i%4], "tags": []string{tags[(i+1)%6], tags[i%6]},
		}
		if i%4 == 0 {
			data["extra"], data["cover"] = map[string]any{"b": i, "a": []int{1, 2}}, image
			data["seo"] = map[string]any{"heading": fmt.Sprint("Seo ", i), "image": text}
			data["parts"] = []any{
				map[string]any{"__component": "shared.quote", "words": "so it goes", "author": authors[(i+1)%4]},
				map[string]any{"__component": "shared.seo", "heading": "in a zone", "image": image},
			}
		}
		path := "/api/articles"
		if i%5 == 4 {
			path += "?status=draft" // never published
		}
		id := m.save("POST", path, data)
		switch {
		case i == 8:
			article = id
		case i%7 == 0: // changed after it was published
			m.save("PUT", "/api/articles/"+id+"?status=draft", map[string]any{"title": fmt.Sprint("Changed ", i), "tags": map[string]any{"connect": []string{tags[(i+3)%6]}}})
		case i%7 == 1:
			m.save("PUT", "/api/articles/"+id+"?locale=de", map[string]any{"title": fmt.Sprint("Der ", i), "length": i, "tags": []string{tags[i%6]}})
		case i%7 == 2:
			m.must("DELETE", "/api/articles/"+id, "", nil)
		}
	}
	m.save("PUT", "/api/home", map[string]any{"heading": "Welcome", "featured": []string{tags[4], tags[1], tags[3]}})
	m.must("POST", "/api/auth/local/register", "application/json", []byte(`{"username":"ada","email":"ada@example.com","password":"secret-of-ada"}`))
	return article
}
