package command

import (
	"fmt"
	"path/filepath"

	"lectern/gateway"
	"lectern/internal/shell"
)

type initCommand struct {
	Dir   string `arg:"" help:"Directory to create." type:"path"`
	Empty bool   `help:"No content-types and no content: a project to begin with."`
}

func (c *initCommand) Run(s *session) error {
	dir := shell.Path(display(c.Dir))
	if c.Empty {
		result, err := gateway.InitEmpty(c.Dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Stdout, "made an empty project in %s: %s\n\nserve it:  %s serve %s\nadd a type, while it is served: %s\n",
			dir, count(result.Files, "file"), s.Name, dir, shell.Path(filepath.Join(display(c.Dir), "content-types", "article.yaml")))
		return nil
	}
	result, err := gateway.Init(s.ctx, c.Dir, gateway.Options{LogTo: s.Stderr, Version: version()})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "made a project in %s: %s, and %s of documents\n\nserve it:  %s serve %s\nread it:   curl 'http://127.0.0.1:1337/api/articles?populate=*'\n",
		dir, count(result.Files, "file"), count(result.Versions, "version"), s.Name, dir)
	return nil
}
