package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/gateway/config"
)

// takes returns the check that a command has from least to most arguments. The error names them as the command's Use
// does.
func takes(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			_, synopsis, _ := strings.Cut(c.Use, " ")
			return usageError(fmt.Sprintf("want %s, got %d arguments", synopsis, len(args)))
		case len(args) > most:
			return usageError("unexpected argument " + args[most])
		}
		return nil
	}
}

// dirArgument explains the argument [DIR].
const dirArgument = "DIR is the project directory (default: here)."

// projectAt returns the directory that the argument [DIR] of a command names, if it is given: the working directory
// otherwise.
func projectAt(args []string) string {
	if len(args) == 0 {
		return absolute(".")
	}
	return absolute(args[0])
}

// splitDir splits the arguments [DIR] last. what is the name of last in errors.
func splitDir(args []string, what string) (dir, last string, err error) {
	switch len(args) {
	case 1:
		if config.IsProject(args[0]) && !config.IsProject(".") {
			return "", "", usageError(fmt.Sprintf("%s is missing after the project %s", what, args[0]))
		}
		return ".", args[0], nil
	case 2:
		return args[0], args[1], nil
	}
	return "", "", usageError(fmt.Sprintf("want [DIR] %s, got %d arguments", what, len(args)))
}

// absolute returns a path that stays the same if the working directory changes. A path that begins with ~/ is in the
// user's home, also where a shell has left it alone.
func absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// A pathFlag is a flag whose value is a path, which it makes absolute; - stays.
type pathFlag string

func (p *pathFlag) String() string { return string(*p) }
func (p *pathFlag) Type() string   { return "path" }
func (p *pathFlag) Set(text string) error {
	*p = pathFlag(text)
	if text != "-" {
		*p = pathFlag(absolute(text))
	}
	return nil
}

// A choice is a flag whose value is one of some words.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return strings.Join(c.words, "|") }
func (c choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(c.words, ", "))
	}
	*c.value = text
	return nil
}

// addChoice adds a flag whose value is one of words.
func addChoice(c *cobra.Command, value *string, name string, words []string, usage string) {
	c.Flags().Var(choice{value, words}, name, usage)
	// It fails only for a flag that is not defined.
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// A lifespan is a flag whose value is a duration, which may be in days.
type lifespan time.Duration

func (l *lifespan) String() string { return time.Duration(*l).String() }
func (l *lifespan) Type() string   { return "time" }
func (l *lifespan) Set(text string) error {
	d, ok := config.ParseLifespan(text)
	if !ok {
		return fmt.Errorf("%q is no time such as 7d or 12h", text)
	}
	*l = lifespan(d)
	return nil
}

// projectFlags are the flags of all commands that work with the data of a project.
type projectFlags struct {
	Data pathFlag
	Env  string
}

func (f *projectFlags) add(c *cobra.Command) {
	c.Flags().Var(&f.Data, "data", "Data directory `DIR` (default: data/ in the project).")
	f.Env = "development"
	addChoice(c, &f.Env, "env", []string{"development", "production"},
		"`NAME` of the environment: development or production. Decides whether GraphQL introspection and the IDE are "+
			"available, which secrets are accepted, and the format of the log.")
}

func (f projectFlags) options(s *session) gateway.Options {
	return gateway.Options{
		Data: string(f.Data), Production: f.Env == "production", LogTo: s.Stderr, Version: version(), Program: s.Name,
		Extensions: s.extensions,
	}
}

// directory returns the project in dir.
func (f projectFlags) directory(s *session, dir string) *admin.Directory {
	return gateway.Directory(dir, f.options(s))
}

// administer opens the project in dir and calls do with it.
func (f projectFlags) administer(s *session, dir string, do func(admin.Project) error) (err error) {
	p, err := f.directory(s, dir).Administer(s.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return do(p)
}

// outputFlags are the flags of commands that write a file, with the arguments [DIR] FILE.
type outputFlags struct {
	Force bool
	projectFlags
}

// outputArguments explains the arguments of commands with outputFlags.
const outputArguments = "FILE is the file to write; - is the standard output. " + dirArgument

func (o *outputFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&o.Force, "force", false, "Replace the file if it exists.")
	o.projectFlags.add(c)
}

// target returns the project's directory and the file to write. Without --force it returns an error if the file exists.
// It accepts special files such as devices, which admin.WriteFile does not replace.
func (o *outputFlags) target(args []string) (dir, file string, err error) {
	if dir, file, err = splitDir(args, "FILE"); err != nil || file == "-" || o.Force {
		return dir, file, err
	}
	if there, err := os.Stat(file); err == nil && there.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s is there already; take another name, or replace it with --force", file)
	}
	return dir, file, nil
}

// output calls write with the file to write; - is the standard output.
func (s *session) output(file string, write func(io.Writer) error) error {
	if file == "-" {
		return write(s.Stdout)
	}
	return admin.WriteFile(file, write)
}
