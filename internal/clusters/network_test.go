//go:build linux

package clusters

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"lectern/internal/servertest"
)

// between returns the links from one node to another and back. Connections of an unknown node have links of their own.
func (w *world) between(from, to int) (forth, back *servertest.Link) {
	if from < 0 {
		l := &servertest.Link{}
		return l, l
	}
	return w.links[from][to], w.links[to][from]
}

// sender returns the node whose process has made a connection, -1 if there is none any more.
func (w *world) sender(c net.Conn) int {
	<-w.made
	socket := socketOf(c.RemoteAddr().(*net.TCPAddr).Port, c.LocalAddr().(*net.TCPAddr).Port)
	if socket == "" {
		return -1
	}
	for i, n := range w.nodes {
		dir := fmt.Sprintf("/proc/%d/fd", n.ID())
		files, _ := os.ReadDir(dir) // the process may have ended
		for _, f := range files {
			if to, _ := os.Readlink(filepath.Join(dir, f.Name())); to == socket {
				return i
			}
		}
	}
	return -1
}

// socketOf returns the socket of a connection between two ports of this machine, as links in /proc name it; "" if it is closed.
func socketOf(local, remote int) string {
	table, _ := os.ReadFile("/proc/net/tcp")
	from, to := fmt.Sprintf(":%04X", local), fmt.Sprintf(":%04X", remote)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], from) && strings.HasSuffix(f[2], to) {
			return "socket:[" + f[9] + "]"
		}
	}
	return ""
}

// reachable sets which nodes reach which.
func (w *world) reachable(fault servertest.Fault, does func(from, to int) bool) {
	for from, links := range w.links {
		for to, l := range links {
			if from == to || does(from, to) {
				l.Set(servertest.None)
			} else {
				l.Set(fault)
			}
		}
	}
}
