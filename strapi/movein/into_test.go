package movein_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

// TestInto adds content to a project, with and without a server on it. Documents with the same documentId are replaced,
// and the others stay.
func TestInto(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	changed := copied(t, copying{change: func(e *archive.Entity) bool {
		if e.Type == "api::setting.setting" {
			e.Data.Set("siteName", "Changed")
		}
		return e.Type != "api::review.review" // the project has them already
	}})
	for _, served := range []bool{false, true} {
		t.Run(map[bool]string{false: "stopped", true: "served"}[served], func(t *testing.T) {
			dir, _ := move(t, movein.Options{Source: kitchen})
			base, key := "", ""
			if served {
				base, key = servertest.ServeStored(t, dir)
			}
			_, report := move(t, movein.Options{Source: changed, Dir: dir, Into: true})
			if report.Compared == 0 || report.Census.Files.Arrived != 8 {
				t.Errorf("%d versions compared, %d files", report.Compared, report.Census.Files.Arrived)
			}
			if !served {
				base, key = servertest.ServeStored(t, dir)
			}
			for path, want := range map[string]string{
				"/api/setting":           `"siteName":"Changed"`,
				"/api/reviews?fields=id": `"total":6`,
				"/api/restaurants":       `"total":3`,
			} {
				if text := get(t, base+path, key); !strings.Contains(text, want) {
					t.Errorf("%s answers %s, want %s", path, text, want)
				}
			}
		})
	}
}

func get(t *testing.T, url, key string) string {
	t.Helper()
	x := exchange{Path: ""}
	resp, err := http.DefaultClient.Do(x.request(t, url, key))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestIntoOther checks that content is not added to a project with other types, or with another file of the same name.
func TestIntoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for name, c := range map[string]struct {
		change func(dir string) error
		want   []string
	}{
		"type": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "content-types", "setting.yaml")),
				os.RemoveAll(filepath.Join(dir, "data")))
		}, []string{"there is no type api::setting.setting"}},
		"attribute": {func(dir string) error {
			file := filepath.Join(dir, "content-types", "person.yaml")
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, []byte(strings.Replace(string(text), "  age:", "  years:", 1)),
				0o600), os.RemoveAll(filepath.Join(dir, "data")))
		}, []string{"there is no attribute age of api::person.person"}},
		"file": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "data", "uploads", "notes_61299e30d1.txt"),
				[]byte("other notes of mine"), 0o600)
		}, []string{"another uploaded file notes_61299e30d1.txt"}},
		"file of the same size": {func(dir string) error {
			file := filepath.Join(dir, "data", "uploads", "notes_61299e30d1.txt")
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, []byte(strings.Repeat("x", len(text))), 0o600))
		}, []string{"another uploaded file notes_61299e30d1.txt, of the same size"}},
		"project": {os.RemoveAll, []string{"there is no directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := move(t, movein.Options{Source: kitchen})
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			_, err := movein.Move(t.Context(),
				movein.Options{Source: kitchen, Dir: dir, Into: true, Project: gateway.Options{LogTo: t.Output()}})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one with %q", err, want)
				}
			}
		})
	}
}
