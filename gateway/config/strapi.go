package config

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"lectern/internal/shell"
)

// strapiProject returns an error if dir is a project of Strapi, which has its content types in src/api/. The error says how to convert
// the project.
func strapiProject(dir string, project fs.FS) error {
	isDir := func(name string) bool {
		info, err := fs.Stat(project, name)
		return err == nil && info.IsDir()
	}
	if isDir("content-types") || !isDir("src/api") {
		return nil
	}
	from := shell.Path(dir)
	var b strings.Builder
	fmt.Fprintf(&b, `%s is a Strapi project: its content-types are in src/api/. Lectern reads them from content-types/, one a file, and takes the
JSON of Strapi's schemas as it is. These lines make a project of them in the directory NEW:

    mkdir -p NEW/content-types NEW/config
    for f in %s/src/api/*/content-types/*/schema.json; do cp "$f" "NEW/content-types/$(basename "$(dirname "$f")").json"; done
`, dir, from)
	if isDir("src/components") {
		fmt.Fprintf(&b, "    cp -r %s/src/components NEW/components\n", from)
	}
	for _, line := range otherNames(project) {
		b.WriteString(line)
	}
	b.WriteString(`
config/*.js is written anew as config/server.yaml, api.yaml, plugins.yaml and permissions.yaml, as far as it differs from what
docs/configuration.md lists as defaults; "lectern check NEW" names what is left to do`)
	return fmt.Errorf("%s", b.String())
}

// otherNames returns a hint for each type whose API has another name than the type, since its uid does not follow from the file name.
func otherNames(project fs.FS) (lines []string) {
	schemas, _ := fs.Glob(project, "src/api/*/content-types/*/schema.json")
	for _, file := range schemas {
		name := path.Base(path.Dir(file))
		if api := strings.Split(file, "/")[2]; api != name {
			lines = append(lines, fmt.Sprintf("    # add \"uid\": \"api::%s.%s\" to NEW/content-types/%s.json\n", api, name, name))
		}
	}
	return lines
}
