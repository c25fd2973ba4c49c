package definitions

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
	"lectern/strapi/staticjs"
)

// IsTree reports whether the files of a directory are those of a Strapi project, whose content-types lie in src/api/.
func IsTree(fsys fs.FS) bool {
	isDir := func(name string) bool {
		info, err := fs.Stat(fsys, name)
		return err == nil && info.IsDir()
	}
	return isDir("src/api") && !isDir("content-types")
}

// readTree reads the schemas and the configuration of a Strapi project.
func (c *converter) readTree(tree fs.FS) error {
	if err := c.readSchemas(tree); err != nil {
		return err
	}
	c.noteVersion(tree)
	c.readConfig(tree)
	c.noteCode(tree)
	return nil
}

// readSchemas reads the schemas of a Strapi project.
func (c *converter) readSchemas(tree fs.FS) error {
	if !IsTree(tree) {
		return errors.New("this is no Strapi project: there is no src/api/ in it")
	}
	archived := len(c.types) > 0
	for _, file := range schemaFiles(tree, "src/api/*/content-types/*/schema") {
		parts := strings.Split(file, "/")
		if n := c.readSchema(tree, file); n != nil {
			uid := "api::" + kebab(parts[2]) + "." + textOf(n.Get("info").Get("singularName"))
			if archived && !c.names[uid] {
				c.note(Changed, file, uid, "export again if it holds content", "the type is not in the archive")
			}
			c.add(&schema{uid: uid, file: file, node: n}, false)
		}
	}
	for _, file := range schemaFiles(tree, "src/components/*/*") {
		uid := path.Base(path.Dir(file)) + "." + strings.TrimSuffix(path.Base(file), path.Ext(file))
		if n := c.readSchema(tree, file); n != nil {
			c.add(&schema{uid: strings.ToLower(uid), file: file, node: n}, true) // Strapi lowers the case too
		}
	}
	c.readExtensions(tree)
	return nil
}

// readExtensions reads the schemas by which a project changes types of plugins. Only that of users can be changed in
// Lectern.
func (c *converter) readExtensions(tree fs.FS) {
	for _, file := range schemaFiles(tree, "src/extensions/*/content-types/*/schema") {
		parts := strings.Split(file, "/")
		uid := "plugin::" + parts[2] + "." + parts[4]
		if uid != contenttypes.UserUID {
			c.note(Lost, file, uid, "", "only the type of users takes attributes of a project in Lectern")
			continue
		}
		if n := c.readSchema(tree, file); n != nil {
			c.add(&schema{uid: uid, file: file, node: n}, false)
		}
	}
}

// schemaFiles returns the files with schemas that match a pattern without an extension. Strapi takes JSON and code.
func schemaFiles(tree fs.FS, pattern string) (files []string) {
	for _, ext := range []string{".json", ".js", ".ts"} {
		files = append(files, glob(tree, pattern+ext)...)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".d.ts") })
}

// readSchema reads a schema file, or returns nil after a note that says why it cannot be read.
func (c *converter) readSchema(tree fs.FS, file string) *yamlfile.Node {
	if path.Ext(file) != ".json" {
		return c.readSchemaCode(tree, file)
	}
	n, problems := yamlfile.Read(tree, file, nil)
	for _, p := range problems {
		c.note(Lost, file, "", "correct the file and convert again", "%s", p.Message)
	}
	if len(problems) == 0 && (n == nil || n.Kind != yamlfile.Map) {
		c.note(Lost, file, "", "", "the file holds no schema")
		return nil
	}
	return n
}

// readSchemaCode reads a schema that is the export of a module.
func (c *converter) readSchemaCode(tree fs.FS, file string) *yamlfile.Node {
	const advice = "move in from an archive, which has the schema, or write it as schema.json"
	source, err := yamlfile.ReadFile(tree, file)
	if err != nil {
		c.note(Lost, file, "", "", "%v", err)
		return nil
	}
	c.code[file] = true
	n, unread, err := staticjs.Read(file, source)
	switch {
	case err != nil:
		c.note(Lost, file, "", advice, "%v", err)
		return nil
	case n.Kind != yamlfile.Map:
		c.note(Lost, file, "", advice, "the file holds no schema")
		return nil
	}
	for _, u := range unread {
		c.note(Lost, file, u.Path, advice, "only running the file would tell the value: %s", u.Code)
	}
	unescape(n)
	return n
}

// unescape undoes what staticjs does to texts so that they are no references to variables. A schema has none.
func unescape(n *yamlfile.Node) {
	if n.Kind == yamlfile.Text {
		n.Text = strings.ReplaceAll(n.Text, "$${", "${")
	}
	for _, item := range n.Items {
		unescape(item)
	}
	for _, e := range n.Entries {
		unescape(e.Value)
	}
}

// glob returns the files that match a pattern, sorted. The pattern is valid.
func glob(tree fs.FS, pattern string) []string {
	files, _ := fs.Glob(tree, pattern) // its only error is an invalid pattern
	slices.Sort(files)
	return files
}

// kebab converts the name of a directory in src/api/ to the name of the API, as Strapi does: blogPost becomes
// blog-post, and page2 becomes page-2.
func kebab(s string) string {
	const upper, lower, digit, other = 'A', 'a', '0', '-'
	kind := func(i int) rune {
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z':
			return upper
		case 'a' <= c && c <= 'z':
			return lower
		case '0' <= c && c <= '9':
			return digit
		}
		return other
	}
	var words []string
	for start := 0; start < len(s); {
		end := start + 1
		for end < len(s) && kind(end) == kind(start) {
			end++
		}
		switch {
		case kind(start) == upper && end < len(s) && kind(end) == lower && end > start+1:
			end-- // the last capital begins the next word, as in APIGateway
		case kind(start) == upper && end < len(s) && kind(end) == lower:
			for end < len(s) && kind(end) == lower {
				end++
			}
		}
		if kind(start) != other {
			words = append(words, strings.ToLower(s[start:end]))
		}
		start = end
	}
	return strings.Join(words, "-")
}
