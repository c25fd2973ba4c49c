package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"lectern/gateway"
	"lectern/gateway/admin"
)

func newDeploy(s *session) *cobra.Command {
	var flags projectFlags
	c := &cobra.Command{
		Use:   "deploy [DIR] [OPERATION...]",
		Short: "Make the definitions of a project those of a cluster, while it serves.",
		Long: "DIR is the project directory with the definitions (default: here). " +
			"It is beside the data directory of a running node, which --data names otherwise. " +
			"The operations are those of " + s.Name +
			" migrate; they say what becomes of content for which the definitions have no place.",
		RunE: func(_ *cobra.Command, args []string) error { return deploy(s, flags, args) },
	}
	flags.add(c)
	return c
}

func deploy(s *session, flags projectFlags, args []string) error {
	dir, words := splitOperations(args)
	o, err := deployment(s, dir, words)
	if err != nil {
		return err
	}
	done, err := flags.directory(s, dir).Deploy(s.ctx, o)
	if err != nil {
		return inCommand("deploy", err)
	}
	if len(done.Changed) == 0 {
		fmt.Fprintln(s.Stdout, "the cluster has these definitions already; nothing was done")
		return nil
	}
	for _, name := range done.Changed {
		fmt.Fprintln(s.Stdout, name)
	}
	if len(o.Migrations) > 0 {
		fmt.Fprintln(s.Stdout, describeMigrated(o.Migrations, done.Removed))
	}
	fmt.Fprintln(s.Stdout, "the cluster serves these definitions")
	return nil
}

// deployment reads the files in dir, and parses the operations.
func deployment(s *session, dir string, words []string) (o admin.Deployment, err error) {
	if len(words) > 0 {
		if o.Migrations, err = parseMigrations(s, words); err != nil {
			return o, err
		}
		if fills, _ := o.Migrations.Fills(); len(fills) > 0 {
			return o, usageError(
				"fill works on the content as the cluster serves it; call lectern migrate after the deployment")
		}
	}
	if _, err := gateway.Load(dir, s.extensions); err != nil { // with the files as the user knows them
		return o, err
	}
	o.Definitions, err = gateway.DefinitionFiles(dir)
	return o, err
}
