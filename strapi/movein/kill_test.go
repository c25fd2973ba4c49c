package movein_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/strapi/movein"
)

var kills = flag.Int("kills", 3, "how often TestKilled kills a move-in")

// Environment variables of a process that moves in and kills itself.
const (
	killAt     = "LECTERN_TEST_KILL_AT" // at which call of Progress
	killDir    = "LECTERN_TEST_DIR"
	killSource = "LECTERN_TEST_SOURCE"
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
		Source: os.Getenv(killSource), Dir: os.Getenv(killDir), Project: gateway.Options{LogTo: io.Discard},
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
	calls := 0
	whole, _ := move(t, movein.Options{Source: kitchen, Progress: func(movein.Progress) { calls++ }})
	want := contents(t, whole)
	for i := range *kills {
		seed := rand.Uint64()
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			dir := filepath.Join(t.TempDir(), "project")
			var at []int
			for range 1 + random.IntN(3) { // the same move-in may be killed more than once
				at = append(at, 1+random.IntN(calls))
				killed(t, dir, at[len(at)-1])
			}
			if diff := cmp.Diff(want, contents(t, finished(t, dir))); diff != "" {
				t.Errorf("killed at %v of %d (seed %d): -uninterrupted +resumed\n%s", at, calls, seed, diff)
			}
		})
	}
}

// killed runs a move-in that is killed, unless it is done before.
func killed(t *testing.T, dir string, at int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killAt+"="+strconv.Itoa(at), killDir+"="+dir, killSource+"="+kitchen)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && !exit.Exited():
	case strings.Contains(string(out), "is not empty"): // an earlier run was done
	default:
		t.Fatalf("%v: %s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, movein.ReportName)); err != nil {
			t.Errorf("a killed move-in left half a project: %v", err)
		}
	}
}

// finished finishes a move-in unless it is done, and checks that it leaves nothing beside the project.
func finished(t *testing.T, dir string) string {
	t.Helper()
	if _, err := movein.Move(t.Context(), movein.Options{Source: kitchen, Dir: dir, Project: gateway.Options{LogTo: t.Output()}}); err != nil &&
		!strings.Contains(err.Error(), "is not empty") {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("beside the project there are %v", entries)
	}
	return dir
}

// contents returns the files of a project by name: a hash of each, and of its store the content as exported.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || strings.HasPrefix(name, filepath.Join("data", admin.StoreName)) || d.Name() == "jwt-secret" {
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
