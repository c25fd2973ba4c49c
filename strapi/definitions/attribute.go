package definitions

import (
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

// systemAttributes are the attributes that Strapi adds to each type in an archive. Lectern has its own.
var systemAttributes = []string{"id", "documentId", "createdAt", "updatedAt", "publishedAt", "createdBy", "updatedBy",
	"locale", "localizations"}

// attributes converts the attributes of a type or component.
func (c *converter) attributes(s *schema, n *yamlfile.Node) *yamlfile.Node {
	w := newWriter()
	for _, e := range n.Entries {
		at := s.uid + "." + e.Key
		switch {
		case slices.Contains(systemAttributes, e.Key):
			if s.file != archiveFile {
				w.leaveOut(e, "every document has an attribute of this name")
				c.note(Lost, s.file, at, "", "every document has an attribute of this name, which cannot be defined")
			}
		case e.Value.Kind != yamlfile.Map:
			w.leaveOut(e, "it is no attribute")
			c.note(Lost, s.file, at, "", "it is %s, and an attribute is an object with a type", e.Value.Describe())
		case strings.HasPrefix(e.Key, "strapi_"):
			w.leaveOut(e, "it belongs to Strapi's review workflows")
			c.note(Lost, s.file, at, "", "it belongs to Strapi's review workflows, which Lectern does not have")
		default:
			c.attribute(w, s, e)
		}
	}
	return w.node
}

// attribute converts one attribute, or leaves it out if what it points to cannot exist in Lectern.
func (c *converter) attribute(w *writer, s *schema, e yamlfile.Entry) {
	at := s.uid + "." + e.Key
	if target := e.Value.Get("target"); target != nil && foreign(target.Text) {
		why := "it points to " + target.Text + ", a type of a plugin that Lectern does not have"
		if strings.HasPrefix(target.Text, "admin::") {
			why = "it points to " + target.Text + ", and Lectern has no admin users"
		}
		w.leaveOut(e, why)
		c.note(Lost, s.file, at, "make a content-type of your own for it if clients need it", "%s", why)
		return
	}
	out := newWriter()
	kind := c.attributeType(out, s, e)
	for _, option := range e.Value.Entries {
		c.option(out, at, s, kind, option)
	}
	w.set(e.Key, out.node)
}

// foreign reports whether a uid is that of a type that only Strapi has.
func foreign(uid string) bool {
	for _, has := range []string{"plugin::users-permissions.", "plugin::upload.file", "plugin::i18n.locale"} {
		if strings.HasPrefix(uid, has) {
			return false
		}
	}
	return strings.HasPrefix(uid, "admin::") || strings.HasPrefix(uid, "plugin::") || strings.HasPrefix(uid, "strapi::")
}

// attributeType writes the type of an attribute and returns it. The type of a custom field is the one it is based on.
func (c *converter) attributeType(out *writer, s *schema, e yamlfile.Entry) string {
	kind, custom := textOf(e.Value.Get("type")), e.Value.Get("customField")
	at := s.uid + "." + e.Key
	if kind == "customField" {
		base, known := customFields[textOf(custom)]
		if kind = base; !known {
			kind = "json"
			c.note(Changed, s.file, at, "move in from an archive, whose schemas tell the type, or correct it by hand",
				"the custom field %s is stored as json, since the schema does not say what type it is based on",
				textOf(custom))
		} else {
			c.note(Changed, s.file, at, "", "the custom field %s is stored as %s", textOf(custom), base)
		}
	}
	if kind == "timestamp" {
		c.note(Changed, s.file, at, "",
			"answers show the moment as a datetime such as 2026-05-01T10:20:30.000Z; "+
				"Strapi shows the milliseconds since 1970 as text")
	}
	if kind != "" {
		out.set("type", text(kind))
	}
	if custom != nil {
		out.set("customField", asText(custom))
	}
	return kind
}

// customFields maps the custom fields of well-known plugins to the types they are based on. Each type is the one that
// the code of the plugin registers (`customFields.register({name, plugin, type})` in its server part), in the package
// and version named beside it.
var customFields = map[string]string{
	"plugin::address-selection.address":                        "string",   // strapi-plugin-address-selection 1.0.1
	"plugin::address-selection.country":                        "string",   // strapi-plugin-address-selection 1.0.1
	"plugin::ckeditor.CKEditor":                                "richtext", // @ckeditor/strapi-plugin-ckeditor 1.1.2
	"plugin::ckeditor5.CKEditor":                               "richtext", // source of @_sh/strapi-plugin-ckeditor
	"plugin::cloudinary-media-library.cloudinary":              "string",   // @strapi-community/cloudinary-media-library 1.0.3
	"plugin::color-picker.color":                               "string",   // @strapi/plugin-color-picker 5.54.0
	"plugin::country-select.country":                           "string",   // strapi-plugin-country-select 2.1.0
	"plugin::field-uuid.uuid":                                  "uid",      // @bn-digital/strapi-plugin-field-uuid 1.2.12
	"plugin::geodata.geojson":                                  "json",     // strapi-geodata 0.0.3
	"plugin::google-maps.location-picker":                      "json",     // @amicaldo/strapi-google-maps 3.0.2
	"plugin::icon-picker.icon-picker":                          "string",   // strapi-icon-picker-x 1.1.3
	"plugin::lucide-icon-picker.lucide-icon":                   "string",   // @samuel-erb/strapi-plugin-lucide-icon-picker 1.1.0
	"plugin::multi-select.multi-select":                        "json",     // strapi-plugin-multi-select 2.1.1
	"plugin::multiselect-field.multiselect-field":              "string",   // strapi-plugin-multiselect-field 1.0.1
	"plugin::oembed.oembed":                                    "json",     // strapi-plugin-oembed 2.0.2
	"plugin::react-icons.icon":                                 "string",   // strapi-plugin-react-icons 0.3.1
	"plugin::strapi-advanced-uuid.uuid":                        "uid",      // strapi-advanced-uuid 2.1.1
	"plugin::strapi-code-editor-custom-field.code-editor-json": "json",     // strapi-code-editor-custom-field 1.1.0
	"plugin::strapi-code-editor-custom-field.code-editor-text": "text",     // strapi-code-editor-custom-field 1.1.0
	"plugin::strapi-country-select.country-select":             "string",   // strapi-country-select 1.1.0
	"plugin::strapi-location-picker.location-picker":           "json",     // strapi-location-picker 0.0.3
	"plugin::strapi-plugin-iconhub.iconhub":                    "json",     // @arshiash80/strapi-plugin-iconhub 1.1.1
	"plugin::table-field.table":                                "json",     // @sensinum/strapi-table-field 1.0.1
	"plugin::tagsinput.tags":                                   "json",     // strapi-plugin-tagsinput 2.0.3
	"plugin::timezone-select.timezone":                         "string",   // strapi-plugin-timezone-select 1.0.0
	"plugin::tinymce.tinymce":                                  "richtext", // @sklinet/strapi-plugin-tinymce 1.1.7
	"plugin::video-field.video":                                "json",     // @sklinet/strapi-plugin-video-field 1.1.2
}

// optionKinds says how the value of a key that is kept is converted.
var optionKinds = map[string]func(*yamlfile.Node) *yamlfile.Node{
	"required": asBool, "unique": asBool, "private": asBool, "multiple": asBool, "repeatable": asBool, "index": asBool,
	"min": asNumber, "max": asNumber, "minLength": asNumber, "maxLength": asNumber,
	"regex": asText, "enumName": asText, "targetField": asText, "component": asText, "relation": asText,
	"target":     asText,
	"inversedBy": asText, "mappedBy": asText, "morphBy": asText,
	"enum": textsOf, "allowedTypes": textsOf,
}

// option converts one key of an attribute.
func (c *converter) option(out *writer, at string, s *schema, kind string, e yamlfile.Entry) {
	convert, kept := optionKinds[e.Key]
	why, ignored := ignoredOptions[e.Key]
	switch {
	case e.Value.IsNull() || e.Key == "type" || e.Key == "customField":
	case e.Key == "default":
		c.defaultValue(out, at, s, kind, e)
	case e.Key == "pluginOptions":
		c.pluginOptions(out, at, e.Value)
	case e.Key == "components":
		out.set(e.Key, c.zone(at, s, e.Value))
	case e.Key == "conditions":
		out.leaveOut(e, "Lectern checks the attribute whether or not Strapi's panel shows it")
		c.note(Changed, s.file, at+".conditions", "do not make it required if it may be missing",
			"Strapi's panel hides the attribute by a condition, and Lectern always checks it")
	case e.Key == "regex" && e.Value.Text == "":
	case kept:
		out.set(e.Key, convert(e.Value))
	case ignored:
		c.ignore("attributes.*."+e.Key, why, at)
	default:
		out.leaveOut(e, "Lectern has no such key")
		c.note(Ignored, s.file, at+"."+e.Key, "", "the key has no counterpart")
	}
}

// zone returns the components of a dynamic zone that exist.
func (c *converter) zone(at string, s *schema, n *yamlfile.Node) *yamlfile.Node {
	list := textsOf(n)
	list.Items = slices.DeleteFunc(slices.Clone(list.Items), func(item *yamlfile.Node) bool {
		if c.names[textOf(item)] {
			return false
		}
		c.note(Lost, s.file, at+".components", "", "there is no component %s", textOf(item))
		return true
	})
	return list
}

const (
	forPanel    = "has a meaning only for Strapi's admin panel"
	forDatabase = "is about an SQL database, and Lectern has none"
)

// ignoredOptions maps keys of an attribute that have no effect on the content API to the reason.
var ignoredOptions = map[string]string{
	"configurable": forPanel, "visible": forPanel, "editable": forPanel, "writable": forPanel, "hidden": forPanel,
	"options":     forPanel,
	"description": forPanel, "displayName": forPanel, "comment": forPanel, "placeholder": forPanel,
	"pluginType": forPanel,
	"searchable": "keeps an attribute out of the parameter _q; in Lectern private attributes are kept out",
	"column":     forDatabase, "columnType": forDatabase, "useJoinTable": forDatabase, "joinTable": forDatabase,
	"joinColumn":  forDatabase,
	"morphColumn": forDatabase, "ordered": forDatabase, "unstable_virtual": forDatabase, "columnName": forDatabase,
	"precision": forDatabase, "scale": forDatabase,
	"autoPopulate": "has a meaning only in Strapi's own code", "ref": "has a meaning only in Strapi's own code",
	"collection": "has a meaning only in Strapi's own code", "via": "has a meaning only in Strapi's own code",
	"plugin": "has a meaning only in Strapi's own code", "model": "has a meaning only in Strapi's own code",
	"dominant": "has a meaning only in Strapi's own code", "__contentType__": "has a meaning only in Strapi's own code",
}
