package filesync_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lectern/gateway/internal/filesync"
	"lectern/gateway/internal/replication"
)

// TestHostileNames lets another node give and ask for files whose names lead elsewhere.
func TestHostileNames(t *testing.T) {
	uploads := filepath.Join(t.TempDir(), "data", "uploads")
	nodes := filesync.NewNodeFiles(filesync.NodeFilesOptions{Uploads: uploads, Log: slog.New(slog.DiscardHandler)})
	outside := filepath.Join(uploads, "..", "content.db")
	if err := os.MkdirAll(uploads, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../content.db", filepath.Join(uploads, "link.db")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(outside)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("x"))
	for _, name := range []string{"../content.db", "a/../../content.db", outside, `..\content.db`, ".hidden", "",
		"a\x00b", "link.db"} {
		file, err := json.Marshal(
			replication.File{Name: name, Size: 1, SHA256: hex.EncodeToString(sum[:]), Modified: info.ModTime()})
		if err != nil {
			t.Fatal(err)
		}
		target := filesync.NodesPath + "?" + url.Values{"file": {string(file)}}.Encode()
		w := httptest.NewRecorder()
		nodes.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code < 400 || w.Body.String() == "x" {
			t.Errorf("%q: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestSameFileMayArriveTwiceAtOnce sends a node the same file over two connections at once. The second connection
// breaks off after the first has sent the whole file.
func TestSameFileMayArriveTwiceAtOnce(t *testing.T) {
	nodes := filesync.NewNodeFiles(filesync.NodeFilesOptions{Uploads: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	content := bytes.Repeat([]byte("x"), 100_000)
	sum := sha256.Sum256(content)
	file, err := json.Marshal(replication.File{Name: "a.bin", Size: int64(len(content)),
		SHA256: hex.EncodeToString(sum[:]), Modified: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	target := filesync.NodesPath + "?" + url.Values{"file": {string(file)}}.Encode()
	give := func(from io.Reader) <-chan int {
		status := make(chan int, 1)
		go func() {
			w := httptest.NewRecorder()
			nodes.ServeHTTP(w, httptest.NewRequest(http.MethodPut, target, from))
			status <- w.Code
		}()
		return status
	}
	has := func() {
		t.Helper()
		w := httptest.NewRecorder()
		nodes.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), content) {
			t.Errorf("%d, and %d of %d bytes", w.Code, w.Body.Len(), len(content))
		}
	}
	write := func(to *io.PipeWriter, text []byte) {
		t.Helper()
		if _, err := to.Write(text); err != nil { // returns when all was read
			t.Fatal(err)
		}
	}
	one, toOne := io.Pipe()
	two, toTwo := io.Pipe()
	first := give(one)
	write(toOne, content[:50_000])
	second := give(two)
	write(toTwo, content[:30_000])
	write(toOne, content[50_000:])
	if err := toOne.Close(); err != nil {
		t.Fatal(err)
	}
	if status := <-first; status != http.StatusNoContent {
		t.Errorf("the first: %d", status)
	}
	has()
	toTwo.CloseWithError(io.ErrUnexpectedEOF)
	if status := <-second; status != http.StatusConflict {
		t.Errorf("the second: %d", status)
	}
	has()
}
