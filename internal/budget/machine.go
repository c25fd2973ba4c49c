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
	"sync"
)

// unknownMemory is the assumed memory of a process when the system does not provide it.
const unknownMemory = 2 << 30

// MachineMemory returns how much memory the process may use: the limit of its control groups (versions 2 and 1), or
// else the memory of the machine. It is what the first call finds.
func MachineMemory() int64 { return machineMemory() }

var machineMemory = sync.OnceValue(func() int64 { return memoryIn(os.DirFS("/")) })

// Default returns the default limit of a Budget: a quarter of the memory of the process. Garbage collection needs as
// much memory again as is in use, and caches, connections and the store's memory-mapped pages need memory, too.
func Default(memory int64) int64 { return memory / 4 }

// heapBeside is the heap allowed in addition to twice a budget, for memory that is not reserved and its garbage.
const heapBeside = 128 << 20

// LimitHeap sets the heap size near which the garbage collector works harder: about twice the limit of the Budget, but
// at most nine tenths of the memory of the process, since a control group kills a process that exceeds it. Without it,
// garbage could grow to several times the memory in use. A limit set by GOMEMLIMIT has precedence. LimitHeap returns
// the limit in effect.
func LimitHeap(memory, limit int64) int64 {
	if said := debug.SetMemoryLimit(-1); said != math.MaxInt64 {
		return said
	}
	heap := min(2*limit+heapBeside, memory/10*9)
	debug.SetMemoryLimit(heap)
	return heap
}

// memoryIn does what MachineMemory does, on a file system with the layout of Linux.
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

// totalMemory returns the memory of the machine, or 0 if it is unknown.
func totalMemory(fsys fs.FS) int64 {
	text, err := fs.ReadFile(fsys, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			n, _ := strconv.ParseInt(fields[1], 10, 53) // 0 if it is not a number
			return n << 10
		}
	}
	return 0
}

// groupLimits returns the memory limits of the control groups of the process, from the innermost to the outermost. In a
// container the outermost visible group is that of the container, whatever its name on the host.
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

// limitsUpwards reads a file in a directory below root and in all its parents up to root.
func limitsUpwards(fsys fs.FS, root, group, file string) (limits []int64) {
	for dir := path.Join(root, path.Clean("/"+group)); ; dir = path.Dir(dir) {
		if text, err := fs.ReadFile(fsys, path.Join(dir, file)); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // "max" means no limit
				limits = append(limits, n)
			}
		}
		if dir == root {
			return limits
		}
	}
}
