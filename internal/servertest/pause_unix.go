//go:build unix

package servertest

import (
	"bytes"
	"os"
	"syscall"
)

// Pause stops the process from running until Resume.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused process run.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// Stacks ends the process, and returns the stacks of its goroutines: what a server that does not answer waits for.
func (p *Process) Stacks() string {
	if !p.Runs() {
		return ""
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // one that has ended has stacks in its log, or none
	_ = p.cmd.Wait()                          // by the signal
	p.cmd = nil
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, bytes.LastIndex(text, []byte("SIGQUIT"))):])
}
