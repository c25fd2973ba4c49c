package program

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

// Seed is the first seed of what tests choose at random.
var Seed = flag.Uint64("seed", 1, "first seed")

// BuildDir makes the directory in which Build works, once. Main removes it.
var BuildDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "lectern-simulation-") })

// Main runs the tests of a package, and removes the programs that they have built.
func Main(m *testing.M) {
	code := m.Run()
	if dir, err := BuildDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// Released builds the program as it is released, once.
var Released = sync.OnceValues(func() (string, error) { return Build("lectern") })

// Build builds the program under a name, with more arguments for the build, and returns its path.
func Build(name string, args ...string) (string, error) {
	dir, err := BuildDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, name)
	build := exec.Command("go", append(append([]string{"build", "-trimpath"}, args...), "-o", binary, "lectern")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in a release
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

// Notes is a project on disk with the program that serves it. Its notes belong to boards, and have drafts and published
// versions: one write touches rows in two versions, an index, and links on both sides.
type Notes struct {
	Binary, Dir string
	Env         []string // further variables of the environment of the program

	token string
}

// definitions are the files of the project.
var definitions = map[string]string{
	"config/api.yaml": "rest: {defaultLimit: 25, maxLimit: 100, withCount: true}\n",
	"config/plugins.yaml": "i18n: {config: {defaultLocale: en, locales: [en]}}\n" +
		"graphql: {config: {documentActions: true, maxLimit: -1}}\n",
	"content-types/board.yaml": `kind: collectionType
info: {singularName: board, pluralName: boards, displayName: Board}
options: {draftAndPublish: false}
attributes:
  name: {type: string}
  notes: {type: relation, relation: oneToMany, target: api::note.note, mappedBy: board}
`,
	"content-types/note.yaml": `kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
attributes:
  key: {type: string, unique: true}
  number: {type: integer}
  board: {type: relation, relation: manyToOne, target: api::board.board, inversedBy: notes}
`,
}

// WriteProject writes the files of the project to a directory. Those in changed replace others.
func WriteProject(t *testing.T, dir string, changed map[string]string) {
	t.Helper()
	for name, text := range definitions {
		if other, is := changed[name]; is {
			text = other
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// NewNotes writes the project and creates a token. The test is skipped if it is to be short.
func NewNotes(t *testing.T, build func() (string, error)) *Notes {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &Notes{Binary: binary, Dir: t.TempDir()}
	WriteProject(t, s.Dir, nil)
	s.NewData(t)
	return s
}

// NewData replaces the store by an empty one.
func (s *Notes) NewData(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.Dir, "data")); err != nil {
		t.Fatal(err)
	}
	key, err := exec.Command(s.Binary, "token", "create", "--type", "full-access", s.Dir, "full").Output()
	if err != nil {
		t.Fatalf("token create: %v", err)
	}
	s.token = strings.TrimSpace(string(key))
}

var baseInLog = regexp.MustCompile(`serving[^\n]*base["=:]+(http://[0-9.:]+)`)

// Serve starts the binary and waits until it is ready.
func (s *Notes) Serve(t *testing.T) *Server {
	t.Helper()
	return s.ServeUnder(t, nil)
}

// ServeUnder is like Serve, but another command starts the binary: the last arguments of the command are the binary and
// its own.
func (s *Notes) ServeUnder(t *testing.T, command []string) *Server {
	t.Helper()
	command = append(command, s.Binary, "serve", s.Dir, "--addr", "127.0.0.1:0", "--env", "production")
	server := &Server{Token: s.token, cmd: exec.Command(command[0], command[1:]...), done: make(chan error, 1)}
	server.cmd.Env = append(os.Environ(), s.Env...)
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

// Check verifies the store that a process has left behind.
func (s *Notes) Check(t *testing.T) {
	t.Helper()
	if err := CheckStore(s.Dir, filepath.Join(s.Dir, "data")); err != nil {
		t.Errorf("the store after a crash: %v", err)
	}
}

// Stored reads all notes of a status. It returns the number and documentId of each row, by key.
func Stored(t *testing.T, server *Server, status string) map[string][]Note {
	t.Helper()
	found := map[string][]Note{}
	for page := 1; ; page++ {
		path := fmt.Sprintf("/api/notes?status=%s&sort=id&pagination[pageSize]=100&pagination[page]=%d"+
			"&populate[board][fields]=name", status, page)
		code, answer, err := server.Do("GET", path, nil)
		if err != nil || code != 200 {
			t.Fatalf("GET %s: %d %v %v", path, code, answer, err)
		}
		rows := answer.(map[string]any)["data"].([]any)
		for _, x := range rows {
			row := x.(map[string]any)
			key := row["key"].(string)
			board, _ := row["board"].(map[string]any)
			n := Note{DocumentID: row["documentId"].(string), OnBoard: board != nil}
			fmt.Sscan(fmt.Sprint(row["number"]), &n.Number)
			found[key] = append(found[key], n)
		}
		if len(rows) < 100 {
			return found
		}
	}
}

// A Note is a note as the server returns it.
type Note struct {
	DocumentID string
	Number     int
	OnBoard    bool
}
