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
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"lectern/documents"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/store"
)

// A Program holds the options of a main function. The zero value is Lectern itself.
type Program struct {
	// Name is the name of the program in usage, errors and hints; "" means lectern.
	Name string
	// Extend adds extensions to the server. Every command calls it, because checks and migrations depend on extensions too.
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

// A line is the command line as kong parses it. The help tags document the commands.
type line struct {
	Init       initCommand       `cmd:"" help:"Write a small example project with content, ready to serve."`
	Serve      serveCommand      `cmd:"" help:"Serve a project."`
	Follow     followCommand     `cmd:"" help:"Serve a replica of another server: its content, definitions and files, kept in step with it."`
	Promote    promoteCommand    `cmd:"" help:"Make a replica an origin: it follows no more, and takes writes. Its server must be stopped."`
	Deploy     deployCommand     `cmd:"" help:"Make the definitions of a project those of a cluster, while it serves."`
	Cluster    clusterCommand    `cmd:"" help:"Prepare several servers that keep the same content, so that none is missed when it fails."`
	Check      checkCommand      `cmd:"" help:"Check definitions and configuration and print every problem."`
	Schema     schemaCommand     `cmd:"" help:"Print the GraphQL schema."`
	OpenAPI    openAPICommand    `cmd:"" name:"openapi" help:"Print the OpenAPI document of the REST API."`
	Types      typesCommand      `cmd:"" help:"Write TypeScript types and a client of the REST API."`
	Token      tokenCommand      `cmd:"" help:"Create, list, rotate and revoke API tokens."`
	Webhooks   webhooksCommand   `cmd:"" help:"List webhooks and their deliveries, test them, and send events again."`
	Health     healthCommand     `cmd:"" help:"Ask a running server whether it is ready for requests, and print one line. Exits with 1 if it is not."`
	Export     exportCommand     `cmd:"" help:"Write all content as JSON Lines."`
	Import     importCommand     `cmd:"" help:"Import content from a file that export wrote."`
	MoveIn     moveInCommand     `cmd:"" help:"Make a project from a Strapi 5 project, with its content, users and files."`
	Backup     backupCommand     `cmd:"" help:"Write one file with a consistent copy of store and uploads, also while serving."`
	Restore    restoreCommand    `cmd:"" help:"Replace store and uploads by those of a backup. The server must be stopped."`
	Audit      auditCommand      `cmd:"" help:"Print who changed what as JSON Lines, or verify that the log is whole, also while serving."`
	Compact    compactCommand    `cmd:"" help:"Give the disk space of removed content back, also while serving."`
	Salvage    salvageCommand    `cmd:"" help:"Export the readable content of a damaged store and list the rest. The server must be stopped."`
	Migrate    migrateCommand    `cmd:"" help:"Rename or drop stored content after definitions have changed. A running server accepts only the calls that its log asks for."`
	Debug      debugCommand      `cmd:"" help:"Look into a running server: profiles, traces and goroutines."`
	Version    versionCommand    `cmd:"" help:"Print version, commit and Go version."`
	Completion completionCommand `cmd:"" help:"Print the completion script of a shell."`
	Man        manCommand        `cmd:"" help:"Print the man page."`
	Help       helpCommand       `cmd:"" help:"Print the help of a command, as --help after it does."`

	VersionFlag kong.VersionFlag `name:"version" help:"Print the version, as the command version does."`
}

// A session holds what a command needs to run: its context and standard streams.
type session struct {
	Program
	ctx        context.Context
	extensions *gateway.Extensions
	model      *kong.Application
}

// Main runs a command line and returns the exit code: 0 if it succeeded, 1 if it failed, 2 if the command line is invalid.
// SIGINT, SIGTERM and the SIGHUP of a closed terminal make the command stop cleanly; a second SIGINT or SIGTERM ends the
// process at once.
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

	exited, code := false, 0
	parser, err := kong.New(&line{}, kong.Name(p.Name), kong.UsageOnError(), kong.Writers(p.Stdout, p.Stderr),
		kong.Description("A headless content API server: content-types in YAML, content in one file, served over the REST and GraphQL APIs of Strapi 5."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Vars{"version": versions()},
		kong.Exit(func(c int) { exited, code = true, c }))
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v\n", p.Name, err)
		return exitFailed
	}
	if len(args) == 0 {
		parser.Parse([]string{"--help"})
		return exitUsage
	}
	if args[0] == "help" && knows(parser.Model.Node, args[1:]) {
		args = append(args[1:], "--help")
	}
	command, err := parser.Parse(flagsFirst(parser.Model.Node, args))
	if exited { // --help or --version has printed its text
		return code
	}
	if err != nil {
		return p.usage(err)
	}
	s := &session{p, asCommand(ctx, command.Command()), &gateway.Extensions{}, parser.Model}
	if p.Extend != nil {
		if err := p.Extend(s.extensions); err != nil {
			return p.fail(err)
		}
	}
	if err := command.Run(s); err != nil {
		return p.fail(err)
	}
	return exitDone
}

// asCommand returns a context whose writes are logged as made by a command, given as kong names it. What a server writes by itself is not
// logged as written by a command.
func asCommand(ctx context.Context, command string) context.Context {
	name, _, _ := strings.Cut(command, " <")
	name, _, _ = strings.Cut(name, " [")
	if name == "serve" || name == "follow" {
		return ctx
	}
	return store.WithPrincipal(ctx, store.Principal{Kind: "command", Name: name})
}

// hangup returns a context that ends when the terminal is closed. The shell and the kernel may both send SIGHUP then, so a
// second one does not end the process. If SIGHUP is ignored, as nohup does, it stays ignored.
func hangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// A usageError is an invalid command line that kong accepts.
type usageError string

func (e usageError) Error() string { return string(e) }

func (p Program) usage(err error) int {
	fmt.Fprintf(p.Stderr, "%[1]s: %[2]v\nRun \"%[1]s --help\" or \"%[1]s COMMAND --help\" for what there is.\n", p.Name, err)
	return exitUsage
}

func (p Program) fail(err error) int {
	var problems config.Problems
	var lines documents.LineProblems
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		return p.usage(err)
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

// projectFlags are the flags of all commands that work with the data of a project.
type projectFlags struct {
	Data string `help:"Data directory (default: data/ in the project)." type:"path" placeholder:"DIR"`
	Env  string `help:"development or production. Decides whether GraphQL introspection and the IDE are available, which secrets are accepted, and the format of the log." enum:"development,production" default:"development"`
}

func (f projectFlags) options(s *session) gateway.Options {
	return gateway.Options{
		Data: f.Data, Production: f.Env == "production", LogTo: s.Stderr, Version: version(), Program: s.Name,
		Extensions: s.extensions,
	}
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

// display returns a path relative to the working directory if it is below that.
func display(path string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}
