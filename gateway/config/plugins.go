package config

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lectern/internal/yamlfile"
)

// apiFile is config/api.yaml as written.
type apiFile struct {
	REST struct {
		Prefix       *string
		DefaultLimit *int  `yaml:"defaultLimit"`
		MaxLimit     *int  `yaml:"maxLimit"`
		WithCount    *bool `yaml:"withCount"`
	}
	Populate *yamlfile.Node
}

// readREST reads config/api.yaml.
func (r *REST) readREST(n *yamlfile.Node) yamlfile.Problems {
	var f apiFile
	f.REST.Prefix, f.REST.DefaultLimit, f.REST.MaxLimit, f.REST.WithCount = &r.Prefix, &r.DefaultLimit, &r.MaxLimit, &r.WithCount
	unfit := n.Decode(&f)
	var problems yamlfile.Problems
	r.Populate = f.Populate
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
	return together(unfit, problems)
}

// isPath reports whether s is a path without parameters or escapes, such as /content/v1.
func isPath(s string) bool { return pathPattern.MatchString(s) }

var pathPattern = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// pluginsFile is config/plugins.yaml as written.
type pluginsFile struct {
	GraphQL plugin[graphqlFile]
	I18n    plugin[i18nFile]
	Users   plugin[usersFile] `yaml:"users-permissions"`
	Upload  plugin[uploadFile]
}

// A plugin is a part of the server that config/plugins.yaml can switch off.
type plugin[T any] struct {
	Enabled *bool
	Config  T
}

// graphqlFile is graphql.config as written. Decoding it sets the settings that its pointers lead to, except PlaygroundAlways.
type graphqlFile struct {
	Endpoint        *string
	ShadowCRUD      *bool  `yaml:"shadowCRUD"`
	DepthLimit      *int   `yaml:"depthLimit"`
	AmountLimit     *int   `yaml:"amountLimit"`
	DefaultLimit    *int   `yaml:"defaultLimit"`
	MaxLimit        *int   `yaml:"maxLimit"`
	DocumentActions *bool  `yaml:"documentActions"`
	LandingPage     **bool `yaml:"landingPage"`

	PlaygroundAlways  *bool          `yaml:"playgroundAlways"`
	ApolloServer      *yamlfile.Node `yaml:"apolloServer"`
	Limits            *yamlfile.Node
	ShadowCRUDOptions *yamlfile.Node `yaml:"shadowCRUDOptions"`
}

type i18nFile struct {
	DefaultLocale *string `yaml:"defaultLocale"`
	Locales       []localeFile
}

// readPlugins reads config/plugins.yaml.
func (s *Settings) readPlugins(n *yamlfile.Node) yamlfile.Problems {
	g := &s.GraphQL
	f := pluginsFile{
		GraphQL: plugin[graphqlFile]{&g.Enabled, graphqlFile{
			Endpoint: &g.Endpoint, ShadowCRUD: &g.ShadowCRUD, DepthLimit: &g.DepthLimit, AmountLimit: &g.AmountLimit, DefaultLimit: &g.DefaultLimit,
			MaxLimit: &g.MaxLimit, DocumentActions: &g.DocumentActions, LandingPage: &g.LandingPage,
		}},
		I18n:   plugin[i18nFile]{&s.I18n.Enabled, i18nFile{DefaultLocale: &s.I18n.DefaultLocale}},
		Users:  plugin[usersFile]{&s.Users.Enabled, s.Users.file()},
		Upload: plugin[uploadFile]{&s.Upload.Enabled, s.Upload.file()},
	}
	unfit := n.Decode(&f)
	problems := g.readMore(&f.GraphQL.Config)
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
	for key, limit := range map[string]int{"depthLimit": g.DepthLimit, "amountLimit": g.AmountLimit, "defaultLimit": g.DefaultLimit} {
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
		problems.Add(config.At("defaultLocale"), "defaultLocale must be a code such as en or pt-BR, not %q", s.DefaultLocale)
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
