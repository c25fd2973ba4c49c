package movein_test

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

var kills = flag.Int("kills", 3, "how often TestKilled kills a move-in")

// Environment variables of a process that moves in and kills itself.
const (
	killAt     = "LECTERN_TEST_KILL_AT" // at which call of Progress
	killDir    = "LECTERN_TEST_DIR"
	killSource = "LECTERN_TEST_SOURCE"
	killInto   = "LECTERN_TEST_INTO" // "true" adds to the project in killDir
)

func TestMain(m *testing.M) {
	if os.Getenv(killAt) == "" {
		os.Exit(m.Run())
	}
	at, err := strconv.Atoi(os.Getenv(killAt))
	if err == nil {
		err = moveAndDie(at)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// moveAndDie moves in and kills this process at a call of Progress.
func moveAndDie(at int) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	_, err = movein.Move(context.Background(), movein.Options{
		Source: os.Getenv(killSource), Dir: os.Getenv(killDir), Into: os.Getenv(killInto) == "true",
		Project: gateway.Options{LogTo: io.Discard},
		Progress: func(movein.Progress) {
			if at--; at == 0 {
				if self.Kill() == nil {
					select {}
				}
			}
		},
	})
	return err
}

// TestKilled kills a move-in at random moments, and checks that the next run goes on and makes the same project.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	calls := 0
	whole, _ := move(t, movein.Options{Source: kitchen, Progress: func(movein.Progress) { calls++ }})
	want := contents(t, whole)
	eachKill(t, func(t *testing.T, random *rand.Rand) {
		dir := filepath.Join(t.TempDir(), "project")
		for range 1 + random.IntN(3) { // the same move-in may be killed more than once
			at := 1 + random.IntN(calls)
			t.Logf("killed at %d of %d", at, calls)
			killed(t, dir, at, false)
			if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
				if _, err := os.Stat(filepath.Join(dir, movein.ReportName)); err != nil {
					t.Errorf("a killed move-in left half a project: %v", err)
				}
			}
		}
		finish(t, movein.Options{Source: kitchen, Dir: dir})
		if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
			t.Errorf("-uninterrupted +resumed\n%s", diff)
		}
	})
}

// TestKilledInto kills a move-in that adds to a project, where it replaces some documents and creates others. What a
// kill leaves is a sound store, in which each version is as it was or as it will be, and the next run makes the same
// project as one that was not interrupted.
func TestKilledInto(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	earlier := copied(t, copying{change: func(e *archive.Entity) bool {
		switch e.Type {
		case "api::setting.setting":
			e.Data.Set("siteName", "Before")
		case "api::category.category":
			e.Data.Set("name", "Before "+fmt.Sprint(e.Data.Value("name")))
		case "api::person.person":
			return e.ID > 1
		}
		return e.Type != "api::review.review"
	}})
	base, _ := move(t, movein.Options{Source: earlier})
	copyOf := func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "project")
		if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	calls := 0
	whole, _ := move(t, movein.Options{Source: kitchen, Dir: copyOf(t), Into: true,
		Progress: func(movein.Progress) { calls++ }})
	before, want := contents(t, base), contents(t, whole)
	after := want["content"]
	want["content"] = ranked(t, after)
	eachKill(t, func(t *testing.T, random *rand.Rand) {
		dir := copyOf(t)
		for range 1 + random.IntN(3) {
			at := 1 + random.IntN(calls)
			t.Logf("killed at %d of %d", at, calls)
			killed(t, dir, at, true)
			checkBetween(t, before["content"], contents(t, dir)["content"], after)
		}
		finish(t, movein.Options{Source: kitchen, Dir: dir, Into: true})
		got := contents(t, dir)
		got["content"] = ranked(t, got["content"])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-uninterrupted +resumed\n%s", diff)
		}
	})
}

// ranked replaces the position of each link in an export by its rank among the links of the same attribute to the same
// target. A run that goes on after a kill may put links a second time, in the same order and at higher positions.
func ranked(t *testing.T, exported string) string {
	t.Helper()
	var lines []map[string]any
	links := map[string][]map[string]any{} // by attribute and target
	for line := range strings.Lines(exported) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, v)
		var collect func(path string, v any)
		collect = func(path string, v any) {
			switch v := v.(type) {
			case []any:
				for _, item := range v {
					collect(path, item)
				}
			case map[string]any:
				if _, ok := v["order"]; ok {
					key := fmt.Sprint(path, " ", v["documentId"], " ", v["locale"])
					links[key] = append(links[key], v)
				}
				for name, value := range v {
					collect(path+"."+name, value)
				}
			}
		}
		collect(fmt.Sprint(v["type"], " ", v["status"]), v["data"])
	}
	for _, list := range links {
		slices.SortStableFunc(
			list, func(a, b map[string]any) int { return stdcmp.Compare(a["order"].(float64), b["order"].(float64)) })
		for rank, link := range list {
			link["order"] = rank
		}
	}
	var b strings.Builder
	for _, v := range lines {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// checkBetween checks that an export holds each version of before, and each with the values that it has before or
// after. Links do not count: those of a document may arrive in a later transaction than its values.
func checkBetween(t *testing.T, before, now, after string) {
	t.Helper()
	was, is, will := versionsOf(t, before), versionsOf(t, now), versionsOf(t, after)
	for name, values := range is {
		if values != was[name] && values != will[name] {
			t.Errorf("%s is %s, was %s, will be %s", name, values, was[name], will[name])
		}
	}
	for name := range was {
		if is[name] == "" {
			t.Errorf("%s is gone", name)
		}
	}
}

// versionsOf returns the values of the versions in an export without their links, as JSON, keyed by type, documentId,
// locale and status.
func versionsOf(t *testing.T, exported string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for line := range strings.Lines(exported) {
		var v struct {
			Type, DocumentID, Locale, Status string
			Data                             map[string]any
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(withoutLinks(v.Data))
		if err != nil {
			t.Fatal(err)
		}
		versions[strings.Join([]string{v.Type, v.DocumentID, v.Locale, v.Status}, " ")] = string(text)
	}
	return versions
}

// withoutLinks returns a value of an export without the links in it, and without lists that held only links.
func withoutLinks(v any) any {
	switch v := v.(type) {
	case []any:
		var list []any
		for _, item := range v {
			if item = withoutLinks(item); item != nil {
				list = append(list, item)
			}
		}
		if list == nil {
			return nil
		}
		return list
	case map[string]any:
		if _, link := v["documentId"]; link {
			return nil
		}
		for key, value := range v {
			if v[key] = withoutLinks(value); v[key] == nil {
				delete(v, key)
			}
		}
	}
	return v
}

// eachKill runs a test as often as -kills says, each with a random seed.
func eachKill(t *testing.T, test func(*testing.T, *rand.Rand)) {
	for i := range *kills {
		seed := rand.Uint64()
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Logf("seed %d", seed)
			test(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

// killed runs a move-in that is killed, unless it is done before.
func killed(t *testing.T, dir string, at int, into bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killAt+"="+strconv.Itoa(at), killDir+"="+dir, killSource+"="+kitchen,
		killInto+"="+strconv.FormatBool(into))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && !exit.Exited():
	case strings.Contains(string(out), "is not empty"): // an earlier run was done
	default:
		t.Fatalf("%v: %s", err, out)
	}
}

// finish finishes a move-in unless it is done, and checks that it leaves nothing beside the project.
func finish(t *testing.T, o movein.Options) {
	t.Helper()
	o.Project.LogTo = t.Output()
	if _, err := movein.Move(t.Context(), o); err != nil && !strings.Contains(err.Error(), "is not empty") {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(o.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("beside the project there are %v", entries)
	}
}

// contents returns the files of a project by name: a hash of each, and of its store the content as exported.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || strings.HasPrefix(name, filepath.Join("data", admin.StoreName)) ||
			d.Name() == "jwt-secret" {
			return err
		}
		text, err := os.ReadFile(path)
		files[name] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := gateway.Open(dir, gateway.Options{LogTo: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := errors.Join(p.Export(t.Context(), &b), p.Store().Check(), p.Close()); err != nil {
		t.Fatal(err)
	}
	files["content"] = b.String()
	return files
}
