//go:build linux

package clusters

import (
	"encoding/json"
	"net/http"
	"strings"
)

// upload uploads a file, and notes where it is if that was acknowledged.
func (c *client) upload() {
	content := strings.Repeat(c.value()+"\n", 1+c.rnd.IntN(5000))
	form := "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + c.value() +
		".txt\"\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n--b--\r\n"
	a, err := c.ask("POST", c.node(c.rnd)+"/api/upload", form, "Content-Type", "multipart/form-data; boundary=b")
	if c.outcome("upload", a, err, http.StatusCreated) != done {
		return
	}
	var files []struct{ URL string }
	if err := json.Unmarshal([]byte(a.body), &files); err != nil || len(files) != 1 {
		c.errors.Store("upload", a.body)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[files[0].URL] = content
}

// sameFiles reads each uploaded file at all nodes.
func (l *load) sameFiles() {
	for url, content := range l.files {
		for _, n := range l.nodes {
			if a, err := l.ask("GET", n.base+url, ""); err != nil || a.status != http.StatusOK || a.body != content {
				l.Errorf("%s at %s: %d, %d bytes of %d, %v", url, n.name, a.status, len(a.body), len(content), err)
			}
		}
	}
}
