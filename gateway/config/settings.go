// Package config reads the files of a project: the settings in config/, the environment in .env, and the content types that the
// settings refer to.
//
// Load returns a Definition, which is checked and does not change, or all problems as file:line with what would be right.
//
// Reading the source: settings.go lists the settings with their units and defaults, definition.go loads a project, read.go lists the
// files of config/. Each other file reads a part of the settings. A type named …File is that part as it is written in the file.
package config

import (
	"log/slog"
	"net/netip"

	"lectern/auth"
	"lectern/internal/yamlfile"
)

// Settings are the settings of config/*.yaml, with defaults filled in.
type Settings struct {
	Server  Server
	REST    REST
	I18n    I18n
	GraphQL GraphQL
	Upload  Upload
	Users   Users

	Roles  map[string][]string // granted actions, "uid.action", by role, from permissions.yaml
	Tokens []auth.Declaration  // declared in permissions.yaml
}

// Server are config/server.yaml.
type Server struct {
	Host           string
	Port           int
	URL            string // where clients reach the server, without a slash at its end; "" is where it listens
	TrustedProxies []netip.Prefix
	Compress       bool
	CORS           CORS
	Limits         Limits
	LogLevel       slog.Level
	LogFormat      string // "text" or "json"; "" is text in development and json in production
}

// REST are config/api.yaml.
type REST struct {
	Prefix       string
	DefaultLimit int
	MaxLimit     int // 0 or less: none
	WithCount    bool

	Populate *yamlfile.Node // what requests populate that do not say; read by Definition.readPopulate
}

// I18n are the part i18n of config/plugins.yaml.
type I18n struct {
	Enabled       bool
	DefaultLocale string
	Locales       []Locale // the default locale is one of them
}

// A Locale is a locale that documents may be written in.
type Locale struct{ Code, Name string }

// GraphQL are the part graphql of config/plugins.yaml.
type GraphQL struct {
	Enabled      bool
	Endpoint     string
	ShadowCRUD   bool
	DepthLimit   int
	AmountLimit  int
	DefaultLimit int
	MaxLimit     int // negative: none
	// DocumentActions adds the mutations that publish, unpublish and discard drafts.
	DocumentActions bool

	ShadowCRUDOptions *yamlfile.Node // what the schema leaves out; read by Definition.GraphQLSchema

	// Introspection says whether clients may ask for the schema; nil: in development alone.
	Introspection *bool
	LandingPage   *bool // nil: a page to work with in development, a plain one in production
	Limits        GraphQLLimits
	Warnings      []string // about what is said that has no effect, or will have none
}

// Default are the settings of a project without config/.
func Default() Settings {
	return Settings{
		Server: Server{Host: "127.0.0.1", Port: 1337, Compress: true, Limits: DefaultLimits, LogLevel: slog.LevelInfo},
		REST:   REST{Prefix: "/api", DefaultLimit: 25, MaxLimit: 100, WithCount: true},
		I18n:   I18n{Enabled: true, DefaultLocale: "en", Locales: []Locale{{"en", localeName("en")}}},
		GraphQL: GraphQL{Enabled: true, Endpoint: "/graphql", ShadowCRUD: true, DepthLimit: 10, AmountLimit: 100,
			DefaultLimit: 10, MaxLimit: -1},
		Upload: defaultUpload,
		Users:  defaultUsers,
		Roles:  map[string][]string{},
	}
}
