// Package usage describes a command line as plain values, from which it writes completion scripts for shells and a man page.
package usage

import (
	"slices"
	"strings"
)

// A Command is a command, or the program itself. It has either Commands or Arguments.
type Command struct {
	Name      string
	Help      string
	Flags     []Flag
	Arguments []Argument
	Commands  []*Command
}

// A Flag is a flag of a command.
type Flag struct {
	Name    string // without --
	Short   rune   // the letter of its short form; 0: none
	Help    string
	Value   string   // what the help calls its value; "" if it takes none
	Choices []string // all of its values; nil: any
	Path    bool     // its value is a path
}

// An Argument is an argument of a command.
type Argument struct {
	Name    string // as in a synopsis, such as "[DIR] FILE"
	Help    string
	Choices []string // all of its values; nil: any
}

// A placed is a command with its place in the command line.
type placed struct {
	*Command
	path  string // the names of the commands that lead to it, each after a blank; "" for the program
	flags []Flag // its own, and those of the program
}

// all returns the program and all of its commands, each before its own.
func (c *Command) all() []placed {
	list := []placed{{c, "", c.Flags}}
	for _, sub := range c.Commands {
		list = append(list, sub.below(" "+sub.Name, c.Flags)...)
	}
	return list
}

func (c *Command) below(path string, global []Flag) []placed {
	list := []placed{{c, path, slices.Concat(c.Flags, global)}}
	for _, sub := range c.Commands {
		list = append(list, sub.below(path+" "+sub.Name, global)...)
	}
	return list
}

// forms returns the forms in which a flag may be written: --output and -o.
func (f *Flag) forms() []string {
	forms := []string{"--" + f.Name}
	if f.Short != 0 {
		forms = append(forms, "-"+string(f.Short))
	}
	return forms
}

// words returns the names of the subcommands, or else the choices of the arguments.
func (c *Command) words() (words []string) {
	for _, sub := range c.Commands {
		words = append(words, sub.Name)
	}
	for _, a := range c.Arguments {
		words = append(words, a.Choices...)
	}
	return words
}

// function returns the name of a shell function for a program.
func (c *Command) function() string {
	return "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, c.Name)
}

// quote returns s as one word of a shell: in single quotes, in which fish alone knows backslashes too.
func quote(s string, fish bool) string {
	if fish {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	return "'" + strings.ReplaceAll(s, `'`, `'\''`) + "'"
}

// quoteAll returns words in quotes, separated by a separator.
func quoteAll(words []string, separator string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w, false)
	}
	return strings.Join(quoted, separator)
}
