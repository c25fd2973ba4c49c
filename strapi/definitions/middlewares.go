package definitions

import (
	"regexp"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

// middlewares converts the settings of Strapi's middlewares, and lists those of the project, which are code.
func (c *converter) middlewares(file string, n *yamlfile.Node) {
	const to = "config/server.yaml"
	if n.Kind != yamlfile.List {
		c.note(Lost, file, "", "", "it is %s, not a list of middlewares", n.Describe())
		return
	}
	for _, item := range n.Items {
		name, config := textOf(item), item.Get("config")
		if item.Kind == yamlfile.Map {
			name = textOf(item.Get("name"))
		}
		switch {
		case !strings.HasPrefix(name, "strapi::"):
			if name == "" {
				name = textOf(item.Get("resolve"))
			}
			c.note(Lost, file, name, "write it as a middleware in Go: docs/extending.md",
				"it is code of the project or of a plugin")
		case config.IsNull() || config.Kind == yamlfile.Map && len(config.Entries) == 0:
		case name == "strapi::cors":
			(&settings{c, file, name + ".", to, "cors", corsRules}).convert("", c.corsOrigins(file, to, config))
		case name == "strapi::body":
			(&settings{c, file, name + ".", to, "limits", bodyRules}).convert("", config)
		case slices.Contains(answerMiddlewares, name):
			c.note(Changed, file, name, "compare the headers of answers if clients depend on them: docs/security.md",
				"Lectern sets headers of its own")
		default:
			c.note(Ignored, file, name, "", "its settings have no counterpart")
		}
	}
}

// answerMiddlewares are those that set headers of answers.
var answerMiddlewares = []string{"strapi::security", "strapi::poweredBy", "strapi::responseTime"}

var corsRules = map[string]rule{
	"methods": keep("methods"), "headers": keep("headers"), "expose": keep("expose"),
	"maxAge":            {to: "maxAge", convert: seconds},
	"enabled":           ignored("Lectern always answers cross-origin requests"),
	"keepHeaderOnError": ignored("Lectern always keeps the headers of errors"),
	"credentials":       ignored("clients send their credential in a header, not as a cookie"),
}

var bodyRules = map[string]rule{
	"jsonLimit": keep("json"), "formLimit": keep("form"),
	"textLimit":       ignored("the content API takes no texts"),
	"includeUnparsed": ignored("has a meaning only in Strapi's own code"),
	"patchKoa":        ignored("has a meaning only in Strapi's own code"),
	"multipart":       ignored("Lectern always takes uploads"),
	"parsedMethods":   ignored("has a meaning only in Strapi's own code"),
	"patchNode":       ignored("has a meaning only in Strapi's own code"),
	"encoding":        ignored("bodies are UTF-8"),
	"formidable":      ignored("upload.config.sizeLimit in config/plugins.yaml bounds files"),
	"jsonStrict":      ignored("bodies are objects"),
}

var originForm = regexp.MustCompile(`^(\*|https?://[^/*]+|\$\{.*\})$`)

// corsOrigins converts the origins whose pages may read answers, and returns the other settings. Without a valid origin
// the list is empty, so that no page may read answers.
func (c *converter) corsOrigins(file, to string, config *yamlfile.Node) *yamlfile.Node {
	rest, list := newWriter(), &yamlfile.Node{Kind: yamlfile.List}
	for _, e := range config.Entries {
		if e.Key != "origin" {
			rest.set(e.Key, e.Value)
			continue
		}
		items := e.Value.Items
		if e.Value.Kind != yamlfile.List {
			items = []*yamlfile.Node{e.Value}
		}
		for _, item := range items {
			for origin := range strings.SplitSeq(textOf(item), ",") {
				origin = strings.TrimSuffix(strings.TrimSpace(origin), "/")
				if originForm.MatchString(origin) {
					list.Items = append(list.Items, text(origin))
				} else {
					c.note(Lost, file, "strapi::cors.origin",
						"write the origins that it stands for into cors.origin of config/server.yaml",
						"%q is no origin that Lectern knows: one is * or a scheme, host and port", origin)
				}
			}
		}
		c.set(to, "cors.origin", list)
	}
	return rest.node
}

// seconds converts a number of seconds to a duration.
func seconds(n *yamlfile.Node) *yamlfile.Node {
	if n.Kind != yamlfile.Int {
		return nil
	}
	return text(n.Text + "s")
}
