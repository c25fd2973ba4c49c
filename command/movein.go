package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"lectern/internal/shell"
	"lectern/strapi/movein"
)

type moveInCommand struct {
	Source  string `arg:"" help:"A Strapi 5 project, an archive of strapi export, or a directory with an unpacked archive. With --from it may be left out, or is the Strapi project with the definitions."`
	Dir     string `arg:"" optional:"" help:"Directory of the new project; it must be empty or missing." type:"path"`
	Archive string `help:"Archive with the content, if SOURCE is a Strapi project." type:"path" placeholder:"FILE"`
	Key     string `help:"Key of an encrypted archive." env:"LECTERN_ARCHIVE_KEY"`
	Into    bool   `help:"Add the content to the project in DIR, which has the same types, also while it is served. Documents with the same documentId are replaced."`
	Misfits string `help:"What becomes of values that break a rule of their definition, such as one that an enumeration does not list: keep (those that cannot be kept are left out) or leave-out. Without it they are kept, and the command stops if one cannot be. The report lists them." enum:",keep,leave-out" default:"" placeholder:"POLICY"`
	DryRun  bool   `help:"Rehearse all of it in a temporary directory, print the report, and write nothing else."`

	From    string   `help:"Read the content from a running Strapi at this URL." placeholder:"URL"`
	Token   string   `help:"Key of a full-access API token, for --from. Better name it in the environment, since others can see command lines." env:"LECTERN_STRAPI_TOKEN"`
	Rate    float64  `help:"Requests per second, for --from." default:"10" placeholder:"N"`
	Without []string `help:"Content-type that is not read, for --from. May be given several times." placeholder:"UID"`
}

func (c *moveInCommand) Run(s *session) error {
	if strings.HasPrefix(c.Source, "http://") || strings.HasPrefix(c.Source, "https://") {
		return usageError(fmt.Sprintf("the URL of a running server stands after --from: %s move-in --from %s DIR", s.Name, c.Source))
	}
	c.Source = kong.ExpandPath(c.Source)
	p := newProgress(s.Stderr)
	reading, err := c.read(s, p)
	if err != nil {
		return inCommand("move in", err)
	}
	err = c.move(s, p, reading.notes)
	return errors.Join(err, reading.end(err == nil && !c.DryRun))
}

// move makes the project from a source on disk.
func (c *moveInCommand) move(s *session, p *progress, notes []movein.Note) error {
	pace := pace{}
	report, err := movein.Move(s.ctx, movein.Options{
		Source: c.Source, Archive: c.Archive, Key: c.Key, Dir: c.Dir, Into: c.Into, Misfits: movein.Policy(c.Misfits), DryRun: c.DryRun, Notes: notes,
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
	if c.DryRun {
		p.done("nothing was written")
		return nil
	}
	dir := shell.Path(display(c.Dir))
	if c.Into {
		p.done("added the content to %s; %s has this report", dir, movein.ReportName)
		return nil
	}
	p.done("made a project in %s; %s has this report\n\nserve it:  %s serve %s", dir, movein.ReportName, s.Name, dir)
	return nil
}
