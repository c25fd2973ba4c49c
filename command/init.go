package command

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"lectern/gateway"
	"lectern/internal/shell"
)

func newInit(s *session) *cobra.Command {
	var empty bool
	c := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a small example project with content, ready to serve.",
		Long:  "DIR is the directory to create.",
		Args:  takes(1, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return initProject(s, absolute(args[0]), empty) },
	}
	c.Flags().BoolVar(&empty, "empty", false, "No content-types and no content: a project to begin with.")
	return c
}

func initProject(s *session, path string, empty bool) error {
	dir := shell.Path(display(path))
	if empty {
		result, err := gateway.InitEmpty(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Stdout,
			"made an empty project in %s: %s\n\nserve it:  %s serve %s\nadd a type, while it is served: %s\n",
			dir, count(result.Files, "file"), s.Name, dir,
			shell.Path(filepath.Join(display(path), "content-types", "article.yaml")))
		return nil
	}
	result, err := gateway.Init(s.ctx, path, gateway.Options{LogTo: s.Stderr, Version: version()})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout,
		"made a project in %s: %s, and %s of documents\n\nserve it:  %s serve %s\n"+
			"read it:   curl 'http://127.0.0.1:1337/api/articles?populate=*'\n",
		dir, count(result.Files, "file"), count(result.Versions, "version"), s.Name, dir)
	return nil
}
