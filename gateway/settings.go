package gateway

import (
	"log/slog"
	"net/netip"

	"lectern/auth"
	"lectern/internal/yamlfile"
)

// Settings are what config/*.yaml say, with defaults where they say nothing.
type Settings struct {
	Server  ServerSettings
	REST    RESTSettings
	I18n    I18nSettings
	GraphQL GraphQLSettings
	Upload  UploadSettings
	Users   UsersSettings

	Roles  map[string][]string // what permissions.yaml grants: role → "uid.action"
	Tokens []auth.Declaration  // the tokens that permissions.yaml declares
}

// ServerSettings are config/server.yaml.
type ServerSettings struct {
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

// RESTSettings are config/api.yaml.
type RESTSettings struct {
	Prefix       string
	DefaultLimit int
	MaxLimit     int // 0 or less: none
	WithCount    bool

	Populate *yamlfile.Node // what requests populate that do not say; read by Definition.readPopulate
}

// I18nSettings are the part i18n of config/plugins.yaml.
type I18nSettings struct {
	Enabled       bool
	DefaultLocale string
	Locales       []LocaleSetting // the default locale is one of them
}

// A LocaleSetting is a locale that documents may be written in.
type LocaleSetting struct{ Code, Name string }

// GraphQLSettings are the part graphql of config/plugins.yaml.
type GraphQLSettings struct {
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

// DefaultSettings are the settings of a project without config/.
func DefaultSettings() Settings {
	return Settings{
		Server: ServerSettings{Host: "127.0.0.1", Port: 1337, Compress: true, Limits: DefaultLimits, LogLevel: slog.LevelInfo},
		REST:   RESTSettings{Prefix: "/api", DefaultLimit: 25, MaxLimit: 100, WithCount: true},
		I18n:   I18nSettings{Enabled: true, DefaultLocale: "en", Locales: []LocaleSetting{{"en", localeName("en")}}},
		GraphQL: GraphQLSettings{Enabled: true, Endpoint: "/graphql", ShadowCRUD: true, DepthLimit: 10, AmountLimit: 100,
			DefaultLimit: 10, MaxLimit: -1},
		Upload: defaultUpload,
		Users:  defaultUsers,
		Roles:  map[string][]string{},
	}
}
