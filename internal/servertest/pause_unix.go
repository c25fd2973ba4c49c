//go:build unix

package servertest

import "syscall"

// Pause stops the process from running until Resume.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused process run.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
