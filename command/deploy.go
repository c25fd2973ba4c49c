package command

import (
	"fmt"

	"lectern/gateway"
	"lectern/gateway/admin"
)

type deployCommand struct {
	Args []string `arg:"" optional:"" name:"[dir] operation" help:"Project directory with the definitions, beside the data directory of a running node, or with --data for that (default: here), and operations of lectern migrate that say what becomes of content for which the definitions have no place."`
	projectFlags
}

func (c *deployCommand) Run(s *session) error {
	dir, words := splitOperations(c.Args)
	o, err := c.deployment(s, dir, words)
	if err != nil {
		return err
	}
	done, err := c.directory(s, dir).Deploy(s.ctx, o)
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
func (c *deployCommand) deployment(s *session, dir string, words []string) (o admin.Deployment, err error) {
	if len(words) > 0 {
		if o.Migrations, err = parseMigrations(s, words); err != nil {
			return o, err
		}
		if fills, _ := o.Migrations.Fills(); len(fills) > 0 {
			return o, usageError("fill works on the content as the cluster serves it; call lectern migrate after the deployment")
		}
	}
	if _, err := gateway.Load(dir, c.options(s).Extensions); err != nil { // with the files as the user knows them
		return o, err
	}
	o.Definitions, err = gateway.DefinitionFiles(dir)
	return o, err
}
