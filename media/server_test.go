package media_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/gateway"
	"lectern/internal/servertest"
)

// projectFiles are the files of a project in which everybody may do everything with files, and almost everything with
// the entries that link them.
var projectFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  cover: {type: media, multiple: false, allowedTypes: [images]}
  gallery: {type: media, multiple: true}
  secret: {type: media, multiple: false, private: true}
  seo: {type: component, component: parts.seo}
  zone: {type: dynamiczone, components: [parts.seo]}
`,
	"content-types/person.yaml": `
kind: collectionType
info: {singularName: person, pluralName: people, displayName: Person}
attributes:
  name: {type: string}
  avatar: {type: media, multiple: false}
`,
	"content-types/closed.yaml": `
kind: collectionType
info: {singularName: closed, pluralName: closeds, displayName: Closed}
attributes:
  picture: {type: media, multiple: false}
`,
	"components/parts/seo.yaml": `
info: {displayName: SEO}
attributes:
  label: {type: string}
  image: {type: media, multiple: false}
  images: {type: media, multiple: true}
`,
	"config/permissions.yaml": `
roles:
  public:
    plugin::upload.content-api: [upload, find, findOne, destroy]
    api::article.article: [find, findOne, create, update, delete, publish]
    api::person.person: [find, findOne, create, update, delete]
`,
}

// A server serves a project for a test.
type server struct {
	*testing.T
	base    string
	dir     string
	project *gateway.Project
	stop    func()

	beforeUpdate documents.Hook // of documents of files; may be nil
	expectErrors atomic.Bool    // set if errors in the log are expected
	errors       servertest.LogBuffer
}

// writeProject creates a project; plugins is its config/plugins.yaml.
func writeProject(t testing.TB, plugins string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range projectFiles {
		writeFile(t, filepath.Join(dir, name), text)
	}
	if plugins != "" {
		writeFile(t, filepath.Join(dir, "config/plugins.yaml"), plugins)
	}
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// serve creates a project and serves it.
func serve(t *testing.T, plugins string) *server {
	t.Helper()
	s := &server{T: t, dir: writeProject(t, plugins)}
	s.start()
	return s
}

// start serves the project until stop is called or the test ends.
func (s *server) start() {
	s.Helper()
	ready := make(chan gateway.Ready, 1)
	p, err := gateway.Open(s.dir, gateway.Options{Addr: "127.0.0.1:0", Ready: func(r gateway.Ready) { ready <- r },
		Log: slog.New(slog.NewTextHandler(&testLog{s}, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		s.Fatal(err)
	}
	s.project = p
	if s.beforeUpdate != nil {
		if err := p.Documents().Hook(documents.Hooks{BeforeUpdate: s.beforeUpdate}, contenttypes.FileUID); err != nil {
			s.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
		if err := p.Store().Check(); err != nil {
			s.Error(err)
		}
		if err := p.Close(); err != nil {
			s.Error(err)
		}
	}
	s.Cleanup(func() { s.stop() })
	select {
	case r := <-ready:
		s.base = r.Base
	case err := <-done:
		done <- nil
		s.Fatal(err)
	}
}

// testLog receives the log of a server and fails the test on an unexpected error.
type testLog struct{ s *server }

func (l *testLog) Write(p []byte) (int, error) {
	if !l.s.expectErrors.Load() {
		l.s.Errorf("log: %s", p)
	}
	return l.s.errors.Write(p)
}

// A part is a field or file of a form.
type part struct {
	name, file, mime string
	isFile           bool
	data             []byte
}

func file(name, mime, data string) part {
	return part{name: "files", file: name, mime: mime, isFile: true, data: []byte(data)}
}

func field(name, value string) part { return part{name: name, data: []byte(value)} }

// form encodes a multipart form.
func form(parts ...part) (body []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		d := fmt.Sprintf("form-data; name=%q", p.name)
		if p.isFile {
			d += `; filename="` + strings.ReplaceAll(p.file, `"`, `\"`) + `"`
			if p.mime != "" {
				h.Set("Content-Type", p.mime)
			}
		}
		h.Set("Content-Disposition", d)
		out, _ := w.CreatePart(h)
		out.Write(p.data)
	}
	w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// An answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (s *server) do(method, path, contentType string, body []byte, headers ...string) answer {
	s.Helper()
	r, err := http.NewRequest(method, s.base+path, bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, text}
}

func (s *server) get(path string, headers ...string) answer {
	s.Helper()
	return s.do("GET", path, "", nil, headers...)
}

// json sends a JSON body and decodes the answer, which must have this status.
func (s *server) json(method, path, body string, status int) map[string]any {
	s.Helper()
	a := s.do(method, path, "application/json", []byte(body))
	if a.status != status {
		s.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	var m map[string]any
	if len(a.body) > 0 {
		if err := json.Unmarshal(a.body, &m); err != nil {
			s.Fatal(err)
		}
	}
	return m
}

// A fileAnswer is a file as responses show it.
type fileAnswer struct {
	ID                         int
	DocumentID                 string
	Name, Hash, Ext, Mime, URL string
	AlternativeText, Caption   *string
	FocalPoint                 map[string]float64
	Width, Height              *int
	Size                       float64
	Formats                    map[string]formatAnswer
	Provider                   string
	IsURLSigned                *bool `json:"isUrlSigned"`
}

type formatAnswer struct {
	Name, Hash, Ext, Mime, URL string
	Width, Height              int
	Size                       float64
	SizeInBytes                int64
}

// post sends a form to /api/upload.
func (s *server) post(query string, parts ...part) answer {
	s.Helper()
	body, contentType := form(parts...)
	return s.do("POST", "/api/upload"+query, contentType, body)
}

// upload uploads files and returns them as the answer shows them.
func (s *server) upload(parts ...part) []fileAnswer {
	s.Helper()
	a := s.post("", parts...)
	if a.status != 201 {
		s.Fatalf("upload: %d %s", a.status, a.body)
	}
	var files []fileAnswer
	if err := json.Unmarshal(a.body, &files); err != nil {
		s.Fatal(err)
	}
	return files
}

// stored returns the names in the directory of uploads and those in the spool.
func (s *server) stored() (files, spooled []string) {
	s.Helper()
	return listUploads(s.T, s.dir)
}

func listUploads(t testing.TB, dir string) (files, spooled []string) {
	t.Helper()
	for d, into := range map[string]*[]string{"": &files, ".incoming": &spooled} {
		entries, err := os.ReadDir(filepath.Join(dir, "data/uploads", d))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != ".incoming" && (d == "" || e.Name() != "spare") {
				*into = append(*into, e.Name())
			}
		}
	}
	slices.Sort(files)
	return files, spooled
}

// empty fails if there is any file or document.
func (s *server) empty() {
	s.Helper()
	files, spooled := s.stored()
	if len(files) > 0 || len(spooled) > 0 {
		s.Errorf("files were kept: %v %v", files, spooled)
	}
	if a := s.get("/api/upload/files"); string(a.body) != "[]" {
		s.Errorf("documents were kept: %s", a.body)
	}
}
