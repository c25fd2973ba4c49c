package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lectern/gateway/internal/paced"
)

// TestCopiesKeepTheirRate makes copies for replicas, of all content and of a part. Together they must keep
// limits.copyRate; what replicas get after their copy does not wait.
func TestCopiesKeepTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 64 << 10
		dir := projectOfNotes(t)
		config := filepath.Join(dir, "config", "server.yaml")
		n := &node{T: t}
		n.must(os.MkdirAll(filepath.Dir(config), 0o755))
		n.must(os.WriteFile(config, []byte("limits: {copyRate: 64kb}\n"), 0o644))
		n = openNode(t, dir, Options{})
		n.makeKey()
		for i := range 24 {
			body := fmt.Sprintf(`{"data":{"title":"note %d","text":%q}}`, i, strings.Repeat("long ", 20_000))
			if status, answer := n.ask("POST", "/api/notes", n.key, body); status != 201 {
				t.Fatalf("%d %.200s", status, answer)
			}
		}
		took := func(paths ...string) (bytes int, took time.Duration) {
			begin := time.Now()
			var mu sync.Mutex
			var asking sync.WaitGroup
			for _, path := range paths {
				asking.Go(func() {
					status, answer := n.ask("GET", "/api/_replica/"+path, n.key, "")
					if status != 200 {
						t.Errorf("GET %s: %d %.100q", path, status, answer)
					}
					mu.Lock()
					defer mu.Unlock()
					bytes += len(answer)
				})
			}
			asking.Wait()
			return bytes, time.Since(begin)
		}
		for _, paths := range [][]string{{"copy"}, {"copy", "copy"}, {"copy?types=api::note.note"},
			{"copy", "copy?types=api::note.note"}} {
			pass(time.Minute) // until the pace has room for a burst again
			sent, took := took(paths...)
			want := time.Duration(float64(sent-paced.Burst) / rate * float64(time.Second))
			if sent < 2*paced.Burst || (took-want).Abs() > time.Millisecond {
				t.Errorf("%v: %d bytes took %s, want %s", paths, sent, took, want)
			}
		}
		if sent, took := took("definitions", "position", "files"); took != 0 {
			t.Errorf("the definitions and the position took %s (%d bytes), although they do not share the rate of copies", took, sent)
		}
	})
}
