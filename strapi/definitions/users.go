package definitions

import (
	"embed"
	"slices"
	"strconv"
	"sync"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// users converts the schema of users to a file that adds the project's attributes to the built-in type. It writes no
// file if there are none.
func (c *converter) users(s *schema) {
	attributes := newWriter()
	for _, e := range s.node.Get("attributes").Entries {
		built := builtInUser().Attribute(e.Key)
		switch {
		case built == nil || built.System:
			attributes.set(e.Key, e.Value)
		default:
			if stricter := c.stricter(e, built); len(stricter.Entries) > 0 {
				attributes.set(e.Key, stricter)
			}
		}
	}
	converted := c.attributes(s, attributes.node)
	if !slices.ContainsFunc(converted.Entries, func(e yamlfile.Entry) bool { return e.Value != nil }) {
		return
	}
	w := newWriter()
	w.comment("Made from %s of a Strapi project: attributes of users beside the built-in ones.", s.origin())
	w.set("uid", text(s.uid))
	w.set("attributes", converted)
	c.put(c.typeFile("api::users.user", "user"), s, w.node)
}

// stricter returns what the schema says of a built-in attribute beside its definition in Lectern.
func (c *converter) stricter(e yamlfile.Entry, built *contenttypes.Attribute) *yamlfile.Node {
	w := newWriter()
	for _, option := range e.Value.Entries {
		switch value := option.Value; option.Key {
		case "private":
			if asBool(value).Text == "true" && !built.Private {
				w.set(option.Key, value)
			}
		case "minLength", "maxLength", "regex":
			if option.Key != "minLength" || built.MinLength == nil || textOf(value) != strconv.Itoa(*built.MinLength) {
				w.set(option.Key, value)
			}
		}
	}
	return w.node
}

// builtInUser returns the type of users as a project without attributes of its own has it.
var builtInUser = sync.OnceValue(func() *contenttypes.ContentType {
	outline, _ := contenttypes.LoadOutline(embed.FS{}, contenttypes.Options{}) // its problem is that there are no files
	return outline.Model.Type(contenttypes.UserUID)
})
