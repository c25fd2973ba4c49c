package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// changeHelpCommand lets the command help, which is cobra's, refuse what is no command.
func changeHelpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Use, help.Short, help.Long = "help [COMMAND]", "Print the help of a command, as --help after it does.", ""
	help.RunE = func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return usageError(fmt.Sprintf("there is no command %q", strings.Join(args, " ")))
		}
		return c.Help()
	}
}

// errVersion is the error of parsing a command line with --version.
var errVersion = errors.New("print the version")

// A versionFlag ends the parsing of a command line with errVersion, whatever else is in it.
type versionFlag struct{}

func (versionFlag) String() string   { return "" }
func (versionFlag) Set(string) error { return errVersion }
func (versionFlag) Type() string     { return "bool" }

// printHelp prints the help of a command: how to call it, its Short, its Long, its commands or else its flags.
func printHelp(c *cobra.Command, _ []string) {
	out := c.OutOrStdout()
	width := widthOf(out)
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n\n%s", synopsis(c), wrap(c.Short, "", width))
	if c.Long != "" {
		fmt.Fprintf(&b, "\n%s", wrap(c.Long, "", width))
	}
	switch {
	case len(c.Groups()) > 0:
		for _, g := range c.Groups() {
			fmt.Fprintf(&b, "\n%s\n", g.Title)
			listCommands(&b, c, g.ID, width)
		}
	case c.HasSubCommands():
		b.WriteString("\nCommands:\n")
		listCommands(&b, c, "", width)
	}
	c.InheritedFlags() // adds them to Flags
	fmt.Fprintf(&b, "\nFlags:\n%s", c.Flags().FlagUsagesWrapped(width))
	if c.HasSubCommands() {
		fmt.Fprintf(&b, "\nRun \"%s COMMAND --help\" for more information on a command.\n", c.CommandPath())
	}
	io.WriteString(out, b.String())
}

// synopsis returns how a command is called.
func synopsis(c *cobra.Command) string {
	if c.HasSubCommands() {
		return c.CommandPath() + " <command> [flags]"
	}
	return c.UseLine()
}

// leaves returns the commands below c that do something, such as token create.
func leaves(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		switch {
		case sub.Hidden:
		case sub.HasSubCommands():
			list = append(list, leaves(sub)...)
		default:
			list = append(list, sub)
		}
	}
	return list
}

// pathOf returns the words that name a command, such as token create.
func pathOf(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ") }

// listCommands lists the leaves below c with their help, or those of one group.
func listCommands(b *strings.Builder, c *cobra.Command, group string, width int) {
	column := 18
	for _, leaf := range leaves(c) {
		column = max(column, len(pathOf(leaf)))
	}
	for _, leaf := range leaves(c) {
		top := leaf
		for top.Parent() != c {
			top = top.Parent()
		}
		if top.GroupID != group {
			continue
		}
		name := fmt.Sprintf("  %-*s  ", column, pathOf(leaf))
		b.WriteString(name + strings.TrimLeft(wrap(leaf.Short, strings.Repeat(" ", len(name)), width), " "))
	}
}

// wrap breaks each line of text after at most width bytes where it has a blank, and indents what results. It leaves
// lines alone that begin with a blank.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for !strings.HasPrefix(line, " ") && len(indent)+len(line) > width {
			at := strings.LastIndexByte(line[:max(width-len(indent), 0)+1], ' ')
			if at < 0 {
				break
			}
			b.WriteString(indent + line[:at] + "\n")
			line = line[at+1:]
		}
		b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
	return b.String()
}

// widthOf returns the width of a terminal; 80 if w is none.
func widthOf(w io.Writer) int {
	width := 0
	if f, ok := w.(*os.File); ok {
		width, _, _ = term.GetSize(int(f.Fd()))
	}
	return max(40, cmp.Or(width, 80))
}
