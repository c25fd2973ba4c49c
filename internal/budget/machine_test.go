package budget

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestMemoryIn(t *testing.T) {
	const machine = "MemFree: 1 kB\nMemTotal:        8388608 kB\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing is told", nil, unknownMemory},
		{"a machine", map[string]string{"proc/meminfo": machine}, 8 << 30},
		{"version 2", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/system.slice/lectern.service\n",
			"sys/fs/cgroup/system.slice/lectern.service/memory.max": "2147483648\n",
		}, 2 << 30},
		{"version 2, limited further out", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/a/b/c\n",
			"sys/fs/cgroup/a/b/c/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.max": "3221225472\n",
			"sys/fs/cgroup/a/memory.max": "1073741824\n",
		}, 1 << 30},
		{"version 2, not limited", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 8 << 30},
		{"version 1", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "9:name=systemd:/\n4:cpuset,memory:/docker/1234\n0::/\n",
			"sys/fs/cgroup/memory/docker/1234/memory.limit_in_bytes": "536870912\n",
		}, 512 << 20},
		{"version 1 within a container that sees its own group as the root", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/docker/1234\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, 512 << 20},
		{"version 1, not limited", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 8 << 30},
		{"a group that may have more than there is", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "17179869184\n",
		}, 8 << 30},
		{"no sense", map[string]string{
			"proc/meminfo": "MemTotal: many kB\n", "proc/self/cgroup": "0::/../../etc\nmemory\n",
			"sys/fs/cgroup/etc/memory.max": "-5\n",
		}, unknownMemory},
	} {
		fsys := fstest.MapFS{}
		for name, text := range test.files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryIn(fsys); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestDefault(t *testing.T) {
	memory := MachineMemory()
	if memory <= 0 {
		t.Errorf("this machine has %d bytes", memory)
	}
	if got := Default(memory); got != memory/4 {
		t.Errorf("of %d: %d", memory, got)
	}
}

// TestLimitHeap checks that the heap limit follows from the budget and the memory, and that a limit of the user has
// precedence.
func TestLimitHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, test := range []struct{ said, memory, limit, want int64 }{
		{math.MaxInt64, 8 << 30, 2 << 30, 4<<30 + heapBeside},
		{math.MaxInt64, 1000 << 20, 450 << 20, 900 << 20},
		{3 << 30, 8 << 30, 1 << 30, 3 << 30},
	} {
		debug.SetMemoryLimit(test.said)
		if got := LimitHeap(test.memory, test.limit); got != test.want || debug.SetMemoryLimit(-1) != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}
