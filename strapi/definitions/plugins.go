package definitions

import (
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

const pluginsFile = "config/plugins.yaml"

// pluginRules are the rules for the plugins that Lectern has too.
var pluginRules = map[string]map[string]rule{
	"i18n": {"defaultLocale": keep("defaultLocale"), "locales": keep("locales")},
	"upload": {
		"sizeLimit": keep("sizeLimit"), "breakpoints": keep("breakpoints"),
		"security.allowedTypes": keep("security.allowedTypes"),
		"security.deniedTypes":  keep("security.deniedTypes"),
		"actionOptions":         ignored("Lectern has no options for single actions of a provider"),
		"providerOptions":       ignored("the provider of Lectern has its own options"),
		"provider":              {to: "provider", convert: localOnly},
	},
	"users-permissions": {
		"jwtSecret": keep("jwtSecret"), "jwt.expiresIn": keep("jwt.expiresIn"),
		"register.allowedFields": keep("register.allowedFields"),
		"ratelimit.enabled":      keep("ratelimit.enabled"), "ratelimit.max": keep("ratelimit.max"),
		"ratelimit.interval":                keep("ratelimit.interval"),
		"jwtManagement":                     keep("jwtManagement"),
		"sessions.accessTokenLifespan":      keep("sessions.accessTokenLifespan"),
		"sessions.maxRefreshTokenLifespan":  keep("sessions.maxRefreshTokenLifespan"),
		"sessions.idleRefreshTokenLifespan": keep("sessions.idleRefreshTokenLifespan"),
		"sessions.maxSessionLifespan":       ignored("maxRefreshTokenLifespan says how long a session can be refreshed"),
		"sessions.idleSessionLifespan":      ignored("idleRefreshTokenLifespan says how long a session can be idle"),
		"sessions.httpOnly":                 keep("sessions.httpOnly"),
		"sessions.cookie.name":              keep("sessions.cookie.name"),
		"sessions.cookie.sameSite":          keep("sessions.cookie.sameSite"),
		"sessions.cookie.path":              keep("sessions.cookie.path"),
		"sessions.cookie.domain":            keep("sessions.cookie.domain"),
		"sessions.cookie.secure":            keep("sessions.cookie.secure"),
		"sessions.cookie.maxAge":            keep("sessions.cookie.maxAge"),
		"callback":                          lost("Lectern has no login by other providers", ""),
	},
	"graphql": {
		"endpoint": keep("endpoint"), "shadowCRUD": keep("shadowCRUD"), "depthLimit": keep("depthLimit"),
		"amountLimit":  keep("amountLimit"),
		"defaultLimit": keep("defaultLimit"), "maxLimit": keep("maxLimit"), "landingPage": keep("landingPage"),
		"playgroundAlways": keep("playgroundAlways"), "apolloServer.introspection": keep("apolloServer.introspection"),
		"apolloServer.allowBatchedHttpRequests":          keep("apolloServer.allowBatchedHttpRequests"),
		"apolloServer.csrfPrevention":                    keep("apolloServer.csrfPrevention"),
		"apolloServer.persistedQueries":                  keep("apolloServer.persistedQueries"),
		"apolloServer.hideSchemaDetailsFromClientErrors": keep("apolloServer.hideSchemaDetailsFromClientErrors"),
		"generateArtifacts":                              ignored("`lectern schema` prints the schema"),
		"artifacts":                                      ignored("`lectern schema` prints the schema"),
		"subscriptions":                                  ignored("Strapi has none either unless code adds them"),
		"v4CompatibilityMode":                            lost("Lectern has the schema of Strapi 5", ""),
		"apolloServer.tracing":                           ignored("answers hold no traces"),
	},
}

// localOnly keeps the provider of uploads that stores files beside the content. plugins converts the others.
func localOnly(n *yamlfile.Node) *yamlfile.Node {
	if textOf(n) == "local" {
		return n
	}
	return nil
}

// otherPlugins says of well-known plugins what Lectern has instead.
var otherPlugins = map[string]rule{
	"documentation":    ignored("describes the API; docs/differences.md says how Lectern's API differs from Strapi's"),
	"seo":              ignored("adds a page to Strapi's admin panel"),
	"sentry":           ignored("sends errors of Strapi's process"),
	"content-releases": ignored(noAdmin), "review-workflows": ignored(noAdmin), "content-manager": ignored(noAdmin),
	"content-type-builder": ignored(noAdmin),
	"color-picker":         ignored("adds a field to Strapi's admin panel; its values are texts"),
	"tinymce":              ignored("adds a field to Strapi's admin panel; its values are texts"),
	"ckeditor":             ignored("adds a field to Strapi's admin panel; its values are texts"),
	"ckeditor5":            ignored("adds a field to Strapi's admin panel; its values are texts"),
	"cloud":                ignored("is about the hosting of Strapi"),
}

// plugins converts config/plugins.
func (c *converter) plugins(file string, n *yamlfile.Node) {
	c.origins[pluginsFile] = file
	for _, e := range n.Entries {
		enabled, config := e.Value.Get("enabled"), e.Value.Get("config")
		if e.Value.Kind == yamlfile.Bool {
			enabled = e.Value
		}
		rules, known := pluginRules[e.Key]
		other, listed := otherPlugins[e.Key]
		switch off := enabled != nil && textOf(enabled) == "false"; {
		case known:
			if enabled != nil {
				c.set(pluginsFile, e.Key+".enabled", asBool(enabled))
			}
			if config != nil {
				c.pluginConfig(file, e.Key, config, rules)
			}
		case off:
		case e.Key == "email":
			c.email(file, config)
		case listed:
			c.note(other.level, file, e.Key, "", "the plugin %s", other.why)
		default:
			c.note(Lost, file, e.Key, "a program can add routes and types of its own: docs/extending.md",
				"Lectern does not have the plugin")
			c.root(pluginsFile).comment("%s of %s has no counterpart: Lectern does not have the plugin", e.Key, file)
		}
	}
}

// pluginConfig converts the settings of a plugin that Lectern has.
func (c *converter) pluginConfig(file, plugin string, config *yamlfile.Node, rules map[string]rule) {
	if plugin == "upload" {
		if provider := textOf(config.Get("provider")); provider != "" && provider != "local" {
			config = c.uploadProvider(file, provider, config)
		}
	}
	(&settings{c, file, plugin + ".config.", pluginsFile, plugin + ".config", rules}).convert("", config)
}

// uploadProvider converts the settings of a provider of uploads, and returns the remaining settings of the plugin.
func (c *converter) uploadProvider(file, provider string, config *yamlfile.Node) *yamlfile.Node {
	rest := newWriter()
	for _, e := range config.Entries {
		if e.Key != "provider" && e.Key != "providerOptions" {
			rest.set(e.Key, e.Value)
		}
	}
	const at = "upload.config.provider"
	if !strings.Contains(provider, "aws-s3") {
		c.note(Lost, file, at, "use the provider local or s3: docs/media.md",
			"Lectern does not have the provider %s: files are stored in data/uploads", provider)
		c.root(pluginsFile).comment("%s %s of %s has no counterpart: files are stored in data/uploads", at, provider,
			file)
		return rest.node
	}
	options := config.Get("providerOptions")
	s3 := options.Get("s3Options")
	if s3 == nil {
		s3 = options
	}
	first := func(nodes ...*yamlfile.Node) *yamlfile.Node {
		i := slices.IndexFunc(nodes, func(n *yamlfile.Node) bool { return textOf(n) != "" })
		if i < 0 {
			return nil
		}
		return nodes[i]
	}
	region := first(s3.Get("region"))
	endpoint := first(s3.Get("endpoint"))
	if endpoint == nil && region != nil {
		endpoint = text("https://s3." + region.Text + ".amazonaws.com")
	}
	values := []struct {
		key string
		n   *yamlfile.Node
	}{
		{"endpoint", endpoint},
		{"bucket", first(s3.Get("params").Get("Bucket"), options.Get("params").Get("Bucket"))},
		{"accessKey", first(s3.Get("credentials").Get("accessKeyId"), s3.Get("accessKeyId"))},
		{"secretKey", first(s3.Get("credentials").Get("secretAccessKey"), s3.Get("secretAccessKey"))},
		{"region", region},
		{"baseUrl", first(options.Get("baseUrl"))},
	}
	for i, v := range values {
		if v.n == nil && i < 4 {
			c.note(Lost, file, at, "write the provider s3 into config/plugins.yaml: docs/media.md",
				"the provider aws-s3 is not converted, since its %s is not known: files are stored in data/uploads",
				v.key)
			return rest.node
		}
	}
	c.set(pluginsFile, at, text("s3"))
	for _, v := range values {
		if v.n != nil {
			c.set(pluginsFile, "upload.config.providerOptions."+v.key, v.n)
		}
	}
	if root := first(options.Get("rootPath")); root != nil {
		c.note(Lost, file, "upload.config.providerOptions.rootPath", "move the files to the top of the bucket",
			"Lectern stores files at the top of the bucket")
	}
	return rest.node
}

// email converts the settings of the plugin email: those of SMTP belong to users-permissions in Lectern, which alone
// sends mail.
func (c *converter) email(file string, config *yamlfile.Node) {
	const to = "users-permissions.config.email."
	provider := textOf(config.Get("provider"))
	from, options := config.Get("settings").Get("defaultFrom"), config.Get("providerOptions")
	for _, s := range []struct {
		to string
		n  *yamlfile.Node
	}{{"from", from}, {"replyTo", config.Get("settings").Get("defaultReplyTo")}} {
		if textOf(s.n) != "" {
			c.set(pluginsFile, to+s.to, s.n)
		}
	}
	if !strings.Contains(provider, "nodemailer") || textOf(from) == "" || textOf(options.Get("host")) == "" {
		c.note(Lost, file, "email", "set users-permissions.config.email.smtp and from in config/plugins.yaml",
			"Lectern sends mail by SMTP, and the provider %q does not tell its server", provider)
		return
	}
	for _, s := range []struct {
		to string
		n  *yamlfile.Node
	}{
		{"host", options.Get("host")}, {"port", asNumber(orNull(options.Get("port")))},
		{"username", options.Get("auth").Get("user")}, {"password", options.Get("auth").Get("pass")},
	} {
		if !s.n.IsNull() && textOf(s.n) != "" {
			c.set(pluginsFile, to+"smtp."+s.to, s.n)
		}
	}
	if textOf(options.Get("secure")) == "true" {
		c.set(pluginsFile, to+"smtp.security", text("tls"))
	}
}

// orNull returns a node that is not nil.
func orNull(n *yamlfile.Node) *yamlfile.Node {
	if n == nil {
		return &yamlfile.Node{}
	}
	return n
}
