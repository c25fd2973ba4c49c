package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem says what is wrong in a file and how to mend it.
type Problem struct {
	File    string // relative to the project directory, with slashes
	Line    int    // from 1; 0 means the entire file
	Message string
}

func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems lists problems of one or more files, so that they can be mended all at once. Error prints one a line. An
// empty list is not an error: use Err to convert it.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Add appends a problem at the position of n.
func (ps *Problems) Add(n *Node, format string, args ...any) {
	*ps = append(*ps, n.Problem(format, args...))
}

// Err returns ps as an error, or nil when it is empty.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Sort orders the problems by file and line and removes duplicates.
func (ps Problems) Sort() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(ps)
}
