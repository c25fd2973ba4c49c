package config

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lectern/auth"
	"lectern/internal/yamlfile"
)

// apiFile is config/api.yaml as written. Decoding it sets the settings that its pointers lead to.
type apiFile struct {
	REST restFile
	// who may read the drafts of documents that they may read: `granted`, who has the permission `findDrafts`, and
	// writes that publish take `publish`; `readable`, everybody, as in Strapi:
	// [publishing.md](publishing.md#who-may-read-drafts)
	// Default: `readable`, with a warning if that concerns a role
	Drafts  *string
	OpenAPI openAPIFile `yaml:"openapi"`
	// by content-type: what REST populates if the request has no `populate`
	// Default: none
	Populate **yamlfile.Node
	// by content-type and role: the header `Cache-Control` of answers with its documents:
	// [caching.md](caching.md#let-caches-keep-answers)
	// Default: none
	Cache     **yamlfile.Node
	RateLimit rateLimitsFile `yaml:"rateLimit"`
	History   struct {
		// whether callers who may read a history see the names of the users who wrote, without permission to find
		// users: [history.md](history.md)
		Names *bool
	}
	Preview struct {
		// how long the token of a [preview](previews.md) works
		// Default: `1h`
		Lifespan *yamlfile.Node
	}
}

type restFile struct {
	// path before every route of the content API
	Prefix *string
	// entries of a page if the request does not say
	DefaultLimit *int `yaml:"defaultLimit"`
	// most entries of a page; `-1` for no limit
	MaxLimit *int `yaml:"maxLimit"`
	// whether `meta.pagination` has `pageCount` and `total` if the request does not say
	WithCount *bool `yaml:"withCount"`
}

type openAPIFile struct {
	// whether browsers get a page that shows the OpenAPI document, at `_docs` below the prefix
	// Default: in development only
	Page **bool
}

// file returns an apiFile whose pointers lead to r.
func (r *REST) file() apiFile {
	f := apiFile{Drafts: &r.DraftsSetting, REST: restFile{&r.Prefix, &r.DefaultLimit, &r.MaxLimit, &r.WithCount},
		OpenAPI: openAPIFile{&r.DocsPage}, Populate: &r.Populate,
		Cache: &r.Cache, RateLimit: r.RateLimits.file()}
	f.History.Names = &r.HistoryNames
	return f
}

// readREST reads config/api.yaml.
func (r *REST) readREST(n *yamlfile.Node) yamlfile.Problems {
	f := r.file()
	unfit := n.Decode(&f)
	var problems yamlfile.Problems
	if d := f.Preview.Lifespan; !d.IsNull() {
		var ok bool
		if r.PreviewLifespan, ok = ParseLifespan(d.Text); !ok {
			problems.Add(d, "lifespan must be a number of seconds or a time such as 1h or 2d, not %q", d.Text)
		}
	}
	prefix := strings.TrimRight(r.Prefix, "/")
	if !isPath(prefix) {
		problems.Add(n.At("rest", "prefix"), "prefix must be a path, such as /api or /content/v1, not %q", r.Prefix)
	}
	r.Prefix = prefix
	if r.DefaultLimit < 1 {
		problems.Add(n.At("rest", "defaultLimit"), "defaultLimit must be 1 or more: it is the size of a page")
	}
	if r.MaxLimit == 0 || r.MaxLimit < -1 {
		problems.Add(n.At("rest", "maxLimit"), "maxLimit must be 1 or more, or -1 for no limit")
	}
	switch r.DraftsSetting {
	case "", "readable":
	case "granted":
		r.Drafts = auth.GrantedDrafts
	default:
		problems.Add(n.At("drafts"), "drafts must be granted or readable, not %q", r.DraftsSetting)
	}
	problems = append(problems, r.RateLimits.check(n)...)
	return together(unfit, problems)
}

// isPath reports whether s is a path without parameters or escapes, such as /content/v1.
func isPath(s string) bool { return pathPattern.MatchString(s) }

var pathPattern = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// pluginsFile is config/plugins.yaml as written. Decoding it sets the settings that its pointers lead to.
type pluginsFile struct {
	I18n    plugin[i18nFile]
	Upload  plugin[uploadFile]
	Users   plugin[usersFile] `yaml:"users-permissions"`
	GraphQL plugin[graphqlFile]
	MCP     mcpFile `yaml:"mcp"`
}

type mcpFile struct {
	// whether assistants can use the content API by the [Model Context Protocol](mcp.md), at `/mcp`
	Enabled *bool
}

// A plugin is a part of the server that config/plugins.yaml can switch off.
type plugin[T any] struct {
	// `false` takes the routes and types of this part away
	Enabled *bool
	Config  T
}

// graphqlFile is graphql.config as written. Decoding it sets the settings that its pointers lead to, except
// PlaygroundAlways.
type graphqlFile struct {
	// path of the endpoint
	Endpoint *string
	// whether types, queries and mutations are generated
	ShadowCRUD *bool `yaml:"shadowCRUD"`
	// whether types with drafts have mutations `publishX`, `unpublishX` and `discardDraftX`, and there are fields that
	// list and cancel schedules ([publishing.md](publishing.md#over-graphql))
	DocumentActions *bool `yaml:"documentActions"`
	// whether clients can subscribe to changes of documents: [graphql.md](graphql.md#subscriptions)
	Subscriptions *bool
	// levels of fields below a field of Query, Mutation or Subscription; a deeper operation is refused
	DepthLimit *int `yaml:"depthLimit"`
	// entries of a list if the operation does not say
	DefaultLimit *int `yaml:"defaultLimit"`
	// most entries of a list that an operation may ask for; `-1`: any number
	MaxLimit *int `yaml:"maxLimit"`
	// no list of documents is longer. Only `maxLimit` bounds lists of components, and dynamic zones are always whole:
	// [graphql.md](graphql.md#length-of-lists)
	AmountLimit *int `yaml:"amountLimit"`
	Limits      *GraphQLLimits
	// parts of the schema to leave out, by type and attribute: [graphql.md](graphql.md#leave-parts-out)
	// Default: none
	ShadowCRUDOptions **yamlfile.Node `yaml:"shadowCRUDOptions"`
	// what browsers see: an IDE, or a small page. [graphql.md](graphql.md)
	// Default: `true` in development
	LandingPage **bool `yaml:"landingPage"`
	// deprecated, read with a warning: `true` shows the IDE whatever `landingPage` says; `false` has no effect
	// Default: none
	PlaygroundAlways *bool `yaml:"playgroundAlways"`
	// settings of Apollo Server, such as `introspection` and `allowBatchedHttpRequests`:
	// [graphql.md](graphql.md#settings-of-apollo-server)
	// Default: none
	ApolloServer *yamlfile.Node `yaml:"apolloServer"`
}

// file returns a graphqlFile whose pointers lead to g.
func (g *GraphQL) file() graphqlFile {
	return graphqlFile{
		Endpoint: &g.Endpoint, ShadowCRUD: &g.ShadowCRUD, DepthLimit: &g.DepthLimit, AmountLimit: &g.AmountLimit,
		DefaultLimit: &g.DefaultLimit,
		MaxLimit:     &g.MaxLimit, DocumentActions: &g.DocumentActions, Subscriptions: &g.Subscriptions,
		LandingPage: &g.LandingPage, Limits: &g.Limits,
		ShadowCRUDOptions: &g.ShadowCRUDOptions,
	}
}

type i18nFile struct {
	// locale of a request that names none
	DefaultLocale *string `yaml:"defaultLocale"`
	// codes, or `{code, name}`; the default locale is always one of them. `GET /api/i18n/locales` lists them. A locale
	// that you remove from the list takes no more content. Its content can be read, unpublished and deleted, and
	// `lectern check` counts it
	// Default: the default locale
	Locales []localeFile
}

// file returns a pluginsFile whose pointers lead to s.
func (s *Settings) file() pluginsFile {
	return pluginsFile{
		I18n:    plugin[i18nFile]{&s.I18n.Enabled, i18nFile{DefaultLocale: &s.I18n.DefaultLocale}},
		Upload:  plugin[uploadFile]{&s.Upload.Enabled, s.Upload.file()},
		Users:   plugin[usersFile]{&s.Users.Enabled, s.Users.file()},
		GraphQL: plugin[graphqlFile]{&s.GraphQL.Enabled, s.GraphQL.file()},
		MCP:     mcpFile{&s.MCP},
	}
}

// readPlugins reads config/plugins.yaml.
func (s *Settings) readPlugins(n *yamlfile.Node) yamlfile.Problems {
	g := &s.GraphQL
	f := s.file()
	unfit := n.Decode(&f)
	problems := g.readMore(&f.GraphQL.Config, n.At("graphql", "config"))
	problems = append(problems, g.check(n.At("graphql", "config"))...)
	problems = append(problems, s.I18n.readI18n(&f.I18n.Config, n.At("i18n", "config"))...)
	problems = append(problems, s.Upload.read(&f.Upload.Config, n.At("upload", "config"))...)
	problems = append(problems, s.Users.read(&f.Users.Config, n.At("users-permissions", "config"))...)
	return together(unfit, problems)
}

func (g *GraphQL) check(config *yamlfile.Node) (problems yamlfile.Problems) {
	if !isPath(g.Endpoint) {
		problems.Add(config.At("endpoint"), "endpoint must be a path, such as /graphql, not %q", g.Endpoint)
	}
	for key, limit := range map[string]int{"depthLimit": g.DepthLimit, "amountLimit": g.AmountLimit,
		"defaultLimit": g.DefaultLimit} {
		if limit < 1 {
			problems.Add(config.At(key), "%s must be 1 or more", key)
		}
	}
	if g.MaxLimit == 0 || g.MaxLimit < -1 {
		problems.Add(config.At("maxLimit"), "maxLimit must be 1 or more, or -1 for no limit")
	}
	return problems
}

// readI18n reads the locales. The default locale is added if it is not listed.
func (s *I18n) readI18n(f *i18nFile, config *yamlfile.Node) (problems yamlfile.Problems) {
	s.Locales = nil
	if !localePattern.MatchString(s.DefaultLocale) {
		problems.Add(config.At("defaultLocale"), "defaultLocale must be a code such as en or pt-BR, not %q",
			s.DefaultLocale)
	}
	for i, l := range f.Locales {
		at := config.At("locales").Items[i]
		switch {
		case !localePattern.MatchString(l.Code):
			problems.Add(at, "a locale is a code such as en or pt-BR, not %q", l.Code)
		case slices.ContainsFunc(s.Locales, func(x Locale) bool { return x.Code == l.Code }):
			problems.Add(at, "locale %s is listed twice; keep one", l.Code)
		case utf8.RuneCountInString(l.Name) > 50:
			problems.Add(at, "a locale's name has at most 50 characters")
		}
		s.Locales = append(s.Locales, Locale(l))
	}
	if !slices.ContainsFunc(s.Locales, func(x Locale) bool { return x.Code == s.DefaultLocale }) {
		s.Locales = slices.Insert(s.Locales, 0, Locale{s.DefaultLocale, localeName(s.DefaultLocale)})
	}
	return problems
}

// Has reports whether a locale is listed.
func (s *I18n) Has(code string) bool { return slices.Contains(s.Codes(), code) }

// Codes returns the codes of the locales, in the order in which they are listed.
func (s *I18n) Codes() []string {
	codes := make([]string, len(s.Locales))
	for i, l := range s.Locales {
		codes[i] = l.Code
	}
	return codes
}

// DefaultFirst returns the codes of the locales, that of the default locale first.
func (s *I18n) DefaultFirst() []string {
	others := slices.DeleteFunc(s.Codes(), func(code string) bool { return code == s.DefaultLocale })
	return append([]string{s.DefaultLocale}, others...)
}

var localePattern = regexp.MustCompile(`^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$`)

// localeName returns the default name of a locale.
func localeName(code string) string {
	if code == "en" {
		return "English (en)"
	}
	return code
}

// A localeFile is a locale as written: a code, or a mapping of code and name.
type localeFile Locale

func (l *localeFile) UnmarshalNode(n *yamlfile.Node) yamlfile.Problems {
	var f struct {
		Code string `yaml:",required"`
		Name string
	}
	var problems yamlfile.Problems
	switch n.Kind {
	case yamlfile.Map:
		problems = n.Decode(&f)
	case yamlfile.Text:
		f.Code = n.Text
	default:
		return yamlfile.Problems{n.Problem("a locale is a code such as en or pt-BR, or {code: pt-BR, name: Português}")}
	}
	if f.Name == "" {
		f.Name = localeName(f.Code)
	}
	*l = localeFile(f)
	return problems
}

var lifespanPattern = regexp.MustCompile(`^([0-9]{1,9})(d|)$`)

// ParseLifespan parses a duration longer than zero: a number of seconds, days as in 30d, or a Go duration as in 1h30m.
func ParseLifespan(s string) (time.Duration, bool) {
	if m := lifespanPattern.FindStringSubmatch(s); m != nil {
		d, err := time.ParseDuration(m[1] + "s")
		if m[2] == "d" {
			d *= 24 * 60 * 60
		}
		return d, err == nil && d > 0
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}
