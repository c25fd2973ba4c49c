package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command, such as serve, or token create."`
}

// Run prints the error for an unknown command. Main handles the help of known ones as --help.
func (c *helpCommand) Run(*session) error {
	return usageError(fmt.Sprintf("there is no command %q", strings.Join(c.Command, " ")))
}

// knows reports whether words name a command of app. Without any words it returns true.
func knows(app *kong.Node, words []string) bool {
	for _, word := range words {
		i := slices.IndexFunc(app.Children, func(n *kong.Node) bool { return n.Type == kong.CommandNode && n.Name == word })
		if i < 0 {
			return false
		}
		app = app.Children[i]
	}
	return true
}
