package attack

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"lectern/internal/servertest"
)

// binary builds the released program once for all tests, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "lectern")
	build := exec.Command("go", "build", "-o", path, "lectern")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

var buildDir string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if buildDir, err = os.MkdirTemp("", "lectern-attack-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(buildDir)
		return m.Run()
	}())
}

// A project is a project directory on disk with a full-access token.
type project struct {
	t    *testing.T
	dir  string
	data string // data directory
	// environment is the option --env of the server; "" is production.
	environment string
	token       string
}

// newProject writes files, given by their paths within the project, and creates a token. An empty data stands for
// dir/data.
func newProject(t *testing.T, data string, files map[string]string) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), data: data}
	if p.data == "" {
		p.data = filepath.Join(p.dir, "data")
	}
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	key, stderr, err := p.run("token", "create", "--type", "full-access", "--data", p.data, p.dir, "full")
	if err != nil {
		t.Fatalf("token create: %v\n%s", err, stderr)
	}
	p.token = strings.TrimSpace(key)
	return p
}

// run runs a command of the program and returns its output.
func (p *project) run(args ...string) (stdout, stderr string, err error) {
	p.t.Helper()
	path, err := binary()
	if err != nil {
		p.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// A server is a process that serves a project.
type server struct {
	base, token string
	cmd         *exec.Cmd
	log         servertest.LogBuffer
	ended       chan struct{}
}

var servingLine = regexp.MustCompile(`serving[^\n]*base["=:]+(http://[0-9.:]+)`)

// serve starts the program and waits until it is ready. wrap goes before the command, for example a shell that sets
// limits. The process is killed when the test ends.
func (p *project) serve(wrap ...string) *server {
	p.t.Helper()
	s := p.start(wrap...)
	if s.base == "" {
		p.t.Fatalf("the server ended before it served:\n%s", s.log.String())
	}
	return s
}

// start does what serve does for a server that may refuse to start. Its base is then empty.
func (p *project) start(wrap ...string) *server {
	p.t.Helper()
	path, err := binary()
	if err != nil {
		p.t.Fatal(err)
	}
	line := append(wrap, path, "serve", p.dir, "--data", p.data, "--addr", "127.0.0.1:0", "--env",
		cmp.Or(p.environment, "production"))
	s := &server{token: p.token, cmd: exec.Command(line[0], line[1:]...), ended: make(chan struct{})}
	out, err := s.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(s.kill)
	serving := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			fmt.Fprintln(&s.log, lines.Text())
			if m := servingLine.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case serving <- m[1]:
				default:
				}
			}
		}
		_ = s.cmd.Wait() // ProcessState has the result
	}()
	select {
	case s.base = <-serving:
	case <-s.ended:
	}
	return s
}

// kill ends the process at once. The process may have ended already.
func (s *server) kill() {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
	<-s.ended
}

// stop ends the process by the signal that operators use.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
}

// anonymousMemory returns the bytes of memory of the process that are not backed by a file (RssAnon).
func (s *server) anonymousMemory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "RssAnon:")
	if !found {
		t.Fatalf("the server has ended:\n%s", s.log.String())
	}
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
