package replication

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzParse expects that neither definition files nor uploaded files lead out of their directories.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"files":{"content-types/a.yaml":"x","config/server.yaml":"y","components/../../b.yaml":"z"}}`))
	f.Add([]byte(`[{"name":"../a","sha256":"00"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := ParseDefinitions(text); err == nil {
			for name := range d.Files {
				if !filepath.IsLocal(name) || strings.Contains(name, "server") && strings.HasPrefix(name, "config/") {
					t.Errorf("a definition file %q", name)
				}
			}
		}
		if list, err := ParseFiles(text); err == nil {
			for _, file := range list {
				if !filepath.IsLocal(file.Name) || strings.HasPrefix(file.Name, ".") {
					t.Errorf("an uploaded file %q", file.Name)
				}
			}
		}
	})
}

// TestDefinitions unpacks definitions over others, and expects the files of the server itself to stay.
func TestDefinitions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"content-types/old.yaml", "config/server.yaml", "config/api.yaml", ".env"} {
		if err := WriteFile(filepath.Join(dir, name), []byte("mine")); err != nil {
			t.Fatal(err)
		}
	}
	d := &Definitions{Files: map[string]string{"content-types/new.yaml": "1", "components/part/a.json": "2",
		"config/api.yaml": "3"}}
	if err := d.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadDefinitions(os.DirFS(dir))
	if err != nil || got.Hash() != d.Hash() {
		t.Errorf("%v %v", got, err)
	}
	for _, name := range []string{"config/server.yaml", ".env"} {
		if text, _ := os.ReadFile(filepath.Join(dir, name)); string(text) != "mine" {
			t.Errorf("%s: %q", name, text)
		}
	}
	delete(d.Files, "config/api.yaml")
	if d.Hash() == got.Hash() {
		t.Error("other files have the same hash")
	}
}

// hostileNames lead out of a directory, or are no names of files.
var hostileNames = []string{
	"../a.yaml", "content-types/../../a.yaml", "components/x/../../../a.yaml", "/tmp/a.yaml",
	`content-types\..\..\a.yaml`, "content-types//a.yaml",
	"content-types/./a.yaml", "config/../../api.yaml", "C:/a.yaml", "content-types/a\x00.yaml", "content-types/", "",
	".", "..",
}

func TestHostileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	for _, name := range hostileNames {
		d := &Definitions{Files: map[string]string{name: "x"}}
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseDefinitions(text); err == nil {
			t.Errorf("%q is taken for a definition file", name)
		}
		if err := d.Unpack(dir); err == nil {
			t.Errorf("%q was written", name)
		}
		list, err := json.Marshal([]File{{Name: name, SHA256: strings.Repeat("0", 64)}})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := ParseFiles(list); err == nil && name[0] != 'c' {
			t.Errorf("%q is taken for an uploaded file: %v", name, list)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, "../*")); err != nil || len(names) != 1 {
		t.Errorf("files outside of the directory: %v (%v)", names, err)
	}
}

// TestLinksInTheWay unpacks definitions, and fetches a file, into directories with symbolic links that lead elsewhere.
func TestLinksInTheWay(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "old.yaml"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"content-types", "components", "config"} {
		dir := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		d := &Definitions{Files: map[string]string{"content-types/a.yaml": "1", "components/b/c.yaml": "2",
			"config/api.yaml": "3"}}
		if err := d.Unpack(dir); err == nil {
			t.Errorf("definitions were written through the link %s", link)
		}
	}
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "text") }))
	defer server.Close()
	o, uploads := originAt(t, server.URL)
	if err := uploads.Symlink(outside, "link"); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("text"))
	for _, name := range []string{"link/a.txt", "../a.txt", filepath.Join(outside, "a.txt")} {
		if err := o.Fetch(t.Context(), &File{Name: name, Size: 4, SHA256: hex.EncodeToString(sum[:])},
			uploads); err == nil {
			t.Errorf("%s was fetched", name)
		}
	}
	if there, err := os.ReadDir(outside); err != nil || len(there) != 1 {
		t.Errorf("outside there is %v (%v)", there, err)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "old.yaml")); err != nil || string(text) != "theirs" {
		t.Errorf("the file outside has %q (%v)", text, err)
	}
}

// TestFetch fetches a file that was cut off before, one whose beginning is wrong, and one that is not what the list
// says.
func TestFetch(t *testing.T) {
	text := strings.Repeat("0123456789", 5000)
	var ranges []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}))
	defer server.Close()
	o, err := NewClient(server.URL, "key")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	sum := sha256.Sum256([]byte(text))
	file := &File{Name: "a.txt", Size: int64(len(text)), Modified: time.Unix(1e9, 5),
		SHA256: hex.EncodeToString(sum[:])}
	uploads, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer uploads.Close()
	if err := uploads.Mkdir(Fetched, 0o700); err != nil {
		t.Fatal(err)
	}
	part := Fetched + "/" + file.SHA256
	for _, c := range []struct{ part, ranges string }{{"", ""}, {text[:100], "bytes=100-"}, {text, ""},
		{text + "more", ""}} {
		ranges = nil
		if err := uploads.WriteFile(part, []byte(c.part), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := o.Fetch(context.Background(), file, uploads); err != nil {
			t.Errorf("%d bytes were there: %v", len(c.part), err)
		}
		got, _ := uploads.ReadFile(file.Name)
		info, err := uploads.Stat(file.Name)
		if err != nil || string(got) != text || !file.Same(info) || strings.Join(ranges, " ") != c.ranges {
			t.Errorf("%d bytes were there: %d bytes, ranges %q, %v", len(c.part), len(got), ranges, err)
		}
	}
	if err := uploads.WriteFile(part, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Fetch(context.Background(), file, uploads); !errors.Is(err, ErrDamaged) {
		t.Errorf("a wrong beginning: %v", err)
	}
	if err := o.Fetch(context.Background(), file, uploads); err != nil {
		t.Errorf("after a wrong beginning: %v", err)
	}
}

// TestSilence expects a stream on which nothing arrives to end.
func TestSilence(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = NewWriter(w).JSON(StatusFrame, Status{})
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	o, err := NewClient(server.URL, "key")
	if err != nil {
		t.Fatal(err)
	}
	o.Silence = 50 * time.Millisecond
	s, _, err := o.get(t.Context(), o.replica("log"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f, err := s.Next(); f.Kind != StatusFrame || err != nil {
		t.Fatal(f.Kind, err)
	}
	if _, err := s.Next(); !errors.Is(err, ErrSilent) {
		t.Errorf("the stream ends with %v", err)
	}
}

// originAt returns a client of the origin at a URL, and an empty directory of uploads.
func originAt(t *testing.T, url string) (*Client, *os.Root) {
	t.Helper()
	o, err := NewClient(url, "key")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	uploads, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { uploads.Close() })
	return o, uploads
}
