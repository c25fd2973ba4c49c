package simulation

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// The released program, and a build in which the store's syncs can be counted, delayed and made to fail. Each is built once,
// in buildDir.
var (
	plainBinary   = sync.OnceValues(func() (string, error) { return buildBinary(false) })
	watchedBinary = sync.OnceValues(func() (string, error) { return buildBinary(true) })
	buildDir      string
)

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if buildDir, err = os.MkdirTemp("", "lectern-simulation-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

func buildBinary(watched bool) (string, error) {
	binary, args := filepath.Join(buildDir, "lectern"), []string{"build", "-trimpath"}
	if watched {
		module, err := watchedModule(buildDir)
		if err != nil {
			return "", err
		}
		binary += "-watched"
		args = append(args, "-modfile", module)
	}
	build := exec.Command("go", append(args, "-o", binary, "lectern")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in a release
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

// watchedModule writes a go.mod that replaces bbolt by a copy with watched syncs, and returns its path.
func watchedModule(dir string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.etcd.io/bbolt").Output()
	if err != nil {
		return "", err
	}
	bolt, module := filepath.Join(dir, "bbolt"), filepath.Join(dir, "watched.mod")
	err = os.CopyFS(bolt, os.DirFS(strings.TrimSpace(string(out))))
	for to, from := range map[string]string{
		filepath.Join(bolt, "bolt_linux.go"): "testdata/sync_linux.go.txt",
		module:                               "../../go.mod",
		filepath.Join(dir, "watched.sum"):    "../../go.sum",
	} {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(from)
		}
		if to == module {
			text = append(text, "\nreplace go.etcd.io/bbolt => "+bolt+"\n"...)
		}
		if err == nil {
			os.Remove(to) // files of the module cache are read-only
			err = os.WriteFile(to, text, 0o600)
		}
	}
	return module, err
}

// A noteProject is a project on disk with the binary that serves it. Its notes belong to boards, and have drafts and
// published versions.
type noteProject struct {
	binary, dir string
	token       string
	env         []string
}

// noteModel defines types such that one write touches rows in two versions, an index, and links on both sides.
func noteModel() *Model {
	board := &Type{Schema: Schema{UID: "api::board.board"}, Singular: "board", Plural: "boards"}
	note := &Type{Schema: Schema{UID: "api::note.note"}, Singular: "note", Plural: "notes", Drafts: true}
	on := &Attribute{Name: "board", Type: "relation", Relation: "manyToOne", Target: board, Owner: note}
	notes := &Attribute{Name: "notes", Type: "relation", Relation: "oneToMany", Target: note, Owner: board, Mapped: true, Inverse: on}
	on.Inverse = notes
	board.Attributes = []*Attribute{{Name: "name", Type: "string"}, notes}
	note.Attributes = []*Attribute{{Name: "key", Type: "string", Unique: true}, {Name: "number", Type: "integer"}, on}
	return &Model{Types: []*Type{board, note}, Locales: []string{"en"}, DefaultLimit: 10, MaxLimit: -1}
}

// newNoteProject writes the project and creates a token.
func newNoteProject(t *testing.T, build func() (string, error)) *noteProject {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &noteProject{binary: binary, dir: t.TempDir()}
	if err := WriteProject(s.dir, noteModel()); err != nil {
		t.Fatal(err)
	}
	s.newData(t)
	return s
}

// newData replaces the store by an empty one.
func (s *noteProject) newData(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "data")); err != nil {
		t.Fatal(err)
	}
	key, err := exec.Command(s.binary, "token", "create", "--type", "full-access", s.dir, "full").Output()
	if err != nil {
		t.Fatalf("token create: %v", err)
	}
	s.token = strings.TrimSpace(string(key))
}

var baseInLog = regexp.MustCompile(`serving[^\n]*base["=:]+(http://[0-9.:]+)`)

// serve starts the binary and waits until it is ready.
func (s *noteProject) serve(t *testing.T) *Server {
	t.Helper()
	return s.serveUnder(t, nil)
}

// serveUnder is like serve, but another command starts the binary: the last arguments of the command are the binary and its own.
func (s *noteProject) serveUnder(t *testing.T, command []string) *Server {
	t.Helper()
	command = append(command, s.binary, "serve", s.dir, "--addr", "127.0.0.1:0", "--env", "production")
	server := &Server{Token: s.token, cmd: exec.Command(command[0], command[1:]...), done: make(chan error, 1)}
	server.cmd.Env = append(os.Environ(), s.env...)
	out, err := server.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.cmd.Process.Kill() })
	log := bufio.NewReader(out)
	var seen bytes.Buffer
	for server.Base == "" {
		line, err := log.ReadString('\n')
		seen.WriteString(line)
		if m := baseInLog.FindStringSubmatch(line); m != nil {
			server.Base = m[1]
		} else if err != nil {
			t.Fatalf("serve: %v\n%s", err, seen.String())
		}
	}
	go func() {
		io.Copy(io.Discard, log)
		server.done <- server.cmd.Wait()
	}()
	return server
}

// check verifies the store that a process has left behind.
func (s *noteProject) check(t *testing.T) {
	t.Helper()
	if err := checkStore(s.dir, filepath.Join(s.dir, "data")); err != nil {
		t.Errorf("the store after a crash: %v", err)
	}
}

// stored reads all notes of a status. It returns the number and documentId of each row, by key.
func stored(t *testing.T, server *Server, status string) map[string][]note {
	t.Helper()
	found := map[string][]note{}
	for page := 1; ; page++ {
		path := fmt.Sprintf("/api/notes?status=%s&sort=id&pagination[pageSize]=100&pagination[page]=%d&populate[board][fields]=name", status, page)
		code, answer, err := server.Do("GET", path, nil)
		if err != nil || code != 200 {
			t.Fatalf("GET %s: %d %v %v", path, code, answer, err)
		}
		rows := answer.(map[string]any)["data"].([]any)
		for _, x := range rows {
			row := x.(map[string]any)
			key := row["key"].(string)
			board, _ := row["board"].(map[string]any)
			n := note{documentID: row["documentId"].(string), onBoard: board != nil}
			fmt.Sscan(fmt.Sprint(row["number"]), &n.number)
			found[key] = append(found[key], n)
		}
		if len(rows) < 100 {
			return found
		}
	}
}

// A note is a note as the server returns it.
type note struct {
	documentID string
	number     int
	onBoard    bool
}
