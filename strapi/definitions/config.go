package definitions

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
	"lectern/strapi/staticjs"
)

// readConfig converts the files of config/. Files below config/env/ replace parts of them in one environment; they are
// listed.
func (c *converter) readConfig(tree fs.FS) {
	for _, name := range []string{"api", "server", "middlewares", "plugins"} {
		file, n := c.configFile(tree, name, configRules[name])
		switch {
		case n == nil:
		case name == "api":
			for _, item := range orNull(n.Get("responses").Get("privateAttributes")).Items {
				c.private = append(c.private, textOf(item))
			}
			c.convertSettings(file, "config/api.yaml", n, configRules[name])
		case name == "server":
			c.convertSettings(file, "config/server.yaml", n, configRules[name])
		case name == "middlewares":
			c.middlewares(file, n)
		case name == "plugins":
			c.plugins(file, n)
		}
	}
	c.variables(tree)
	c.noteOtherConfig(tree)
}

// configExtensions are the extensions of a configuration file, in the order in which they are tried.
var configExtensions = []string{".ts", ".js", ".json", ".mjs", ".cjs"}

// configFile reads one file of config/. The node is nil if there is none, or if it cannot be read without running it.
// rules are those for the settings of the file.
func (c *converter) configFile(tree fs.FS, name string, rules map[string]rule) (file string, n *yamlfile.Node) {
	for _, ext := range configExtensions {
		file = path.Join("config", name+ext)
		source, err := yamlfile.ReadFile(tree, file)
		if err != nil {
			continue
		}
		if ext == ".json" {
			return file, c.readSchema(tree, file)
		}
		n, unread, err := staticjs.Read(file, source)
		if err != nil {
			c.note(Lost, file, "", "write its settings into config/ by hand: docs/configuration.md lists them", "%v",
				err)
			return file, nil
		}
		for _, u := range unread {
			if r, known := ruleFor(rules, u.Path); known && r.to == "" {
				c.note(r.level, file, u.Path, r.advice, "%s", r.why)
				continue
			}
			c.note(Lost, file, u.Path, "write its value into config/ by hand if Lectern has the setting",
				"only running the file would tell the value: %s", u.Code)
		}
		return file, n
	}
	return "", nil
}

// A rule says what becomes of a setting.
type rule struct {
	to      string                              // its path in the file of Lectern; "" for a setting without a counterpart
	convert func(*yamlfile.Node) *yamlfile.Node // converts the value; nil keeps it
	level   Level                               // of the note about a setting without a counterpart
	why     string
	advice  string
}

func keep(to string) rule { return rule{to: to} }

func ignored(why string) rule { return rule{level: Ignored, why: why} }

func lost(why, advice string) rule { return rule{level: Lost, why: why, advice: advice} }

const noAdmin = "is a setting of Strapi's admin panel"

// configRules are the rules for the settings of a file of config/, keyed by the name of the file.
var configRules = map[string]map[string]rule{"api": apiRules, "server": serverRules}

// ruleFor returns the rule for a setting or for the part of the file that it belongs to.
func ruleFor(rules map[string]rule, at string) (rule, bool) {
	for at != "" {
		if r, ok := rules[at]; ok {
			return r, true
		}
		at = at[:max(0, strings.LastIndexByte(at, '.'))]
	}
	return rule{}, false
}

var apiRules = map[string]rule{
	"rest.prefix": keep("rest.prefix"), "rest.defaultLimit": keep("rest.defaultLimit"),
	"rest.maxLimit":     keep("rest.maxLimit"),
	"rest.withCount":    keep("rest.withCount"),
	"rest.strictParams": ignored("Lectern ignores unknown parameters: docs/differences.md"),
	"documents": ignored(
		"Lectern has one way to treat unknown parameters and relations: docs/differences.md"),
	"responses": ignored("attributes that it makes private are private in the types that have them"),
	"rest.port": ignored("server.yaml has the port"),
	"rest.privateAttributes": lost("Lectern has no such setting",
		"list them as options.privateAttributes of the types"),
}

var serverRules = map[string]rule{
	"host": keep("host"), "port": keep("port"), "url": {to: "url", convert: absolute},
	"proxy": lost("Lectern trusts the proxies that trustedProxies names",
		"set trustedProxies in config/server.yaml"),
	"app.keys":                   ignored("signs cookies of Strapi's admin panel"),
	"admin":                      ignored(noAdmin),
	"webhooks.populateRelations": ignored("is about Strapi's webhooks"),
	"dirs":                       ignored("Lectern stores files in data/"),
	"cron":                       lost("Lectern runs no jobs", "run them in a program of your own: docs/extending.md"),
	"transfer":                   ignored("is about `strapi transfer`"),
	"emitErrors":                 ignored("has a meaning only in Strapi's own code"),
	"logger":                     ignored("log in config/server.yaml says what is logged"),
	"socket":                     lost("Lectern listens at an address", ""),
	"http": lost("limits and timeouts in config/server.yaml bound requests",
		"see docs/configuration.md"),
}

// absolute keeps a URL with a host. Strapi takes a path too, for its admin panel.
func absolute(n *yamlfile.Node) *yamlfile.Node {
	if t := textOf(n); strings.HasPrefix(t, "http") || strings.HasPrefix(t, "${") {
		return n
	}
	return nil
}

// convertSettings converts the settings of one file by rules, which are keyed by the path of a setting.
func (c *converter) convertSettings(file, to string, n *yamlfile.Node, rules map[string]rule) {
	c.origins[to] = file
	(&settings{c, file, "", to, "", rules}).convert("", n)
}

// settings are the rules for one part of a file, and where the result goes.
type settings struct {
	c            *converter
	file, prefix string // where the settings are from: the file, and what their paths begin with in notes
	to, below    string // where they go: the file, and what their paths begin with
	rules        map[string]rule
}

// convert converts the settings at a path.
func (s *settings) convert(at string, n *yamlfile.Node) {
	if n.Kind != yamlfile.Map {
		s.c.note(Lost, s.file, s.prefix+at, "", "it is %s, not an object", n.Describe())
		return
	}
	for _, e := range n.Entries {
		key := strings.TrimPrefix(at+"."+e.Key, ".")
		r, known := s.rules[key]
		deeper := func(path string) bool { return strings.HasPrefix(path, key+".") }
		switch {
		case known:
			s.apply(key, r, e.Value)
		case e.Value.Kind == yamlfile.Map && slices.ContainsFunc(slices.Collect(maps.Keys(s.rules)), deeper):
			s.convert(key, e.Value)
		default:
			s.apply(key, lost("Lectern has no such setting", ""), e.Value)
		}
	}
}

// apply writes one setting, or notes that it has no counterpart.
func (s *settings) apply(key string, r rule, n *yamlfile.Node) {
	if n.IsNull() {
		return
	}
	if r.to == "" {
		s.c.note(r.level, s.file, s.prefix+key, r.advice, "%s", r.why)
		if r.level == Lost {
			s.c.root(s.to).comment("%s%s of %s has no counterpart: %s", s.prefix, key, s.file, r.why)
		}
		return
	}
	if r.convert != nil {
		if n = r.convert(n); n == nil {
			s.c.note(Changed, s.file, s.prefix+key, "", "the value has no counterpart in Lectern")
			return
		}
	}
	s.c.set(s.to, strings.TrimPrefix(s.below+"."+r.to, "."), n)
}

// root returns the mapping of a file of the project, which it makes.
func (c *converter) root(file string) *writer {
	if c.project.files[file] == nil {
		c.project.files[file] = newWriter().node
		if origin := c.origins[file]; origin != "" {
			(&writer{c.project.files[file]}).comment("Made from %s of a Strapi project.", origin)
		}
	}
	return &writer{c.project.files[file]}
}

// set sets the value of a key of a file of the project. Dots separate the keys of a path.
func (c *converter) set(file, at string, value *yamlfile.Node) {
	c.root(file).setAt(value, strings.Split(at, ".")...)
}

// noteOtherConfig lists the files of config/ that have not been read.
func (c *converter) noteOtherConfig(tree fs.FS) {
	for _, file := range append(glob(tree, "config/*"), glob(tree, "config/env/*/*")...) {
		name := strings.TrimSuffix(path.Base(file), path.Ext(file))
		switch {
		case !slices.Contains(configExtensions, path.Ext(file)):
		case strings.HasPrefix(file, "config/env/"):
			c.note(Lost, file, "",
				"write the settings that differ into a file of their own, with ${NAME} for what differs",
				"settings of one environment are not read")
		case slices.Contains([]string{"api", "server", "middlewares", "plugins"}, name):
		case name == "admin":
			c.note(Ignored, file, "", "", "Lectern has no admin panel")
		case name == "database":
			c.note(Ignored, file, "", "content comes from an export",
				"Lectern has a store of its own and no SQL database")
		case name == "cron-tasks":
			c.note(Lost, file, "", "run them in a program of your own: docs/extending.md", "Lectern runs no jobs")
		default:
			c.note(Ignored, file, "", "", "only code of the project reads it")
		}
	}
}
