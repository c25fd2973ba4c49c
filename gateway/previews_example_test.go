package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"lectern/gateway"
)

// TestPreviewExample serves examples/preview with its front end, and looks at a draft there by the address that the
// server makes.
func TestPreviewExample(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node")
	}
	const dir = "../examples/preview/"
	files := map[string]string{}
	for _, name := range []string{"content-types/article.yaml", "config/permissions.yaml"} {
		text, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	t.Setenv("SITE", "https://site.example.org")
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	site := exec.Command("node", dir+"site.mjs")
	site.Env = append(os.Environ(), "PORT=0", "API="+a.Base+"/api")
	out, err := site.StdoutPipe()
	if err == nil {
		err = site.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		site.Process.Kill()
		site.Wait()
	})
	base, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	page := func(path string) (string, *http.Response) {
		t.Helper()
		res, err := a.client.Get(strings.TrimSpace(base) + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), res
	}
	id, _ := a.want(201, "POST", "/api/articles?status=draft", "editor",
		object{"data": object{"title": "Rye <bread>", "slug": "rye", "text": "Draft"}}).at("data.documentId").(string)
	if text, res := page("/articles/rye"); res.StatusCode != 404 {
		t.Errorf("without a token: %d %s", res.StatusCode, text)
	}
	made := a.want(200, "POST", "/api/articles/"+id+"/actions/preview", "editor", nil)
	path, ours := strings.CutPrefix(made.at("data.url").(string), "https://site.example.org")
	if !ours {
		t.Fatal(made.text)
	}
	text, res := page(path)
	if res.StatusCode != 200 || !strings.Contains(text, "a draft") || !strings.Contains(text, "<h1>Rye &#60;bread&#62;</h1><p>Draft") ||
		res.Header.Get("Referrer-Policy") != "no-referrer" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("preview: %d %v %s", res.StatusCode, res.Header, text)
	}
	if text, res := page(path + "x"); res.StatusCode != 403 || !strings.Contains(text, "has ended") {
		t.Errorf("forged token: %d %s", res.StatusCode, text)
	}
	a.want(200, "POST", "/api/articles/"+id+"/actions/publish", "editor", nil)
	if text, res := page("/articles/rye"); res.StatusCode != 200 || strings.Contains(text, "a draft") {
		t.Errorf("published: %d %s", res.StatusCode, text)
	}
}
