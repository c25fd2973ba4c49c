package config

import (
	"fmt"
	"io/fs"

	"lectern/internal/shell"
)

// strapiProject returns an error if dir is a project of Strapi, which has its content types in src/api/. The error says
// how to make a project of Lectern from it.
func strapiProject(dir string, project fs.FS) error {
	isDir := func(name string) bool {
		info, err := fs.Stat(project, name)
		return err == nil && info.IsDir()
	}
	if isDir("content-types") || !isDir("src/api") {
		return nil
	}
	from := shell.Path(dir)
	return fmt.Errorf("%[1]s is a Strapi project; `lectern move-in %[1]s NEW` makes a project of Lectern from it, "+
		"and `lectern serve %[1]s`, `lectern check %[1]s` and `lectern schema %[1]s` give a first look", from)
}
