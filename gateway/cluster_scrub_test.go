package gateway_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDamagedFileIsFetchedAgain damages an uploaded file on the disk of a node so that neither its size nor its time
// tells. The node gets the content from another one.
func TestDamagedFileIsFetchedAgain(t *testing.T) {
	nodes := newCluster(t, 2)
	token := nodes[0].token("writer")
	nodes[1].awaitAge(token, "0")
	file := nodes[0].uploads("/api/upload", token, "as it was uploaded")
	has := func(content string) func() bool {
		return func() bool { _, _, text := nodes[1].ask("GET", file.URL, token, ""); return text == content }
	}
	until(t, "the other node serves the file", has("as it was uploaded"))
	if err := nodes[1].stop(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(nodes[1].dir, "data", filepath.FromSlash(file.URL))
	info, err := os.Stat(path)
	if err == nil {
		err = os.WriteFile(path, []byte("as it was damaged."), 0o644)
	}
	if err == nil {
		err = os.Chtimes(path, info.ModTime(), info.ModTime())
	}
	if err != nil {
		t.Fatal(err)
	}
	nodes[1].start()
	until(t, "the other node serves the file again", has("as it was uploaded"))
}
