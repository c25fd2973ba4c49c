package definitions

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

// variable matches a reference to an environment variable in a file of the configuration.
var variable = regexp.MustCompile(`(^|[^$])\$\{([A-Za-z_][A-Za-z0-9_]*)[:}]`)

// variables keeps the secret of JWTs, so that users stay logged in, and takes the variables that the configuration
// refers to from the file .env of the project.
func (c *converter) variables(tree fs.FS) {
	const secret, setting = "JWT_SECRET",
		"users-permissions.config.jwtSecret" // Strapi reads the secret there by default
	lines := envLines(tree)
	if users := c.project.files[pluginsFile].Get("users-permissions").Get("config"); users.Get("jwtSecret") == nil {
		if lines[secret] != "" {
			c.set(pluginsFile, setting, text("${"+secret+"}"))
		} else {
			c.note(Changed, ".env", secret, "set "+setting+" to it so that users stay logged in",
				"there is no %s, so Lectern makes a secret of its own and JWTs of Strapi end", secret)
		}
	}
	var used []string
	for _, file := range c.project.Files() {
		if !strings.HasPrefix(file, "config/") {
			continue
		}
		for _, m := range variable.FindAllSubmatch(c.project.File(file), -1) {
			used = append(used, string(m[2]))
		}
	}
	slices.Sort(used)
	for _, name := range slices.Compact(used) {
		if lines[name] != "" {
			c.project.env = append(c.project.env, lines[name]+"\n"...)
		}
	}
}

// envLines returns the lines of the file .env that set a variable, keyed by its name.
func envLines(tree fs.FS) map[string]string {
	data, err := yamlfile.ReadFile(tree, ".env")
	if err != nil {
		return nil // it is optional
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if ok && value != "" && !strings.HasPrefix(line, "#") {
			lines[strings.TrimSpace(name)] = line
		}
	}
	return lines
}
