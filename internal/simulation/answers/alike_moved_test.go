package answers

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"lectern/auth"
	"lectern/command"
	"lectern/internal/simulation/program"
)

// TestMovedProjectsAnswerAsBefore moves archives of the reference in, and sends reads whose answers the reference gave
// before: random reads in REST and GraphQL of API tokens, users who log in with their old passwords, and the public,
// and the bytes of all files. testdata/moved has the archives, made by reference/fill.mjs, and the answers, recorded by
// TestServersAnswerAlike with -record.
func TestMovedProjectsAnswerAsBefore(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for _, test := range []struct {
		name, tree string
		settings   string // what the archive does not hold
		least      int    // recorded reads
	}{
		{"kitchen", "", "graphql:\n  config: {depthLimit: 10, amountLimit: 100, defaultLimit: 10, maxLimit: 100}\n",
			400},
		{"workshop", "reference/workshop", "", 350},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "site")
			archive := filepath.Join("testdata", "moved", test.name+".tar.gz")
			arguments := []string{"move-in", archive, dir}
			if test.tree != "" {
				arguments = []string{"move-in", test.tree, dir, "--archive", archive}
			}
			if code := command.Main(t.Context(), arguments,
				command.Program{Stdout: io.Discard, Stderr: io.Discard}); code != 0 {
				t.Fatalf("move-in: exit code %d", code)
			}
			appendTo(t, filepath.Join(dir, "config", "plugins.yaml"), test.settings)
			server := serveDirectory(t, dir)
			recorded := readExchanges(t, filepath.Join("testdata", "moved", test.name+".jsonl.gz"))
			if len(recorded) < test.least {
				t.Errorf("%d recorded reads, want %d", len(recorded), test.least)
			}
			compareRecorded(t, server, recorded)
		})
	}
}

// compareRecorded sends recorded reads and compares the answers.
func compareRecorded(t *testing.T, server *program.Server, recorded []exchange) {
	t.Helper()
	for _, e := range recorded {
		if e.As != "full" && e.As != "public" && server.Users[e.As] == "" {
			_, answer, err := server.Do("POST", "/api/auth/local",
				map[string]any{"identifier": e.As, "password": passwordOf(e.As)})
			if err != nil {
				t.Fatal(err)
			}
			body, _ := answer.(map[string]any)
			if server.Users[e.As], _ = body["jwt"].(string); server.Users[e.As] == "" {
				t.Fatalf("%s cannot log in: %s", e.As, printed(answer))
			}
		}
		got, err := e.do(server)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range e.compare(got) {
			t.Errorf("%s\n%s", e.read, m)
		}
	}
}

// serveDirectory serves a project with its data until the test ends, and checks the store after that.
func serveDirectory(t *testing.T, dir string) *program.Server {
	t.Helper()
	l := &lectern{t: t, dir: dir, data: filepath.Join(dir, "data")}
	if err := l.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
	_, key, err := l.project.CreateToken(t.Context(), auth.Declaration{Name: "full", Kind: auth.FullAccess})
	if err != nil {
		t.Fatal(err)
	}
	l.Token, l.Users = key, map[string]string{}
	return &l.Server
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// readExchanges reads what writeExchanges has written.
func readExchanges(t *testing.T, name string) (list []exchange) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bufio.NewReader(z))
	for {
		var e exchange
		if err := d.Decode(&e); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, e)
	}
}
