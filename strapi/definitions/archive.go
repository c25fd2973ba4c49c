package definitions

import (
	"fmt"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
	"lectern/strapi/archive"
)

// archiveFile is what notes call the schemas of an archive.
const archiveFile = "schemas"

// readArchive reads the schemas of an archive: those of the project, and that of users for the attributes that it adds.
func (c *converter) readArchive(schemas Schemas) error {
	number := 0
	return schemas(func(line []byte) error {
		number++
		n, problems := yamlfile.Parse("schema.json", line, nil)
		if problems != nil {
			return fmt.Errorf("schema %d of the archive: %w", number, problems)
		}
		uid := textOf(n.Get("uid"))
		if uid == "" {
			return fmt.Errorf("schema %d of the archive has no uid", number)
		}
		if err := archive.CheckUID(uid); err != nil {
			return fmt.Errorf("schema %d of the archive: %w", number, err)
		}
		c.add(&schema{uid: uid, file: archiveFile, node: n}, textOf(n.Get("modelType")) == "component")
		return nil
	})
}

// add adds a schema, unless there is one of its uid already or it is not one of the project.
func (c *converter) add(s *schema, component bool) {
	if err := archive.CheckUID(s.uid); err != nil {
		c.note(Lost, s.file, "", "correct the name and convert again", "%v", err)
		return
	}
	switch {
	case c.names[s.uid]:
		return
	case component:
		c.components = append(c.components, s)
	case strings.HasPrefix(s.uid, "api::") || s.uid == contenttypes.UserUID:
		c.types = append(c.types, s)
	case !ownPlugin(s.uid):
		c.note(Lost, s.file, s.uid, "make a content-type of your own for it if clients need it",
			"the type belongs to a plugin that Lectern does not have")
	}
	c.names[s.uid] = true
}

// ownPlugin reports whether a type is one of those that come with Strapi. Lectern has a counterpart of it or needs
// none.
func ownPlugin(uid string) bool {
	for _, prefix := range []string{"admin::", "strapi::", "plugin::users-permissions.", "plugin::upload.",
		"plugin::i18n.",
		"plugin::content-releases.", "plugin::review-workflows."} {
		if strings.HasPrefix(uid, prefix) {
			return true
		}
	}
	return false
}
