package definitions

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// A schema is a content-type or a component of Strapi.
type schema struct {
	uid  string
	file string // the file it was read from, or "schemas" for an archive
	node *yamlfile.Node
}

// A writer builds the mapping of one file.
type writer struct {
	node *yamlfile.Node
}

func newWriter() *writer { return &writer{&yamlfile.Node{Kind: yamlfile.Map}} }

func (w *writer) set(key string, value *yamlfile.Node) {
	w.node.Entries = append(w.node.Entries, yamlfile.Entry{Key: key, Value: value})
}

func (w *writer) comment(format string, args ...any) {
	w.node.Entries = append(w.node.Entries, yamlfile.Entry{Comment: fmt.Sprintf(format, args...)})
}

// setAt adds a value or replaces it. keys lead to it; mappings on the way that are missing are added.
func (w *writer) setAt(value *yamlfile.Node, keys ...string) {
	at := slices.IndexFunc(w.node.Entries, func(e yamlfile.Entry) bool { return e.Key == keys[0] && e.Value != nil })
	if at < 0 {
		at = len(w.node.Entries)
		w.set(keys[0], newWriter().node)
	}
	e := &w.node.Entries[at]
	if len(keys) == 1 {
		e.Value = value
		return
	}
	(&writer{e.Value}).setAt(value, keys[1:]...)
}

// leaveOut writes an entry of the source as a comment, with the reason why it has no counterpart.
func (w *writer) leaveOut(e yamlfile.Entry, why string) {
	w.comment("%s: %s\n  left out: %s", e.Key, yamlfile.Flow(e.Value), why)
}

func text(s string) *yamlfile.Node { return &yamlfile.Node{Kind: yamlfile.Text, Text: s} }

func boolean(b bool) *yamlfile.Node {
	return &yamlfile.Node{Kind: yamlfile.Bool, Text: fmt.Sprint(b)}
}

// contentType converts a content-type.
func (c *converter) contentType(s *schema) {
	w := newWriter()
	w.comment("Made from %s of a Strapi project.", s.origin())
	singular := s.node.Get("info").Get("singularName")
	if implied := fmt.Sprintf("api::%[1]s.%[1]s", textOf(singular)); s.uid != implied {
		w.set("uid", text(s.uid))
	}
	if kind := s.node.Get("kind"); kind != nil {
		w.set("kind", kind)
	} else {
		w.set("kind", text(contenttypes.CollectionType.String())) // Strapi's default
	}
	c.keys(w, s, func(e yamlfile.Entry) bool {
		switch e.Key {
		case "kind": // written above
		case "options":
			w.set("options", c.options(s, e.Value))
		case "pluginOptions":
			c.pluginOptions(w, s.uid, e.Value)
		default:
			return false
		}
		return true
	})
	c.addPrivate(w, s)
	c.put(c.typeFile(s.uid, textOf(singular)), s, w.node)
}

// typeFile returns the path of a content-type's file, which no other type has.
func (c *converter) typeFile(uid, singular string) string {
	api, name, _ := strings.Cut(strings.TrimPrefix(uid, "api::"), ".")
	if singular == "" {
		singular = name
	}
	file := path.Join("content-types", path.Base(singular)+".yaml")
	if c.project.files[file] != nil {
		file = path.Join("content-types", path.Base(api+"-"+singular)+".yaml")
	}
	return file
}

// origin names the source of a schema for a comment.
func (s *schema) origin() string {
	if s.file == archiveFile {
		return s.uid + " in an archive"
	}
	return s.file
}

// derivedKeys are keys that Strapi itself adds to the schemas of an archive. They repeat what other keys say.
var derivedKeys = []string{"uid", "modelType", "modelName", "globalId", "plugin", "category", "__schema__",
	"__filename__", "apiName"}

// ignoredTypeKeys maps keys of a schema that have no effect on the content API to the reason.
var ignoredTypeKeys = map[string]string{
	"collectionName": "names a table of an SQL database, and Lectern has none",
	"config":         "has a meaning only for Strapi's admin panel",
	"actions":        "has a meaning only in Strapi's own code",
	"lifecycles":     "has a meaning only in Strapi's own code",
	"foreignKeys":    "is about an SQL database, and Lectern has none",
	"indexes": "asks for an index of the SQL database. Lectern has indexes for all attributes but text and richtext; " +
		"`index: true` on such an attribute makes one. An index of type unique over several columns is not enforced: " +
		"check it in a hook",
}

// info keeps the names of a type.
func (c *converter) info(s *schema, n *yamlfile.Node) *yamlfile.Node {
	w := newWriter()
	for _, e := range n.Entries {
		switch e.Key {
		case "singularName", "pluralName", "displayName", "description":
			if t := asText(e.Value); t.Kind == yamlfile.Text {
				w.set(e.Key, t)
			}
		default:
			c.ignore("info."+e.Key, "has a meaning only for Strapi's admin panel", s.uid)
		}
	}
	return w.node
}

// options keeps the options of a type that the content API depends on.
func (c *converter) options(s *schema, n *yamlfile.Node) *yamlfile.Node {
	w := newWriter()
	for _, e := range n.Entries {
		switch e.Key {
		case "draftAndPublish":
			w.set(e.Key, asBool(e.Value))
		case "privateAttributes":
			c.privateAttributes(w, s, e)
		case "populateCreatorFields":
			if asBool(e.Value).Text == "true" {
				w.leaveOut(e, "Lectern has no createdBy and updatedBy")
				c.note(Lost, s.file, s.uid+".options."+e.Key,
					"keep the author in an attribute of your own if clients show it",
					"answers of Strapi hold createdBy and updatedBy; Lectern has no admin users")
			}
		case "reviewWorkflows":
			if asBool(e.Value).Text == "true" {
				w.leaveOut(e, "Lectern has no review workflows")
				c.note(Lost, s.file, s.uid+".options."+e.Key, "", "Lectern has no review workflows")
			}
		default:
			c.ignore("options."+e.Key, "has no effect on the content API", s.uid)
		}
	}
	return w.node
}

// privateAttributes keeps the names of attributes that exist.
func (c *converter) privateAttributes(w *writer, s *schema, e yamlfile.Entry) {
	list := &yamlfile.Node{Kind: yamlfile.List}
	for _, item := range e.Value.Items {
		switch name := item.Text; {
		case name == "createdBy" || name == "updatedBy": // never in an answer
		case name == "id" || name == "documentId":
			c.note(Changed, s.file, s.uid+".options.privateAttributes", "",
				"%s stays public, since clients tell documents apart by it", name)
		default:
			list.Items = append(list.Items, asText(item))
		}
	}
	if len(list.Items) > 0 {
		w.set(e.Key, list)
	}
}

// addPrivate makes the attributes private that config/api makes private in all types.
func (c *converter) addPrivate(w *writer, s *schema) {
	list := &yamlfile.Node{Kind: yamlfile.List}
	if own := w.node.Get("options").Get("privateAttributes"); own != nil {
		list.Items = slices.Clip(own.Items)
	}
	before := len(list.Items)
	for _, name := range c.private {
		has := s.node.Get("attributes").Get(name) != nil ||
			slices.Contains([]string{"createdAt", "updatedAt", "publishedAt"}, name)
		if has && !slices.ContainsFunc(list.Items, func(n *yamlfile.Node) bool { return n.Text == name }) {
			list.Items = append(list.Items, text(name))
		}
	}
	if len(list.Items) > before {
		w.setAt(list, "options", "privateAttributes")
	}
}

// pluginOptions keeps i18n.localized, and reports options of other plugins.
func (c *converter) pluginOptions(w *writer, at string, n *yamlfile.Node) {
	for _, e := range n.Entries {
		switch localized := e.Value.Get("localized"); {
		case e.Key == "i18n" && localized != nil:
			i18n := newWriter()
			i18n.set("localized", asBool(localized))
			options := newWriter()
			options.set("i18n", i18n.node)
			w.set("pluginOptions", options.node)
		case e.Key == "i18n":
		default:
			c.ignore("pluginOptions."+e.Key, "is an option of Strapi's admin panel or of another plugin", at)
		}
	}
}

// component converts a component.
func (c *converter) component(s *schema) {
	w := newWriter()
	w.comment("Made from %s of a Strapi project.", s.origin())
	c.keys(w, s, func(e yamlfile.Entry) bool {
		if e.Key != "options" && e.Key != "pluginOptions" && e.Key != "kind" {
			return false
		}
		c.ignore(e.Key+" of components", "has no effect on the content API", s.uid)
		return true
	})
	c.put(componentFile(s.uid), s, w.node)
}

// keys converts the keys of a type or component. special converts those that mean something in one of the two only, and
// reports whether it did.
func (c *converter) keys(w *writer, s *schema, special func(yamlfile.Entry) bool) {
	for _, e := range s.node.Entries {
		switch why, ignored := ignoredTypeKeys[e.Key]; {
		case e.Value.IsNull() || slices.Contains(derivedKeys, e.Key) || special(e):
		case e.Key == "info":
			w.set("info", c.info(s, e.Value))
		case e.Key == "attributes":
			w.set("attributes", c.attributes(s, e.Value))
		case ignored:
			c.ignore(e.Key, why, s.uid)
		default:
			w.leaveOut(e, "Lectern has no such key")
			c.note(Ignored, s.file, s.uid+"."+e.Key, "", "the key has no counterpart")
		}
	}
	if w.node.Get("attributes") == nil {
		w.set("attributes", &yamlfile.Node{Kind: yamlfile.Map})
	}
}
