package definitions

import (
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"

	"lectern/internal/yamlfile"
)

// majorVersion finds the major version in what package.json says of a dependency: 5.54.0, ^5.1.0, >=5. Tags such as
// latest have none.
var majorVersion = regexp.MustCompile(`^[^0-9A-Za-z]*v?(\d+)`)

// noteVersion notes that a project is not of Strapi 5, whose definitions are the ones that are understood here. A
// project that does not say its version is taken for one of Strapi 5.
func (c *converter) noteVersion(tree fs.FS) {
	data, err := yamlfile.ReadFile(tree, "package.json")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil {
		c.note(Ignored, "package.json", "", "", "it cannot be read: %v", err)
		return
	}
	version := manifest.Dependencies["@strapi/strapi"]
	if m := majorVersion.FindStringSubmatch(version); m != nil && m[1] != "5" {
		c.note(Changed, "package.json", "@strapi/strapi", "upgrade the project to Strapi 5 first",
			"the project is of Strapi %s, and its definitions are read as those of Strapi 5", version)
	}
}
