package yamlfile_test

import (
	"runtime"
	"strings"
	"testing"

	"lectern/internal/yamlfile"
)

// TestMemory checks that a file takes no more memory while it is read than Memory says.
func TestMemory(t *testing.T) {
	for name, text := range map[string]string{
		"short values": "a: [" + strings.Repeat("b,", 40_000) + "c]\n",
		"empty values": "a: [" + strings.Repeat("[],", 20_000) + "c]\n",
		"lines":        strings.Repeat("- a\n", 40_000),
		"keys":         "a: {" + strings.Repeat("b: c, ", 20_000) + "d: e}\n",
		"a long text":  "a: " + strings.Repeat("x", 100_000) + "\n",
	} {
		var before, after runtime.MemStats
		data := []byte(text)
		runtime.ReadMemStats(&before)
		_, _ = yamlfile.Parse("a.yaml", data, nil) // some of them are no definitions, and hold the same key twice
		runtime.ReadMemStats(&after)
		if took := int64(after.TotalAlloc - before.TotalAlloc); took > yamlfile.Memory(text)+1<<20 {
			t.Errorf("%s: %d bytes for %d of text, %d expected", name, took, len(text), yamlfile.Memory(text))
		}
	}
}
