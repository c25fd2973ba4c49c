package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lectern/internal/shell"
	"lectern/strapi/movein"
)

type moveInCommand struct {
	source, dir string
	archive     pathFlag
	key         string
	into        bool
	misfits     string
	dryRun      bool

	from    string
	token   string
	rate    float64
	without []string
}

func newMoveIn(s *session) *cobra.Command {
	var m moveInCommand
	c := &cobra.Command{
		Use:   "move-in SOURCE DIR",
		Short: "Make a project from a Strapi 5 project, with its content, users and files.",
		Long: "SOURCE is a Strapi 5 project, an archive of strapi export, or a directory with an unpacked archive. " +
			"With --from it may be left out, or is the Strapi project with the definitions. " +
			"DIR is the directory of the new project; it must be empty or missing.",
		Args: takes(1, 2),
		RunE: func(_ *cobra.Command, args []string) error { return m.run(s, args) },
	}
	f := c.Flags()
	f.Var(&m.archive, "archive", "Archive `FILE` with the content, if SOURCE is a Strapi project.")
	f.StringVar(&m.key, "key", "", "`KEY` of an encrypted archive ($"+archiveKey+").")
	f.BoolVar(&m.into, "into", false,
		"Add the content to the project in DIR, which has the same types, also while it is served. "+
			"Documents with the same documentId are replaced.")
	addChoice(c, &m.misfits, "misfits", []string{"keep", "leave-out"},
		"What becomes of values that break a rule of their definition, such as "+
			"one that an enumeration does not list: keep (those that cannot be kept are left out) or leave-out. "+
			"Without it they are kept, and the command stops if one cannot be. The report lists them.")
	f.BoolVar(&m.dryRun, "dry-run", false,
		"Rehearse all of it in a temporary directory, print the report, and write nothing else.")

	f.StringVar(&m.from, "from", "", "Read the content from a running Strapi at this `URL`.")
	f.StringVar(&m.token, "token", "",
		"`KEY` of a full-access API token, for --from. Better name it in the environment, since others can see "+
			"command lines ($"+strapiToken+").")
	f.Float64Var(&m.rate, "rate", 10, "Send `N` requests per second, for --from.")
	f.StringSliceVar(&m.without, "without", nil,
		"`UID` of a content-type that is not read, for --from. May be given several times.")
	return c
}

// Environment variables that stand for flags of move-in.
const (
	archiveKey  = "LECTERN_ARCHIVE_KEY"
	strapiToken = "LECTERN_STRAPI_TOKEN"
)

func (c *moveInCommand) run(s *session, args []string) error {
	if strings.HasPrefix(args[0], "http://") || strings.HasPrefix(args[0], "https://") {
		return usageError(fmt.Sprintf("the URL of a running server stands after --from: %s move-in --from %s DIR",
			s.Name, args[0]))
	}
	c.source = absolute(args[0])
	if len(args) > 1 {
		c.dir = absolute(args[1])
	}
	c.key, c.token = cmp.Or(c.key, os.Getenv(archiveKey)), cmp.Or(c.token, os.Getenv(strapiToken))
	p := newProgress(s.Stderr)
	reading, err := c.read(s, p)
	if err != nil {
		return inCommand("move in", err)
	}
	err = c.move(s, p, reading.notes)
	return errors.Join(err, reading.end(err == nil && !c.dryRun))
}

// move makes the project from a source on disk.
func (c *moveInCommand) move(s *session, p *progress, notes []movein.Note) error {
	pace := pace{}
	report, err := movein.Move(s.ctx, movein.Options{
		Source: c.source, Archive: string(c.archive), Key: c.key, Dir: c.dir, Into: c.into,
		Misfits: movein.Policy(c.misfits),
		DryRun:  c.dryRun, Notes: notes,
		Project: projectFlags{Env: "development"}.options(s),
		Progress: func(at movein.Progress) {
			p.show("%s", pace.text(at.Phase, at.Done, at.Total))
		},
	})
	p.clear()
	if report != nil {
		if printErr := report.Print(s.Stdout); printErr != nil {
			return errors.Join(err, printErr)
		}
	}
	if err != nil {
		return fmt.Errorf("move in: %w", err)
	}
	if c.dryRun {
		p.done("nothing was written")
		return nil
	}
	dir := shell.Path(display(c.dir))
	if c.into {
		p.done("added the content to %s; %s has this report", dir, movein.ReportName)
		return nil
	}
	p.done("made a project in %s; %s has this report\n\nserve it:  %s serve %s", dir, movein.ReportName, s.Name, dir)
	return nil
}
