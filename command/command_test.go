package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"lectern/command"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lectern": func() { os.Exit(command.Main(context.Background(), os.Args[1:], command.Program{})) },
	})
}

// TestScripts runs testdata/script. It adds these commands to those of testscript:
//
//	exits CODE ARGS…         runs lectern with ARGS, which must exit with CODE
//	start ARGS…              starts lectern serve with ARGS on a free port; sets $BASE, and $ADDR without http://
//	shutdown [HUP]           sends it SIGTERM, or SIGHUP; it must exit with 0
//	waits-for TEXT ARGS…     runs lectern with ARGS again and again, until its standard output contains TEXT
//	get PATH [STATUS [KEY]]  sends it a GET request; KEY is the name of a file with the key of a token
//	post PATH STATUS FILE    sends it the JSON in a file
func TestScripts(t *testing.T) {
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		dir = ""
		for _, name := range []string{"backup", "cluster", "follow", "replica"} { // which have several servers
			files = append(files, filepath.Join("testdata", "script", name+".txtar"))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "start": start, "shutdown": shutdown, "get": get, "post": post, "waits-for": waitsFor, "secret": secret,
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "TMPDIR="+e.WorkDir+"/tmp")
			e.Values["server"] = new(server)
			return os.Mkdir(e.WorkDir+"/tmp", 0o755)
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("lectern", args[1:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func waitsFor(ts *testscript.TestScript, _ bool, args []string) {
	for late := time.Now().Add(20 * time.Second); ; {
		_ = ts.Exec("lectern", args[1:]...) // it may fail until the text appears
		if strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		if time.Now().After(late) {
			ts.Fatalf("%s does not appear", args[0])
		}
		// Nothing tells when what another process does can be seen.
		time.Sleep(10 * time.Millisecond)
	}
}

// A server is the process `lectern serve` that a script has started.
type server struct{ cmd *exec.Cmd } // nil if there is none

func serverOf(ts *testscript.TestScript) *server { return ts.Value("server").(*server) }

func start(ts *testscript.TestScript, _ bool, args []string) {
	path, err := exec.LookPath("lectern")
	ts.Check(err)
	cmd := exec.Command(path, append([]string{"serve", "--env", "production", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"))
	log, err := cmd.StderrPipe()
	ts.Check(err)
	out, err := os.Create(ts.MkAbs("served"))
	ts.Check(err)
	defer out.Close()
	cmd.Stdout = out
	ts.Check(cmd.Start())
	s := serverOf(ts)
	s.cmd = cmd
	ts.Defer(func() {
		if s.cmd == cmd {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var l struct{ Msg, Base string }
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Msg == "serving" {
			ts.Setenv("BASE", l.Base)
			ts.Setenv("ADDR", strings.TrimPrefix(l.Base, "http://"))
			go io.Copy(io.Discard, log)
			return
		}
		ts.Logf("%s", lines.Text())
	}
	s.cmd = nil
	ts.Fatalf("it did not serve: %v", cmd.Wait())
}

func shutdown(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	cmd := s.cmd
	s.cmd = nil
	by := syscall.SIGTERM
	if len(args) == 1 && args[0] == "HUP" && !signal.Ignored(syscall.SIGHUP) { // unless the tests run under nohup
		by = syscall.SIGHUP
	}
	ts.Check(cmd.Process.Signal(by))
	ts.Check(cmd.Wait())
}

// secret sets a variable of the environment to the content of a file.
func secret(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

func get(ts *testscript.TestScript, _ bool, args []string) {
	req, err := http.NewRequest(http.MethodGet, ts.Getenv("BASE")+args[0], nil)
	ts.Check(err)
	status := "200"
	if len(args) > 1 {
		status = args[1]
	}
	if len(args) > 2 {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
	}
	send(ts, req, status)
}

func post(ts *testscript.TestScript, _ bool, args []string) {
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("BASE")+args[0], strings.NewReader(ts.ReadFile(args[2])))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	send(ts, req, args[1])
}

// send sends a request, and fails unless it is answered with a status.
func send(ts *testscript.TestScript, req *http.Request, status string) {
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	_, err = io.Copy(ts.Stdout(), res.Body)
	ts.Check(err)
	if fmt.Sprint(res.StatusCode) != status {
		ts.Fatalf("%s is answered %d, want %s", req.URL.Path, res.StatusCode, status)
	}
}
