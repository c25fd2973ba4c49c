//go:build linux

package clusters

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// mountDisk gives a node a disk of its own, if -disks says so.
func (w *world) mountDisk(n *node) {
	if *disks == 0 {
		return
	}
	data := filepath.Join(n.dir, "data")
	w.must(os.Mkdir(data, 0o700))
	w.must(syscall.Mount("tmpfs", data, "tmpfs", 0, fmt.Sprintf("size=%dm", *disks)))
	w.Cleanup(func() { w.must(syscall.Unmount(data, 0)) })
}

func (n *node) filler() string { return filepath.Join(n.dir, "data", "filler") }

// fill leaves no space on the disk of a node.
func (n *node) fill() (err error) {
	f, err := os.OpenFile(n.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for size := 1 << 20; size > 0 && err == nil; {
		if _, err = f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size, err = size/4, nil
		}
	}
	n.full = true
	return errors.Join(err, f.Close())
}

// empty makes space again.
func (n *node) empty() error {
	if !n.full {
		return nil
	}
	n.full = false
	return os.Remove(n.filler())
}

// revive starts a node again that has ended because its disk was full when it started, as a service manager does. No
// node ends otherwise.
func (w *world) revive(n *node) {
	w.Helper()
	if !n.Runs() || !n.ended() {
		return
	}
	_, last, _ := cutLast(n.Log(), "\ntime=")
	if _, printed, _ := strings.Cut(last, "\n"); !strings.Contains(printed, "no space left on device") {
		w.Fatalf("%s has ended:\n%s", n.name, n.Log())
	}
	w.must(n.hurry())
	n.Kill()
	n.Start()
}

// ended reports whether the process of a node has ended by itself.
func (n *node) ended() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.ID()))
	_, state, _ := cutLast(string(text), ") ")
	return err == nil && strings.HasPrefix(state, "Z")
}

// slowDown has each sync of a node take some time longer. strace stops the node at each system call, so all of it is
// slower.
func (n *node) slowDown(by time.Duration) error {
	n.slow = exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-p", strconv.Itoa(n.ID()), "-e",
		"trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%d", by.Microseconds()))
	return n.slow.Start()
}

// stracePatience is how long strace may take to let a process go.
const stracePatience = 2 * time.Second

// hurry ends what slowDown has begun.
func (n *node) hurry() error {
	if n.slow == nil {
		return nil
	}
	traced := n.slow
	n.slow = nil
	if err := traced.Process.Signal(os.Interrupt); err != nil &&
		!errors.Is(err, os.ErrProcessDone) { // the node may have been killed
		return err
	}
	late := time.AfterFunc(stracePatience,
		func() { _ = traced.Process.Kill() }) // now and then it waits for ever for one of many threads to stop
	defer late.Stop()
	var ended *exec.ExitError
	if err := traced.Wait(); err != nil && !errors.As(err, &ended) {
		return err
	}
	if n.paused || !n.Runs() {
		return nil
	}
	return n.Resume() // strace may have left it stopped
}
