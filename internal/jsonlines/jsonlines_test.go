package jsonlines_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"lectern/internal/jsonlines"
)

// TestReader reads lines that are short, blank, longer than the buffer, or wrong.
func TestReader(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"\n \n", ""},
		{`{"a":1}`, "1: a; "},
		{"{\"a\":1}\n\n{\"b\":1}\n", "1: a; 3: b; "},
		{"{\"a\":1}\r\n{\"__proto__\":1}\r\n", "1: a; 2: __proto__; "},
		{`{"` + long + `":1}` + "\n{\"b\":1}", "1: " + long + "; 2: b; "},
		{"{\"a\":1}\n[1]\n{\"b\":1}", "1: a; 2: not a JSON object"},
		{"{\"a\":1}\n{\"b\"", "1: a; 2: Expected ':' after property name in JSON at position 4"},
		{"{\"a\":1}\n{\"b\":\"" + long + long + long + long + long + long + "\"}", "1: a; 2: longer than 1 MB"},
	} {
		var got strings.Builder
		r := jsonlines.NewReader(strings.NewReader(c.text), 1<<20)
		for {
			o, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				message, _, _ := strings.Cut(err.Error(), " (")
				fmt.Fprintf(&got, "%d: %s", r.Line(), message)
				break
			}
			fmt.Fprintf(&got, "%d: %s; ", r.Line(), strings.Join(o.Keys, ","))
		}
		if got.String() != c.want {
			t.Errorf("%.60q: got %.200s, want %.200s", c.text, got.String(), c.want)
		}
	}
}
