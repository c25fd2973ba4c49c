package definitions

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

// noteCode lists the files of a project with code of its own, which does not come along. The files that Strapi
// generates for each type are none of them: they only create its default controller, service and routes.
func (c *converter) noteCode(tree fs.FS) {
	plugins := map[string]bool{}
	err := fs.WalkDir(tree, "src", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (file == "src/admin" ||
			slices.Contains([]string{"node_modules", "dist", "documentation", "tests", "__tests__"}, e.Name())):
			return fs.SkipDir
		case e.IsDir() || !slices.Contains([]string{".js", ".ts", ".mjs", ".cjs"}, path.Ext(file)) ||
			strings.HasSuffix(file, ".d.ts"):
			return nil
		}
		if rest, ok := strings.CutPrefix(file, "src/plugins/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); !plugins[name] {
				plugins[name] = true
				c.note(Lost, "src/plugins/"+name, "", counterparts, "a plugin of the project does not come along")
			}
			return nil
		}
		if c.code[file] {
			return nil
		}
		source, err := yamlfile.ReadFile(tree, file)
		if err != nil {
			return err
		}
		if !generated(source) {
			c.note(Lost, file, "", counterparts, "%s not come along", codeKind(file))
		}
		return nil
	})
	if err != nil {
		c.note(Lost, "src", "", "", "its files cannot be listed: %v", err)
	}
}

const counterparts = "docs/coming-from-strapi.md shows the counterpart in Go"

// codeKind says what the code of a file is, by the directory that Strapi expects it in.
func codeKind(file string) string {
	kinds := map[string]string{
		"controllers": "code of a controller does", "services": "code of a service does",
		"routes":   "routes of the project do",
		"policies": "code of a policy does", "middlewares": "code of a middleware does",
		"content-types": "lifecycles of a type do",
	}
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		if kind := kinds[dir]; kind != "" {
			return kind
		}
	}
	return "code of the project does"
}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|(?m)^\s*//.*$|\s//.*$`)
	spaces   = regexp.MustCompile(`\s+`)
	imports  = regexp.MustCompile(`(?m)^\s*(import\s.*|(const|let|var)\s.*\brequire\(.*|['"]use strict['"];?)$`)
	// defaults matches the code, without blanks, that Strapi generates.
	defaults = regexp.MustCompile(
		`^((module\.exports=|exportdefault)(\w+\.)?createCore(Controller|Service|Router)\(['"][^'"]+['"](asany)?\);?` +
			`|(module\.exports=|exportdefault)\{(async)?register\([^)]*\)\{\},(async)?bootstrap\([^)]*\)\{\},?\};?)?$`)
)

// generated reports whether source is code that Strapi has generated, so that nothing is lost with it.
func generated(source []byte) bool {
	text := imports.ReplaceAll(comments.ReplaceAll(source, nil), nil)
	return defaults.Match(spaces.ReplaceAll(text, nil))
}
