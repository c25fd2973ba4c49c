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

// Server is config/server.yaml.
type Server struct {
	Host           string         // the address to listen at; default 127.0.0.1
	Port           int            // default 1337
	URL            string         // at which clients reach the server, without a trailing slash; "" is the address it listens at
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For is believed; default none
	Compress       bool           // answers, for clients that accept it; default true
	CORS           CORS           // default: pages of any origin
	Limits         Limits         // default DefaultLimits
	LogLevel       slog.Level     // default info
	LogFormat      string         // "text" or "json"; "" is text in development and json in production
}

// REST is config/api.yaml.
type REST struct {
	Prefix       string // of the paths; default /api
	DefaultLimit int    // documents on a page unless a request says otherwise; default 25
	MaxLimit     int    // documents on a page at most; -1: no limit; default 100
	WithCount    bool   // whether answers of lists hold the total unless a request says otherwise; default true

	Populate *yamlfile.Node // default relations by content type; Load reads them into Definition.Populate
}

// I18n is the part i18n of config/plugins.yaml.
type I18n struct {
	Enabled       bool     // default true
	DefaultLocale string   // default en
	Locales       []Locale // includes the default locale; default en alone
}

// A Locale is a locale that documents may be written in.
type Locale struct{ Code, Name string }

// GraphQL is the part graphql of config/plugins.yaml.
type GraphQL struct {
	Enabled         bool   // default true
	Endpoint        string // the path; default /graphql
	ShadowCRUD      bool   // whether the schema is generated from the content types; default true
	DepthLimit      int    // levels of fields in an operation; default 10
	AmountLimit     int    // documents of a list at most; default 100
	DefaultLimit    int    // items of a list that asks for no number; default 10
	MaxLimit        int    // items of a list at most; -1: no limit; default -1
	DocumentActions bool   // whether there are mutations that publish, unpublish and discard drafts; default false

	ShadowCRUDOptions *yamlfile.Node // parts of the schema that are left out; the gateway reads them when it builds the schema

	Introspection *bool // whether clients may read the schema; nil: in development only
	LandingPage   *bool // whether browsers see a page to work with; nil: in development only, and a plain page in production
	Limits        GraphQLLimits
	Warnings      []string // about settings without effect, or that will have none
}

// Default returns the settings of a project without config/.
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
