package formats

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Names within a fixture.
const (
	storeName   = "content.db"
	packedStore = storeName + ".gz"
	uploads     = "uploads"
	answersName = "answers.json"
)

const projectDir = "testdata/project"

// fixtureDir returns the directory of the fixture of a format.
func fixtureDir(format uint64) string { return filepath.Join("testdata", fmt.Sprint(format)) }

// answers are the requests that were sent to the server that wrote a fixture, and what it answered.
type answers struct {
	By       string     `json:"by"`    // what the binary says about its version
	Token    string     `json:"token"` // the key of a token with full access
	Requests []exchange `json:"requests"`
}

// An exchange is a request and its answer.
type exchange struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Status int             `json:"status"`
	Answer any             `json:"answer"` // JSON, or a text if it is something else
}

func readAnswers(t *testing.T, dir string) (a answers) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, answersName))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// text returns a as JSON, with one line for each exchange.
func (a answers) text() ([]byte, error) {
	requests := a.Requests
	a.Requests = []exchange{}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("]}"))
	for i, q := range requests {
		line, err := json.Marshal(q)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	return append(text, "\n]}\n"...), nil
}

// unpack copies the data directory of a fixture, and returns the copy and the bytes of its store.
func unpack(t *testing.T, dir string) (data string, content []byte) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	packed, err := os.Open(filepath.Join(dir, packedStore))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if err := os.CopyFS(filepath.Join(data, uploads), os.DirFS(filepath.Join(dir, uploads))); err != nil {
		t.Fatal(err)
	}
	unzip, err := gzip.NewReader(packed)
	if err == nil {
		content, err = io.ReadAll(unzip)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(data, storeName), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data, content
}

// pack makes the fixture dir of a data directory that no server uses. It does not replace a fixture.
func pack(data, dir string, a answers) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already, and fixtures must not change (%w)", dir, err)
	}
	if err := os.CopyFS(filepath.Join(dir, uploads), os.DirFS(filepath.Join(data, uploads))); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, uploads, ".incoming")); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(data, storeName))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zip.Write(content); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	text, err := a.text()
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, packedStore), packed.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, answersName), text, 0o644),
	)
}

// A client sends requests to a server, with a token unless that is "".
type client struct{ base, token string }

// send sends a request, and returns its status and answer as an exchange keeps them.
func (c client) send(method, path, contentType string, body []byte) (status int, answer any, err error) {
	req, err := http.NewRequest(method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" && !strings.HasPrefix(path, "/api/auth/") {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, err
	}
	if json.Unmarshal(text, &answer) != nil {
		return res.StatusCode, string(text), nil
	}
	if login, ok := answer.(map[string]any); ok && login["jwt"] != nil {
		login["jwt"] = "another at each login"
	}
	return res.StatusCode, answer, nil
}
