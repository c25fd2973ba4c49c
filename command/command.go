// Package command is the command line of Lectern. A program that extends the server has the same commands:
//
//	func main() {
//		os.Exit(command.Main(context.Background(), os.Args[1:], command.Program{
//			Extend: func(x *gateway.Extensions) error {
//				x.Handle(gateway.Route{Method: "GET", Path: "/hello", Handle: hello})
//				return nil
//			},
//		}))
//	}
//
// Each command is in the file of its name: a function that describes it with its flags, and the method that runs it.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/config"
	"lectern/internal/spelling"
	"lectern/store"
)

// A Program holds the options of a main function. The zero value is Lectern itself.
type Program struct {
	// Name is the name of the program in usage, errors and hints; "" means lectern.
	Name string
	// Extend adds extensions to the server. Every command calls it, because checks and migrations depend on extensions
	// too.
	Extend func(*gateway.Extensions) error

	Stdin  io.Reader // nil means that of the process, as for the two below
	Stdout io.Writer
	Stderr io.Writer
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// A session holds what a command needs to run: its context and standard streams.
type session struct {
	Program
	ctx        context.Context
	extensions *gateway.Extensions
}

// Main runs a command line and returns the exit code: 0 if it succeeded, 1 if it failed, 2 if the command line is
// invalid. SIGINT, SIGTERM and the SIGHUP of a closed terminal make the command stop cleanly; a second SIGINT or
// SIGTERM ends the process at once.
func Main(ctx context.Context, args []string, p Program) int {
	p.Name = cmp.Or(p.Name, "lectern")
	if p.Stdin == nil {
		p.Stdin = os.Stdin
	}
	if p.Stdout == nil {
		p.Stdout = os.Stdout
	}
	if p.Stderr == nil {
		p.Stderr = os.Stderr
	}
	ctx, unhang := hangup(ctx)
	defer unhang()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	s := &session{p, ctx, &gateway.Extensions{}}
	root := newRoot(s)
	if len(args) == 0 {
		printHelp(root, nil)
		return exitUsage
	}
	root.SetArgs(args)
	switch err := root.Execute(); {
	case err == nil:
	case errors.Is(err, errVersion):
		fmt.Fprintln(p.Stdout, versions())
	default:
		return p.fail(err)
	}
	return exitDone
}

// Groups of commands in the help.
const (
	groupProject = "A project:"
	groupContent = "Its content:"
	groupAccess  = "Clients and webhooks:"
	groupServers = "Several servers:"
	groupMore    = "More:"
)

// newRoot describes the program with all of its commands.
func newRoot(s *session) *cobra.Command {
	root := &cobra.Command{
		Use: s.Name,
		Short: "A headless content API server: content-types in YAML, content in one file, " +
			"served over the REST and GraphQL APIs of Strapi 5.",
		Args: cobra.ArbitraryArgs, RunE: refuseGroup,
		PersistentPreRunE: s.prepare,
		SilenceErrors:     true, SilenceUsage: true,
	}
	root.SetIn(s.Stdin)
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	root.SetHelpFunc(printHelp)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolP("help", "h", false, "Print this help.")
	root.PersistentFlags().VarPF(versionFlag{}, "version", "",
		"Print the version, as the command version does.").NoOptDefVal = "true"

	root.SetHelpCommandGroupID(groupMore)
	root.SetCompletionCommandGroupID(groupMore)
	addGroup(root, groupProject, newInit(s), newServe(s), newCheck(s), newHealth(s), newStatus(s), newExplain(s),
		newDebug(s))
	addGroup(root, groupContent, newExport(s), newImport(s), newMoveIn(s), newMigrate(s), newAudit(s), newBackup(s),
		newRestore(s),
		newCompact(s), newSalvage(s))
	addGroup(root, groupAccess, newToken(s), newUser(s), newDesk(s), newWebhooks(s), newSchema(s), newOpenAPI(s), newTypes(s))
	addGroup(root, groupServers, newFollow(s), newPromote(s), newCluster(s), newDeploy(s))
	addGroup(root, groupMore, newVersion(s), newMan(s))
	changeHelpCommand(root)
	changeCompletionCommand(root)
	keepOrder(root)
	return root
}

func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// newGroup describes a command that only has commands of its own, such as token.
func newGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, RunE: refuseGroup}
	c.AddCommand(commands...)
	return c
}

// refuseGroup refuses a command line that ends before or goes on after the name of a group without naming a command of
// it.
func refuseGroup(c *cobra.Command, args []string) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	if len(args) == 0 {
		return usageError(fmt.Sprintf("a command is missing after %s: %s", c.Name(), strings.Join(names, ", ")))
	}
	return usageError(fmt.Sprintf("unexpected argument %s%s", args[0], "; "+spelling.Suggest(args[0], names)))
}

// changeCompletionCommand lets the command completion, which is cobra's, refuse shells that it does not know.
func changeCompletionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Short, completion.Args, completion.RunE = "Print the completion script of a shell.", cobra.ArbitraryArgs,
		refuseGroup
}

// keepOrder lets the help of c and of its commands list the flags in the order in which they are defined.
func keepOrder(c *cobra.Command) {
	c.Flags().SortFlags = false
	for _, sub := range c.Commands() {
		keepOrder(sub)
	}
}

// prepare readies the session for a command that is about to run.
func (s *session) prepare(c *cobra.Command, _ []string) error {
	if c.Name() == cobra.ShellCompRequestCmd { // a shell waits for completions, which no extension adds to
		return nil
	}
	s.ctx = asCommand(s.ctx, pathOf(c))
	if s.Extend != nil {
		return s.Extend(s.extensions)
	}
	return nil
}

// asCommand returns a context whose writes are logged as made by a command. What a server writes by itself is not
// logged as written by a command.
func asCommand(ctx context.Context, name string) context.Context {
	if name == "serve" || name == "follow" {
		return ctx
	}
	return store.WithPrincipal(ctx, store.Principal{Kind: "command", Name: name})
}

// hangup returns a context that ends when the terminal is closed. The shell and the kernel may both send SIGHUP then,
// so a second one does not end the process. If SIGHUP is ignored, as nohup does, it stays ignored.
func hangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// A usageError is an invalid command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// flagError turns an error of the parser of flags into a usageError. It names a flag like one that there is not.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	switch {
	case errors.Is(err, errVersion):
		return err
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		return usageError("unknown flag " + name + "; " + spelling.Suggest(name, known))
	case errors.As(err, &number) && errors.As(err, &invalid):
		return usageError(fmt.Sprintf("--%s: %q: %v", invalid.GetFlag().Name, number.Num, number.Err))
	case errors.As(err, &invalid):
		return usageError(fmt.Sprintf("--%s: %v", invalid.GetFlag().Name, errors.Unwrap(err)))
	}
	return usageError(err.Error())
}

func (p Program) fail(err error) int {
	var problems config.Problems
	var lines transfer.LineProblems
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintf(p.Stderr, "%[1]s: %[2]v\nRun \"%[1]s --help\" or \"%[1]s COMMAND --help\" for what there is.\n",
			p.Name, err)
		return exitUsage
	case errors.As(err, &problems), errors.As(err, &lines), errors.Is(err, errReported):
		if !errors.Is(err, errReported) {
			fmt.Fprintln(p.Stderr, err)
		}
	default:
		fmt.Fprintf(p.Stderr, "%s: %v\n", p.Name, err)
	}
	return exitFailed
}

// inCommand prefixes an error with the command's name, unless it is a usageError or nil.
func inCommand(name string, err error) error {
	if err == nil {
		return nil
	}
	if wrong := usageError(""); errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// errReported means that the command has failed and has printed its errors itself.
var errReported = errors.New("reported")

// display returns a path relative to the working directory if it is below that.
func display(path string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

func count(n int, what string) string { return spelling.Count(n, what) }
