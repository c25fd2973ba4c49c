package jsontree_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"lectern/jsontree"
)

// A meter counts the bytes that it is asked for, up to a limit.
type meter struct{ counted, limit int64 }

var errFull = errors.New("there is no more memory")

func (m *meter) Add(bytes int64) error {
	if m.counted += bytes; m.counted > m.limit {
		return errFull
	}
	return nil
}

// allocated returns how many bytes a function allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// manyKeys returns an object of n keys, each of which is used for as many values.
func manyKeys(n, values int) string {
	var b strings.Builder
	for i := range n * values {
		b.WriteString(`,"`)
		for k := i % n; k > 0; k /= 26 {
			b.WriteByte(byte('a' + k%26))
		}
		b.WriteString(`":0`)
	}
	return "{" + b.String()[1:] + "}"
}

// hostile are texts that become far larger as values, each of n bytes or more.
func hostile(n int) map[string]string {
	many := func(part string) string { return "[" + strings.Repeat(part+",", n/(len(part)+1)+1) + "0]" }
	return map[string]string{
		"objects of one key":       many(`{"":0}`),
		"empty objects":            many(`{}`),
		"objects of five keys":     many(`{"":0,"a":0,"b":0,"c":0,"d":0}`),
		"objects of thirteen keys": many(manyKeys(13, 1)),
		"repeated keys":            many(manyKeys(4, 3)),
		"one key, repeated":        "{" + strings.Repeat(`"":[],`, n/6) + `"":0}`,
		"one object":               manyKeys(n/6, 1),
		"empty lists":              many(`[]`),
		"lists of one":             many(`[0]`),
		"lists of two":             many(`[0,0]`),
		"lists of lists":           many(strings.Repeat("[", 400) + strings.Repeat("]", 400)),
		"numbers":                  many(`0`),
		"texts":                    many(`"a"`),
		"empty texts":              many(`""`),
		"escaped texts":            many(`"\n"`),
		"a long escaped text":      `"` + strings.Repeat(`\n`, n/2) + `"`,
		"texts that are no UTF-8":  many("\"\xff\""),
		"words":                    many(`null`),
		"one long text":            `"` + strings.Repeat("x", n) + `"`,
	}
}

// TestMemoryOfParse expects a parser to ask for what it allocates, whatever the text is like, and for not much more.
func TestMemoryOfParse(t *testing.T) {
	for _, n := range []int{100, 1 << 10, 300 << 10} {
		for name, text := range hostile(n) {
			m := meter{limit: 1 << 40}
			data := []byte(text)
			var err error
			took := allocated(func() { _, err = jsontree.ParseWithin(data, jsontree.MaxDepth, &m) })
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if slack := int64(64 << 10); took > m.counted+slack/16 || m.counted > 2*took+slack {
				t.Errorf("%s, %d bytes: %d allocated, %d asked for", name, len(text), took, m.counted)
			}
			if testing.Verbose() && n > 1<<10 {
				t.Logf("%-26s %5.1f bytes for each byte, %5.1f asked for", name, float64(took)/float64(len(text)),
					float64(m.counted)/float64(len(text)))
			}
		}
	}
}

// TestParseStops expects a parser to stop when there is no more memory.
func TestParseStops(t *testing.T) {
	for name, text := range hostile(300 << 10) {
		all := meter{limit: 1 << 40}
		if _, err := jsontree.ParseWithin([]byte(text), jsontree.MaxDepth, &all); err != nil {
			t.Fatal(err)
		}
		half := meter{limit: all.counted / 2}
		data := []byte(text)
		var err error
		took := allocated(func() { _, err = jsontree.ParseWithin(data, jsontree.MaxDepth, &half) })
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
		if took > half.limit+64<<10 {
			t.Errorf("%s: %d bytes allocated, %d were to be had", name, took, half.limit)
		}
	}
}
