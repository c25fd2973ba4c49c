// Package shell writes paths into commands that messages tell people to run.
package shell

import (
	"path/filepath"
	"strings"
)

// Path returns a path as it is typed into a shell, in quotes if it needs them.
func Path(path string) string {
	path = filepath.Clean(path)
	if strings.ContainsAny(path, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
