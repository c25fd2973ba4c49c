package gateway_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// A nodeFile is a file as the answer to an upload describes it.
type nodeFile struct {
	ID  int    `json:"id"`
	URL string `json:"url"`
}

// uploads sends a file to the node until it is stored: the cluster may be without a leader for a moment.
func (n *clusterNode) uploads(path, token, content string) (f nodeFile) {
	n.t.Helper()
	form := "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n--b--\r\n"
	for late := time.Now().Add(clusterPatience); ; {
		status, _, text := n.ask("POST", path, token, form, "Content-Type", "multipart/form-data; boundary=b")
		if status == http.StatusServiceUnavailable && time.Now().Before(late) {
			continue
		}
		text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
		if err := json.Unmarshal([]byte(text), &f); err != nil || status >= 300 {
			n.t.Fatalf("upload to %s: %d %s", n.dir, status, text)
		}
		return f
	}
}

// hasContent reports whether a file of the node has a content, in place or not.
func (n *clusterNode) hasContent(content string) (has bool) {
	n.t.Helper()
	for range 2 { // it may be put in place during the first look
		has = has || n.sees(content)
	}
	return has
}

func (n *clusterNode) sees(content string) (has bool) {
	n.t.Helper()
	err := filepath.WalkDir(filepath.Join(n.dir, "data", "uploads"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // put in place meanwhile
			return nil
		}
		has = has || string(text) == content
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return has
}

// backup returns the files of a backup that the node makes.
func (n *clusterNode) backup() map[string]string {
	n.t.Helper()
	p, err := gateway.Directory(n.dir, gateway.Options{}).Administer(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	defer p.Close()
	var to bytes.Buffer
	if err := p.Backup(n.t.Context(), &to); err != nil {
		n.t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(&to); ; {
		head, err := in.Next()
		if err == io.EOF {
			return files
		}
		content, failed := io.ReadAll(in)
		if err := errors.Join(err, failed); err != nil {
			n.t.Fatal(err)
		}
		files[head.Name] = string(content)
	}
}

// TestFilesReachAllNodes uploads, replaces and deletes files of a cluster that has them on the disks of its nodes,
// while one of the nodes is down. All nodes serve the same content in the end.
func TestFilesReachAllNodes(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	serve := func(f nodeFile, status int, content string) {
		t.Helper()
		tags := map[string]bool{}
		for _, n := range nodes {
			if n.stop == nil {
				continue
			}
			servertest.Await(t, f.URL+" is answered at "+n.dir, func() error {
				got, header, text := n.ask("GET", f.URL, token, "")
				if got != status || status == http.StatusOK && text != content {
					return fmt.Errorf("%d %q", got, text)
				}
				tags[header.Get("Etag")+header.Get("Last-Modified")] = true
				return nil
			})
		}
		if len(tags) != 1 {
			t.Errorf("the nodes serve %s with the validators %v", f.URL, tags)
		}
	}
	first := nodes[1].uploads("/api/upload", token, "first")
	serve(first, http.StatusOK, "first")

	if err := nodes[2].stop(); err != nil {
		t.Fatal(err)
	}
	second := nodes[1].uploads("/api/upload", token, "second")
	if !nodes[1].hasContent("second") {
		t.Error("the upload was answered before a majority had the content")
	}
	serve(second, http.StatusOK, "second")
	nodes[1].uploads(fmt.Sprint("/api/upload?id=", first.ID), token, "replaced")
	serve(first, http.StatusOK, "replaced")
	third := nodes[0].uploads("/api/upload", token, "third")
	if status, _, text := nodes[1].ask("DELETE", fmt.Sprint("/api/upload/files/", third.ID), token,
		""); status != http.StatusOK {
		t.Fatalf("delete: %d %s", status, text)
	}
	serve(third, http.StatusNotFound, "")
	nodes[2].start()
	serve(first, http.StatusOK, "replaced")
	serve(second, http.StatusOK, "second")
	serve(third, http.StatusNotFound, "")

	gone := filepath.Join(nodes[1].dir, "data", filepath.FromSlash(second.URL))
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if nodes[1].backup()[strings.TrimPrefix(second.URL, "/")] != "second" {
		t.Error("the backup of a node lacks a file that the node did not have")
	}

	if err := nodes[0].stop(); err != nil { // the leader
		t.Fatal(err)
	}
	fourth := nodes[2].uploads("/api/upload", token, "fourth")
	nodes[0].start()
	serve(fourth, http.StatusOK, "fourth")
	for _, n := range nodes {
		servertest.Await(t, n.dir+" has three files", func() error {
			list, err := os.ReadDir(filepath.Join(n.dir, "data", "uploads"))
			if err != nil {
				t.Fatal(err)
			}
			list = slices.DeleteFunc(list, os.DirEntry.IsDir)
			if len(list) != 3 {
				return fmt.Errorf("it has %v", list)
			}
			return nil
		})
	}
}

// TestClusterBeginsWithFiles begins a cluster with a project that has uploaded files. The other nodes get them.
func TestClusterBeginsWithFiles(t *testing.T) {
	nodes := newStoppedCluster(t, 2)
	dir := filepath.Join(nodes[0].dir, "data", "uploads")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "from_before.txt"), []byte("from before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.start()
	}
	token := nodes[0].token("reader")
	servertest.Await(t, "the file from before is there", func() error {
		if status, _, text := nodes[1].ask("GET", "/uploads/from_before.txt", token, ""); status != http.StatusOK ||
			text != "from before" {
			return fmt.Errorf("%d %q", status, text)
		}
		return nil
	})
}
