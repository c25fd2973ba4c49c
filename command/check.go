package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lectern/auth"
	"lectern/documents/misfits"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/shell"
	"lectern/store/evolve"
)

type checkCommand struct {
	store bool
	projectFlags
}

func newCheck(s *session) *cobra.Command {
	var k checkCommand
	c := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Check definitions and configuration and print every problem.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return k.run(s, projectAt(args)) },
	}
	c.Flags().BoolVar(&k.store, "store", false,
		"Check the store instead: read all of it and print what is damaged or inconsistent. "+
			"Works while a server runs.")
	k.add(c)
	return c
}

func (c *checkCommand) run(s *session, dir string) error {
	if c.store {
		return c.checkStore(s, dir)
	}
	return s.inPreview(dir, "", func(dir string, preview *preview) error {
		if preview != nil {
			for _, n := range preview.Project.Notes {
				fmt.Fprintf(s.Stdout, "%s: %s\n", n.Level, n)
			}
		}
		return c.checkFiles(s, dir)
	})
}

// checkFiles checks the definitions and the configuration of the project in dir, and whether its content fits them.
func (c *checkCommand) checkFiles(s *session, dir string) error {
	d, problems, warnings, err := gateway.Check(dir, c.options(s))
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(s.Stderr, "warning:", w)
	}
	for _, p := range problems {
		fmt.Fprintln(s.Stdout, p)
	}
	var wrong []string // number of problems of each kind
	if len(problems) > 0 {
		wrong = append(wrong, count(len(problems), "problem"))
	}
	var forecast admin.Forecast
	if d.Model != nil { // without a model there is nothing to compare content with
		forecast, err = c.directory(s, dir).Foresee(s.ctx, d.Definition)
		var refused *evolve.DefinitionError
		switch {
		case errors.As(err, &refused):
			fmt.Fprintln(s.Stdout, refused)
			wrong = append(wrong, count(len(refused.Refusals), "change")+" refused")
		case err != nil:
			return err
		}
		if n := s.printMisfits(c.directory(s, dir), forecast.Content); n > 0 {
			wrong = append(wrong, count(n, "rule")+" that stored content breaks")
		}
		if err := s.warnOfTokens(c.directory(s, dir), d, forecast.Tokens); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		fmt.Fprintln(s.Stderr, strings.Join(wrong, ", "))
		return errReported
	}
	types, components := d.Size()
	if types == 0 {
		fmt.Fprintln(s.Stderr, "warning: the project has no content-types yet; each is a file in content-types/")
	}
	fmt.Fprintf(s.Stdout, "%s and %s are fine\n", count(types, "content-type"), count(components, "component"))
	switch {
	case forecast.First != "":
		fmt.Fprintf(s.Stdout, "whether the content fits them cannot be told yet: the next start %s\n", forecast.First)
	case forecast.Converts:
		fmt.Fprintln(s.Stdout,
			"the definitions have changed; the content is brought in step with them at the next start, and loses nothing")
	}
	return nil
}

// printMisfits prints the stored content that breaks rules of the definitions, with examples and the commands that
// repair it. It returns how many rules the content breaks.
func (s *session) printMisfits(d *admin.Directory, r misfits.Report) int {
	for _, m := range r.Misfits {
		examples := make([]string, len(m.Examples))
		for i, e := range m.Examples {
			examples[i] = e.String()
		}
		fmt.Fprintf(s.Stdout, "%s, such as %s\n", m, strings.Join(examples, ", "))
		if call := d.FillCommand(m); call != "" {
			fmt.Fprintln(s.Stdout, "    "+call)
		}
		if m.Locale != "" {
			fmt.Fprintln(s.Stdout, "    "+d.DropLocaleCommand(m))
		}
	}
	for _, name := range r.Unindexed {
		fmt.Fprintf(s.Stdout, "whether %s is unique can be told after the next start, which makes its index\n", name)
	}
	return len(r.Misfits)
}

// warnOfTokens tells which tokens permissions.yaml does not declare. Those of a replica are the matter of its origin.
func (s *session) warnOfTokens(d *admin.Directory, def *gateway.Definition, f auth.TokenForecast) error {
	if origin, err := d.Origin(); err != nil || origin != "" {
		return err
	}
	for _, name := range f.Removed {
		if def.HasPermissions {
			fmt.Fprintf(s.Stderr,
				"warning: permissions.yaml no longer declares the token %s: "+
					"the next start or reload of the server revokes it\n", name)
		} else {
			fmt.Fprintf(s.Stderr,
				"warning: config/permissions.yaml, which declared the token %s, is missing or empty: "+
					"the token is kept meanwhile\n", name)
		}
	}
	for _, name := range f.Kept {
		fmt.Fprintf(s.Stderr,
			"warning: permissions.yaml does not declare the token %s: it works until you revoke it:\n    %s\n", name,
			d.Command("token revoke")+" "+shell.Path(name))
	}
	return nil
}

// checkStore prints the damage in the store.
func (c *checkCommand) checkStore(s *session, dir string) error {
	problems, err := c.directory(s, dir).Problems(s.ctx)
	if err != nil {
		return fmt.Errorf("check the store: %w", err)
	}
	if len(problems) == 0 {
		fmt.Fprintln(s.Stdout, "the store is whole")
		return nil
	}
	for _, problem := range problems {
		fmt.Fprintln(s.Stdout, problem)
	}
	fmt.Fprintf(s.Stderr, "%s; restore a backup, or save what can be read: %s salvage\n",
		count(len(problems), "problem"), s.Name)
	return errReported
}
