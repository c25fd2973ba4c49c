package command

import (
	"fmt"

	"lectern/gateway"
	"lectern/internal/shell"
)

type initCommand struct {
	Dir string `arg:"" help:"Directory to create." type:"path"`
}

func (c *initCommand) Run(s *session) error {
	result, err := gateway.Init(s.ctx, c.Dir, gateway.Options{LogTo: s.Stderr, Version: version()})
	if err != nil {
		return err
	}
	dir := shell.Path(display(c.Dir))
	fmt.Fprintf(s.Stdout, "made a project in %s: %s, and %s of documents\n\nserve it:  %s serve %s\nread it:   curl 'http://127.0.0.1:1337/api/articles?populate=*'\n",
		dir, count(result.Files, "file"), count(result.Versions, "version"), s.Name, dir)
	return nil
}
