package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// A Process is a server in a process of its own: the test program, whose TestMain serves if it finds a variable in its
// environment.
type Process struct {
	// Namespace is the network namespace in which the process is started, as `ip netns` names it; "" is that of the
	// test.
	Namespace string

	t   testing.TB
	env string // NAME=VALUE
	log string // path of the file
	cmd *exec.Cmd
	id  atomic.Int64
}

// NewProcess returns a process that is not started yet. It is killed when the test ends. What it prints goes to the
// file log in dir.
func NewProcess(t testing.TB, env, dir string) *Process {
	p := &Process{t: t, env: env, log: filepath.Join(dir, "log")}
	t.Cleanup(p.Kill)
	return p
}

// Start starts the process.
func (p *Process) Start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(os.Args[0])
	if p.Namespace != "" {
		p.cmd = exec.Command("nsenter", "--net=/var/run/netns/"+p.Namespace,
			os.Args[0]) // becomes the program, with its process id
	}
	p.cmd.Env = append(os.Environ(), p.env)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.id.Store(int64(p.cmd.Process.Pid))
}

// Runs reports whether the process was started and not ended by Kill or Stop.
func (p *Process) Runs() bool { return p.cmd != nil }

// ID returns the id of the process that was started last; 0 if there was none. Any goroutine may call it.
func (p *Process) ID() int { return int(p.id.Load()) }

// Kill ends the process at once, as kill -9 does. It does nothing if the process does not run.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
	p.cmd = nil
}

// Stop asks the process to end, and waits for that. It returns the error with which the process ended.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := p.cmd.Wait()
	p.cmd = nil
	if err != nil {
		return fmt.Errorf("%w: %s", err, p.Log())
	}
	return nil
}

// Log returns the end of what the process has printed.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-4000):])
}
