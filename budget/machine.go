package budget

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// Memory is how much memory the process may have.
type Memory struct {
	Bytes   int64 // 0: nobody says
	Limited bool  // by a control group, that is less than the machine has
}

// unknownMemory is what a process is taken to have where the system does not say.
const unknownMemory = 2 << 30

// MachineMemory asks the system: the limits of the control groups that the process is in (versions 2 and 1), or else the memory
// of the machine.
func MachineMemory() Memory { return memoryIn(os.DirFS("/")) }

// Default is the limit of a Budget where nobody sets one: a quarter of the memory. The collector of garbage needs up to as much
// again as is in use, and caches, connections and pages of the store's file need some too.
func (m Memory) Default() int64 {
	if m.Bytes == 0 {
		return unknownMemory / 4
	}
	return m.Bytes / 4
}

// LimitHeap has the collector of garbage work harder when the heap comes near the limit of a control group, beyond which the
// system would kill the process. It does nothing where there is no such limit, or where somebody has set one for the heap
// (GOMEMLIMIT). It returns the limit of the heap, 0 for none.
func (m Memory) LimitHeap() int64 {
	if said := debug.SetMemoryLimit(-1); said != math.MaxInt64 {
		return said
	}
	if !m.Limited {
		return 0
	}
	limit := m.Bytes / 10 * 9
	debug.SetMemoryLimit(limit)
	return limit
}

// memoryIn reads what a file system says that is mounted as that of Linux is.
func memoryIn(fsys fs.FS) Memory {
	m := Memory{Bytes: totalMemory(fsys)}
	for _, limit := range groupLimits(fsys) {
		if limit > 0 && (m.Bytes == 0 || limit < m.Bytes) {
			m = Memory{Bytes: limit, Limited: true}
		}
	}
	return m
}

// totalMemory is the memory of the machine, 0 where it is not told.
func totalMemory(fsys fs.FS) int64 {
	text, err := fs.ReadFile(fsys, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			n, _ := strconv.ParseInt(fields[1], 10, 53) // 0 when it is no number: not told
			return n << 10
		}
	}
	return 0
}

// groupLimits are the limits of the control groups that the process is in, from the innermost outwards. In a container the
// outermost that can be seen is the container's, under whatever name its host has for it.
func groupLimits(fsys fs.FS) (limits []int64) {
	text, err := fs.ReadFile(fsys, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), ":", 3) // number:controllers:path
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			limits = append(limits, limitsUpwards(fsys, "sys/fs/cgroup", parts[2], "memory.max")...)
		case strings.Contains(","+parts[1]+",", ",memory,"):
			limits = append(limits, limitsUpwards(fsys, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes")...)
		}
	}
	return limits
}

// limitsUpwards reads a file in a directory below root and in all between the two.
func limitsUpwards(fsys fs.FS, root, group, file string) (limits []int64) {
	for dir := path.Join(root, path.Clean("/"+group)); ; dir = path.Dir(dir) {
		if text, err := fs.ReadFile(fsys, path.Join(dir, file)); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // otherwise "max"
				limits = append(limits, n)
			}
		}
		if dir == root {
			return limits
		}
	}
}
