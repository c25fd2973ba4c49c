package movein_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

// TestCompare changes the new project after the import, and checks that the comparison finds it.
func TestCompare(t *testing.T) {
	line := func(data string) string {
		return `{"type":"api::menu.menu","documentId":"jp784kcug7gzsb2nj4lju95a","id":1,"createdAt":"2026-11-22T13:21:16.292Z",` +
			`"updatedAt":"2026-11-22T13:21:16.292Z","publishedAt":"2026-11-22T13:21:16.267Z","data":` + data + `}`
	}
	const (
		soup  = `{"id":1,"name":"Soup","price":4.5,"categories":[{"documentId":"qeuux86h04ywnqid4j9xtqnm"},{"documentId":"xl6xs0gjkfljzwxgxfv6081f"}]}`
		bread = `{"id":2,"name":"Bread","price":1}`
	)
	for name, c := range map[string]struct {
		lines  string // imported after the move has imported its own
		remove string // a file to remove
		want   string // "" for no difference
	}{
		"nothing": {lines: line(`{"title":"Lunch","dishes":[` + soup + `,` + bread + `]}`)},
		"value": {lines: line(`{"title":"Dinner","dishes":[` + soup + `,` + bread + `]}`),
			want: "has other values"},
		"component": {lines: line(`{"title":"Lunch","dishes":[` + soup + `]}`), want: "has other values"},
		"order": {lines: line(`{"title":"Lunch","dishes":[` + bread + `,` + soup + `]}`),
			want: "has other values"},
		"id": {lines: line(`{"title":"Lunch","dishes":[` + strings.Replace(soup, `"id":1`, `"id":90`, 1) +
			`,` + bread + `]}`), want: "has other values"},
		"link": {lines: line(`{"title":"Lunch","dishes":[` +
			strings.Replace(soup, `{"documentId":"qeuux86h04ywnqid4j9xtqnm"},`, "", 1) + `,` + bread + `]}`),
			want: "default.dish.categories: 5 links expected, 4 arrived"},
		"links": {lines: line(`{"title":"Lunch","dishes":[` +
			strings.Replace(soup, `{"documentId":"qeuux86h04ywnqid4j9xtqnm"}`,
				`{"documentId":"ji5hgwozosm2hi21an85lrv6"}`, 1) + `,` + bread + `]}`), want: "has other values"},
		"version": {lines: `{"type":"api::category.category","documentId":"xl6xs0gjkfljzwxgxfv6081f","status":"draft","id":1,"data":{"name":"Italian"}}`, want: "api::category.category  published: 2 versions expected, 1 arrived"},
		"one more": {lines: `{"type":"api::person.person","documentId":"more","data":{"firstName":"More"}}`,
			want: "is in the store, and not in the source"},
		"lost a file": {remove: "red_b24a153d6b.png", want: "8 files expected, 7 arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "project")
			built := filepath.Join(filepath.Dir(dir), ".project.move-in", "project")
			saved := 0
			_, err := movein.Move(t.Context(), movein.Options{Source: kitchen, Dir: dir,
				Project: gateway.Options{LogTo: t.Output()}, Progress: func(p movein.Progress) {
					if p.Phase != "saving" {
						return
					}
					if saved++; saved != 3 { // files of the project, uploads, content
						return
					}
					if c.remove != "" {
						if err := os.Remove(filepath.Join(built, "data", "uploads", c.remove)); err != nil {
							t.Error(err)
						}
						return
					}
					importLines(t, built, c.lines)
				}})
			if saved < 3 {
				t.Fatal("nothing was changed")
			}
			var d *movein.Difference
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error %v", err)
			case c.want != "" && (!errors.As(err, &d) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func importLines(t *testing.T, dir, lines string) {
	t.Helper()
	p, err := gateway.Open(dir, gateway.Options{LogTo: t.Output()})
	if err != nil {
		t.Error(err)
		return
	}
	_, err = p.Import(t.Context(), strings.NewReader(lines), transfer.ImportOptions{})
	if err := errors.Join(err, p.Close()); err != nil {
		t.Error(err)
	}
}

// TestPermissions checks that a role has no permission that it did not have in Strapi, even one that roles of a fresh
// store have, and that the report says who may read drafts because Strapi has no permission of its own for that.
func TestPermissions(t *testing.T) {
	source := copied(t, copying{change: func(e *archive.Entity) bool {
		return e.Data.Value("action") != "plugin::users-permissions.auth.register"
	}})
	dir, report := move(t, movein.Options{Source: source})
	if !slices.ContainsFunc(report.Notes, func(n movein.Note) bool {
		return n.What == "drafts" && strings.HasPrefix(n.Why, "as in Strapi, the role ")
	}) {
		t.Errorf("nothing is said of who may read drafts: %+v", report.Notes)
	}
	base, _ := servertest.ServeStored(t, dir)
	resp, err := http.Post(base+"/api/auth/local/register", "application/json",
		strings.NewReader(`{"username":"carl","email":"carl@example.org","password":"Secret123"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("status %d, want 403", resp.StatusCode)
	}
}
