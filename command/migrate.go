package command

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lectern/store/evolve"
)

type migrateCommand struct{ projectFlags }

func newMigrate(s *session) *cobra.Command {
	var m migrateCommand
	c := &cobra.Command{
		Use: "migrate [DIR] OPERATION...",
		Short: "Rename or drop stored content after definitions have changed. " +
			"A running server accepts only the calls that its log asks for.",
		Long: operationsHelp(),
		Args: takes(1, math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error { return m.run(s, args) },
	}
	m.add(c)
	return c
}

// operationsHelp explains the operations.
func operationsHelp() string {
	var b strings.Builder
	b.WriteString("The server refuses to start if changed definitions would lose content, " +
		"and its error lists the calls that decide what happens to the content. " +
		"Several operations in one call are carried out in order: all of them or none. The operations are:\n\n")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, op := range evolve.Operations {
		fmt.Fprintf(w, "    %s %s\t%s\n", op.Name, op.Usage(), op.Help)
	}
	w.Flush()
	b.WriteString("\nUID is the uid of a content-type (api::article.article) or component (shared.address). " +
		"ATTRIBUTE is a uid, a dot and the attribute's name. " +
		dirArgument)
	return b.String()
}

func (c *migrateCommand) run(s *session, args []string) error {
	dir, words := splitOperations(args)
	ms, err := parseMigrations(s, words)
	if err != nil {
		return err
	}
	fills, others := ms.Fills()
	switch {
	case len(fills) > 0 && others:
		return usageError("fill works on the content as the other operations leave it; call it after them")
	case others:
		return c.migrate(s, dir, ms)
	}
	return c.fill(s, dir, fills)
}

// fill carries out the migrations that fill in missing values.
func (c *migrateCommand) fill(s *session, dir string, ms evolve.Migrations) error {
	p := newProgress(s.Stderr)
	filled, err := c.directory(s, dir).Fill(s.ctx, ms, func(what string, done, total int) {
		p.show("%s: %d of %d", what, done, total)
	})
	p.clear()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	p.done("fill: done, %s filled in", count(filled.Versions, "value"))
	return nil
}

// migrate carries out all migrations other than fill.
func (c *migrateCommand) migrate(s *session, dir string, ms evolve.Migrations) error {
	p := newProgress(s.Stderr)
	removed, err := c.directory(s, dir).Migrate(ms, func(what string, done, total int) {
		p.show("%s: %d of %d", what, done, total)
	})
	p.clear()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	p.done("%s", describeMigrated(ms, removed))
	return nil
}

// splitOperations splits the arguments [DIR] [OPERATION …].
func splitOperations(args []string) (dir string, words []string) {
	if len(args) == 0 ||
		slices.ContainsFunc(evolve.Operations, func(o evolve.Operation) bool { return o.Name == args[0] }) {
		return ".", args
	}
	return args[0], args[1:]
}

func parseMigrations(s *session, words []string) (evolve.Migrations, error) {
	ms, err := evolve.ParseMigrations(words)
	if err != nil {
		return nil, usageError(fmt.Sprintf("%v; \"%s migrate --help\" lists the operations", err, s.Name))
	}
	return ms, nil
}

func describeMigrated(ms evolve.Migrations, r evolve.Removed) string {
	var done []string
	for _, m := range ms {
		done = append(done, m.Op)
	}
	return strings.Join(done, ", ") + ": " + describeRemoved(r)
}

func describeRemoved(r evolve.Removed) string {
	var list []string
	for _, part := range []struct {
		n    int
		what string
	}{{r.Documents, "document"}, {r.Versions, "version"}, {r.Values, "value"}, {r.Links, "link"}} {
		if part.n > 0 {
			list = append(list, count(part.n, part.what))
		}
	}
	if len(list) == 0 {
		return "done, nothing was removed"
	}
	return "done, removed " + strings.Join(list, ", ")
}
