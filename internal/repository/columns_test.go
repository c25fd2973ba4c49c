package repository

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is how wide a line of Go may be, with tabs of four columns.
const maxColumns = 120

// TestCommentsFit expects comments to wrap at maxColumns. Tables and other preformatted text in them, which begins with
// a space or a tab, may be wider, and so may two words that stand on a line of their own.
func TestCommentsFit(t *testing.T) {
	for _, name := range trackedFiles(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(text, []byte("// Code generated")) {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		for number := 1; lines.Scan(); number++ {
			line := lines.Text()
			comment, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
			if ok && (comment != strings.TrimLeft(comment, " \t") || len(strings.Fields(comment)) <= 2) {
				continue
			}
			if columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); ok && columns > maxColumns {
				t.Errorf("%s:%d: the comment has %d columns, more than %d", name, number, columns, maxColumns)
			}
		}
	}
}
