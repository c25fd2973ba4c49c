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

// unknownMemory is the memory that a process is assumed to have when the system does not tell.
const unknownMemory = 2 << 30

// MachineMemory returns how much memory the process may use: the limits of the control groups that it is in (versions 2 and 1), or
// else the memory of the machine.
func MachineMemory() int64 { return memoryIn(os.DirFS("/")) }

// Default is the limit of a Budget where nobody sets one, in a process that may have so much memory: a quarter of it. The
// collector of garbage needs as much again as is in use, and caches, connections and pages of the store's file need some too.
func Default(memory int64) int64 { return memory / 4 }

// heapBeside is what the heap may hold beside twice a budget: what is not reserved, and the garbage of that.
const heapBeside = 128 << 20

// LimitHeap makes the garbage collector work harder when the heap comes near what the process should need: twice the limit of
// its Budget, or nine tenths of the memory that it may have, beyond which a control group would kill it. Otherwise garbage may grow
// to several times what is in use. Where somebody has set a limit (GOMEMLIMIT), that holds. It returns the limit that holds.
func LimitHeap(memory, limit int64) int64 {
	if said := debug.SetMemoryLimit(-1); said != math.MaxInt64 {
		return said
	}
	heap := min(2*limit+heapBeside, memory/10*9)
	debug.SetMemoryLimit(heap)
	return heap
}

// memoryIn is MachineMemory, read from a file system laid out as that of Linux.
func memoryIn(fsys fs.FS) int64 {
	memory := totalMemory(fsys)
	for _, limit := range groupLimits(fsys) {
		if limit > 0 && (memory == 0 || limit < memory) {
			memory = limit
		}
	}
	if memory == 0 {
		return unknownMemory
	}
	return memory
}

// totalMemory returns the memory of the machine, 0 when it is not known.
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
