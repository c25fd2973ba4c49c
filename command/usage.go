package command

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"lectern/internal/usage"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCommand) Run(s *session) error {
	script, err := usage.Completion(c.Shell, usageOf(s.model.Node))
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.Stdout, script)
	return err
}

type manCommand struct{}

func (manCommand) Run(s *session) error {
	_, err := io.WriteString(s.Stdout, usage.Man(usageOf(s.model.Node), version(), []usage.Section{
		{Title: "EXIT STATUS", Items: [][2]string{{"0", "Done."}, {"1", "Failed. The reason is on the standard error."}, {"2", "Wrong usage."}}},
		{Title: "FILES", Items: [][2]string{
			{"content-types/, components/", "The definitions of a project, in YAML or JSON."},
			{"config/", "Its configuration: server.yaml, api.yaml, plugins.yaml and permissions.yaml."},
			{"data/", "Its content: the store, the uploads, and the control socket of the running server."},
		}},
	}))
	return err
}

// usageOf describes a command of kong's model.
func usageOf(n *kong.Node) *usage.Command {
	c := &usage.Command{Name: n.Name, Help: n.Help}
	for _, f := range n.Flags {
		c.Flags = append(c.Flags, flagOf(f))
	}
	for _, a := range n.Positional {
		c.Arguments = append(c.Arguments, usage.Argument{Name: argumentName(a), Help: a.Help, Choices: choices(a)})
	}
	for _, sub := range n.Children {
		if sub.Type == kong.CommandNode && !sub.Hidden {
			c.Commands = append(c.Commands, usageOf(sub))
		}
	}
	return c
}

func flagOf(f *kong.Flag) usage.Flag {
	flag := usage.Flag{Name: f.Name, Short: f.Short, Help: f.Help, Choices: choices(f.Value), Path: f.Tag.Type == "path"}
	switch {
	case flag.Choices != nil:
		flag.Value = strings.Join(flag.Choices, "|")
	case !f.IsBool():
		flag.Value = f.FormatPlaceHolder()
	}
	return flag
}

// choices returns the values that an enumeration allows; nil for other values.
func choices(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return slices.Sorted(slices.Values(v.EnumSlice()))
}

// argumentName returns the name of an argument in a synopsis.
func argumentName(a *kong.Value) string {
	name := strings.ToUpper(a.Name)
	switch {
	case strings.HasPrefix(name, "["): // it is written as "[dir] file"
		return name
	case a.IsSlice():
		name += " ..."
	}
	if !a.Required {
		return "[" + name + "]"
	}
	return name
}
