package remote_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/internal/servertest"
	"lectern/strapi/movein"
	"lectern/strapi/remote"
)

// testMovedIn moves what was read into a new project. That must answer as the first server does, and give the same
// archive again.
func testMovedIn(t *testing.T, s site, dir string, want []string) {
	project := filepath.Join(t.TempDir(), "project")
	o := movein.Options{Source: remote.Archive(dir), Dir: project}
	o.Project.LogTo = t.Output()
	if _, err := movein.Move(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	base, key := servertest.ServeStored(t, project)
	moved := site{t, base, key}
	for _, path := range []string{
		"/api/restaurants?populate=*&locale=*&pagination[pageSize]=100",
		"/api/restaurants?populate=*&locale=*&pagination[pageSize]=100&status=draft",
		"/api/restaurants?populate[dz][populate]=*&populate[closingPeriods][populate]=*&populate[address][populate]=*&sort=id&status=draft",
		"/api/categories?populate=*", "/api/categories?populate=*&status=draft",
		"/api/menus?populate[dishes][populate]=*&populate[restaurant]=true",
		"/api/menus?populate[dishes][populate]=*&status=draft",
		"/api/people?populate=*", "/api/people?populate=*&status=draft",
		"/api/reviews?populate=*", "/api/setting", "/api/meal-plans?populate=*&locale=*",
		"/api/homepage?populate[hero][populate]=*&populate[featured]=true",
		"/api/homepage?locale=de&status=draft&populate=*",
		"/api/users?populate=role", "/api/upload/files", "/api/i18n/locales", "/api/users-permissions/roles",
	} {
		wantStatus, want := s.do("GET", path, "", nil)
		status, got := moved.do("GET", path, "", nil)
		if status != wantStatus || !bytes.Equal(comparable(path, got), comparable(path, want)) {
			t.Errorf("GET %s\ngot  %d %s\nwant %d %s", path, status, got, wantStatus, want)
		}
	}
	again := t.TempDir()
	read(t, front(t, moved, nil), again, nil)
	if diff := cmp.Diff(withoutConfiguration(want), withoutConfiguration(content(t, again))); diff != "" {
		t.Errorf("the archive of the new project differs (-want +got):\n%s", diff)
	}
}

// withoutConfiguration leaves out the lines of an archive about locales, roles and permissions, which are configuration
// in a new project.
func withoutConfiguration(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.HasPrefix(line, `["plugin::users-permissions.role"`) ||
			strings.HasPrefix(line, `["plugin::users-permissions.permission"`) ||
			strings.HasPrefix(line, `["plugin::i18n.locale"`)
	})
}

// rolesAndLocales are rows of the configuration, whose times are those of the project and not of the source.
var rolesAndLocales = regexp.MustCompile(`"(id|documentId|createdAt|updatedAt|publishedAt)":("[^"]*"|\d+),?`)

func comparable(path string, answer []byte) []byte {
	if path == "/api/i18n/locales" || path == "/api/users-permissions/roles" || path == "/api/users?populate=role" {
		return rolesAndLocales.ReplaceAll(answer, nil)
	}
	return answer
}
