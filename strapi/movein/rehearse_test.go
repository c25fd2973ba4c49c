package movein_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

// TestDryRun checks that a dry run reports what the move reports after it, and writes nothing.
func TestDryRun(t *testing.T) {
	beside := t.TempDir()
	temporaryIn(t)
	_, report := move(t, movein.Options{Source: kitchen, Dir: filepath.Join(beside, "project"), DryRun: true})
	if left, _ := os.ReadDir(beside); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	_, moved := move(t, movein.Options{Source: kitchen})
	if diff := cmp.Diff(moved, report, cmp.AllowUnexported(movein.LinkCount{})); diff != "" {
		t.Errorf("-move +dry run\n%s", diff)
	}
}

// temporaryIn gives the test a directory for temporary files of its own, and checks at its end that none is left.
func temporaryIn(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	})
}

// TestHostileNames moves in an archive whose component has a uid that leads out of the directory in which its
// definition is written. Neither a move nor a dry run writes a file elsewhere.
func TestHostileNames(t *testing.T) {
	for _, uid := range []string{"x./../../../name", "x./../../name", "../../../x.name",
		"x./../../../../../../../../../../../../tmp/lectern-hostile"} {
		source := copied(t, copying{schema: func(s *archive.Schema) {
			if s.Data.Value("modelType") == "component" && s.UID != uid {
				s.UID = uid
				s.Data.Set("uid", uid)
			}
		}})
		for _, dry := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %t", uid, dry), func(t *testing.T) {
				beside := t.TempDir()
				temporaryIn(t)
				o := movein.Options{Source: source, Dir: filepath.Join(beside, "project"), DryRun: dry,
					Project: gateway.Options{LogTo: t.Output()}}
				if _, err := movein.Move(t.Context(), o); err == nil ||
					!strings.Contains(err.Error(), "cannot be the uid") {
					t.Errorf("error %v", err)
				}
				if left, _ := os.ReadDir(beside); len(left) > 0 {
					t.Errorf("it left %v", left)
				}
				if _, err := os.Lstat("/tmp/lectern-hostile.yaml"); err == nil {
					t.Error("it wrote /tmp/lectern-hostile.yaml", os.Remove("/tmp/lectern-hostile.yaml"))
				}
			})
		}
	}
}

// TestDryRunRefuses checks that a dry run finds what the move would refuse: values that are not valid, a directory with
// files, and files and unique values that clash with those of the project that content is added to.
func TestDryRunRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	invalid := copied(t, copying{change: func(e *archive.Entity) bool {
		if e.Type == "api::restaurant.restaurant" {
			e.Data.Set("seats", "many")
		}
		return true
	}})
	renamed := copied(t, copying{change: func(e *archive.Entity) bool {
		if e.Type == "api::category.category" {
			e.Data.Set("documentId", strings.Repeat("z", 20)+e.Data.Value("documentId").(string)[20:])
		}
		return true
	}})
	twice, _ := move(t, movein.Options{Source: kitchen})
	move(t, movein.Options{Source: renamed, Dir: twice, Into: true, Misfits: movein.Keep})
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options movein.Options
		change  func(dir string) error // of the project that content is added to
		want    string
	}{
		"value":        {options: movein.Options{Source: invalid}, want: "seats"},
		"directory":    {options: movein.Options{Source: kitchen, Dir: full}, want: "is not empty"},
		"unique value": {options: movein.Options{Source: renamed, Into: true}, want: "--misfits keep"},
		"file": {options: movein.Options{Source: kitchen, Into: true}, change: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "data", "uploads", "notes_61299e30d1.txt"),
				[]byte("other notes of mine"), 0o600)
		}, want: "another uploaded file notes_61299e30d1.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options
			o.Project.LogTo = t.Output()
			if o.Into {
				o.Dir, _ = move(t, movein.Options{Source: kitchen})
			} else if o.Dir == "" {
				o.Dir = filepath.Join(t.TempDir(), "project")
			}
			if c.change != nil {
				if err := c.change(o.Dir); err != nil {
					t.Fatal(err)
				}
			}
			temporaryIn(t)
			var errs [2]error
			for i, dry := range []bool{true, false} {
				o.DryRun = dry
				if _, errs[i] = movein.Move(t.Context(), o); errs[i] == nil ||
					!strings.Contains(errs[i].Error(), c.want) {
					t.Errorf("dry run %t: error %v, want one with %q", dry, errs[i], c.want)
				}
			}
			var dry, real *movein.Difference
			if errors.As(errs[0], &dry) && errors.As(errs[1], &real) {
				if diff := cmp.Diff(real.Lines, dry.Lines); diff != "" {
					t.Errorf("-move +dry run\n%s", diff)
				}
			}
		})
	}
}

// TestDryRunInto checks that a dry run into a project, with and without a server on it, reports what the move reports
// after it, and leaves the project as it is.
func TestDryRunInto(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	changed := copied(t, copying{change: func(e *archive.Entity) bool {
		if e.Type == "api::setting.setting" {
			e.Data.Set("siteName", "Changed")
		}
		return e.Type != "api::review.review"
	}})
	for _, served := range []bool{false, true} {
		t.Run(map[bool]string{false: "stopped", true: "served"}[served], func(t *testing.T) {
			dir, _ := move(t, movein.Options{Source: kitchen})
			o := movein.Options{Source: changed, Dir: dir, Into: true, Project: gateway.Options{}}
			var before map[string]string
			if served {
				servertest.ServeStored(t, dir)
			} else {
				before = contents(t, dir)
			}
			o.DryRun = true
			_, report := move(t, o)
			if !served {
				if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
					t.Errorf("the dry run changed the project: %s", diff)
				}
			}
			o.DryRun = false
			_, moved := move(t, o)
			if diff := cmp.Diff(moved, report, cmp.AllowUnexported(movein.LinkCount{})); diff != "" {
				t.Errorf("-move +dry run\n%s", diff)
			}
		})
	}
}
