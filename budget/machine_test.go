package budget

import (
	"testing"
	"testing/fstest"
)

func TestMemoryIn(t *testing.T) {
	const machine = "MemFree: 1 kB\nMemTotal:        8388608 kB\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  Memory
	}{
		{"nothing is told", nil, Memory{}},
		{"a machine", map[string]string{"proc/meminfo": machine}, Memory{Bytes: 8 << 30}},
		{"version 2", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/system.slice/lectern.service\n",
			"sys/fs/cgroup/system.slice/lectern.service/memory.max": "2147483648\n",
		}, Memory{2 << 30, true}},
		{"version 2, limited further out", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/a/b/c\n",
			"sys/fs/cgroup/a/b/c/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.max": "3221225472\n", "sys/fs/cgroup/a/memory.max": "1073741824\n",
		}, Memory{1 << 30, true}},
		{"version 2, not limited", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, Memory{Bytes: 8 << 30}},
		{"version 1", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "9:name=systemd:/\n4:cpuset,memory:/docker/1234\n0::/\n",
			"sys/fs/cgroup/memory/docker/1234/memory.limit_in_bytes": "536870912\n",
		}, Memory{512 << 20, true}},
		{"version 1 within a container that sees its own group as the root", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/docker/1234\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, Memory{512 << 20, true}},
		{"version 1, not limited", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, Memory{Bytes: 8 << 30}},
		{"a group that may have more than there is", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "17179869184\n",
		}, Memory{Bytes: 8 << 30}},
		{"no sense", map[string]string{
			"proc/meminfo": "MemTotal: many kB\n", "proc/self/cgroup": "0::/../../etc\nmemory\n", "sys/fs/cgroup/etc/memory.max": "-5\n",
		}, Memory{}},
	} {
		fsys := fstest.MapFS{}
		for name, text := range test.files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryIn(fsys); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestDefault(t *testing.T) {
	for _, test := range []struct{ memory, want int64 }{{8 << 30, 2 << 30}, {0, 512 << 20}} {
		if got := (Memory{Bytes: test.memory}).Default(); got != test.want {
			t.Errorf("of %d: %d, not %d", test.memory, got, test.want)
		}
	}
	if m := MachineMemory(); m.Bytes < 0 {
		t.Errorf("this machine: %+v", m)
	}
}
