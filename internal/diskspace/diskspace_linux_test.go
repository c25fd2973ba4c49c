package diskspace_test

import (
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"lectern/internal/diskspace"
)

// TestAvailableIsWhatDfSays allows a factor of two, since other programs write meanwhile.
func TestAvailableIsWhatDfSays(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	out, err := exec.Command("df", "--output=avail", "-B1", dir.Name()).Output()
	if err != nil {
		t.Skip(err)
	}
	lines := strings.Fields(string(out))
	want, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := diskspace.Available(dir); got < want/2 || got/2 > want {
		t.Errorf("%d bytes, df says %d", got, want)
	}
}

func TestAvailableIsUnlimitedWhereItIsNotKnown(t *testing.T) {
	proc, err := os.Open("/proc/self/status") // a file system without blocks
	if err != nil {
		t.Skip(err)
	}
	if got := diskspace.Available(proc); got != math.MaxInt64 {
		t.Errorf("%d bytes in /proc", got)
	}
	proc.Close()
	if got := diskspace.Available(proc); got != math.MaxInt64 {
		t.Errorf("%d bytes at a closed file", got)
	}
}
