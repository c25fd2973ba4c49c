package definitions

import (
	"strconv"
	"strings"

	"lectern/internal/yamlfile"
)

// Strapi does not mind the types of many values in a schema: a limit may be the text "1", a value of an enumeration the
// number
// 1. These functions return the value of the type that Lectern's definitions have, or the value itself if it has none.

// textOf returns the text of a scalar, or "" of anything else.
func textOf(n *yamlfile.Node) string {
	if n == nil || n.Kind >= yamlfile.List || n.IsNull() {
		return ""
	}
	return n.Text
}

func asText(n *yamlfile.Node) *yamlfile.Node {
	if n.IsNull() || n.Kind >= yamlfile.List {
		return n
	}
	return text(yamlfile.Literal(n.Text))
}

func asBool(n *yamlfile.Node) *yamlfile.Node {
	if n.Kind == yamlfile.Text && (n.Text == "true" || n.Text == "false") {
		return boolean(n.Text == "true")
	}
	return n
}

func asNumber(n *yamlfile.Node) *yamlfile.Node {
	if n.Kind != yamlfile.Text {
		return n
	}
	s := strings.TrimSpace(n.Text)
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return &yamlfile.Node{Kind: yamlfile.Int, Text: strings.TrimPrefix(s, "+")}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f-f == 0 {
		return &yamlfile.Node{Kind: yamlfile.Float, Text: strconv.FormatFloat(f, 'f', -1, 64)}
	}
	return n
}

// textsOf converts the scalars of a list to texts, each once, without empty ones.
func textsOf(n *yamlfile.Node) *yamlfile.Node {
	if n.Kind != yamlfile.List {
		return n
	}
	list, seen := &yamlfile.Node{Kind: yamlfile.List}, map[string]bool{"": true}
	for _, item := range n.Items {
		if t := asText(item); t.Kind != yamlfile.Text || !seen[strings.TrimSpace(t.Text)] {
			seen[t.Text] = true
			list.Items = append(list.Items, t)
		}
	}
	return list
}

// literal returns a value whose texts Lectern reads back unchanged.
func literal(n *yamlfile.Node) *yamlfile.Node {
	switch n.Kind {
	case yamlfile.Text:
		return text(yamlfile.Literal(n.Text))
	case yamlfile.List:
		list := &yamlfile.Node{Kind: yamlfile.List}
		for _, item := range n.Items {
			list.Items = append(list.Items, literal(item))
		}
		return list
	case yamlfile.Map:
		m := newWriter()
		for _, e := range n.Entries {
			m.set(e.Key, literal(e.Value))
		}
		return m.node
	}
	return n
}

// defaultValue converts the default of an attribute to the type of its values.
func (c *converter) defaultValue(out *writer, at string, s *schema, kind string, e yamlfile.Entry) {
	v := literal(e.Value)
	switch kind {
	case "string", "text", "richtext", "email", "uid", "enumeration":
		v = asText(e.Value)
	case "integer", "biginteger", "float", "decimal":
		v = asNumber(v)
	case "boolean":
		v = asBool(v)
	}
	if v.Kind == yamlfile.Text && v.Text == "" && kind != "string" && kind != "text" && kind != "richtext" {
		return // Strapi's panel writes an empty text where there is no default
	}
	if kind == "password" {
		out.comment("default: a password\n  left out: Lectern gives passwords no default")
		c.note(Lost, s.file, at+".default", "send a password with each document",
			"passwords have no default in Lectern")
		return
	}
	out.set(e.Key, v)
}
