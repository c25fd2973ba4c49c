package command

import (
	"fmt"

	"lectern/gateway"
)

type deployCommand struct {
	Dir string `arg:"" optional:"" default:"." help:"Project directory with the definitions, beside the data directory of a running node, or with --data for that (default: here)." type:"path"`
	projectFlags
}

func (c *deployCommand) Run(s *session) error {
	if _, err := gateway.Load(c.Dir, c.options(s).Extensions); err != nil { // with the files as the user knows them
		return err
	}
	files, err := gateway.DefinitionFiles(c.Dir)
	if err != nil {
		return err
	}
	changed, err := c.directory(s, c.Dir).Deploy(s.ctx, files)
	if err != nil {
		return inCommand("deploy", err)
	}
	if len(changed) == 0 {
		fmt.Fprintln(s.Stdout, "the cluster has these definitions already")
		return nil
	}
	for _, name := range changed {
		fmt.Fprintln(s.Stdout, name)
	}
	fmt.Fprintln(s.Stdout, "the cluster serves these definitions")
	return nil
}
