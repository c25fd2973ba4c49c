// Package shell quotes paths for commands in messages to users.
package shell

import (
	"path/filepath"
	"strings"
)

// Path returns a path as a user types it in a shell, with quotes if it needs them.
func Path(path string) string {
	path = filepath.Clean(path)
	if strings.ContainsAny(path, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
