package config

//go:generate go test -run ^TestReferenceIsFresh$ -update .

import (
	"log/slog"
	"net/netip"
	"time"

	"lectern/auth"
	"lectern/internal/yamlfile"
	"lectern/store"
	"lectern/webhooks"
)

// Settings holds the settings of config/*.yaml, or their defaults.
type Settings struct {
	Server  Server
	REST    REST
	I18n    I18n
	GraphQL GraphQL
	Upload  Upload
	Users   Users
	MCP     bool // whether there is an endpoint of the Model Context Protocol; default false

	Roles  map[string][]string   // the actions that permissions.yaml grants to each role, as "uid.action"
	Rules  map[string]auth.Rules // the rules of those actions, by role
	Tokens []auth.Declaration    // the tokens that permissions.yaml declares

	Webhooks []webhooks.Hook
}

// Server holds the settings of config/server.yaml.
type Server struct {
	Host           string         // the address to listen at; default 127.0.0.1
	Port           int            // default 1337
	URL            string         // the URL at which clients reach the server, without a slash at the end; "" is the address it listens at
	TrustedProxies []netip.Prefix // proxies whose header X-Forwarded-For is trusted; default none
	Compress       bool           // whether answers are compressed for clients that accept it; default true
	CORS           CORS           // default: pages of any origin
	Limits         Limits         // default DefaultLimits
	Log            Log
	Idempotency    Idempotency
	Metrics        Metrics
	TLS            TLS
	Tracing        Tracing
	Replica        Replica
	Cluster        Cluster
	Desk           Desk
}

// Desk holds the settings desk of config/server.yaml.
type Desk struct {
	Enabled bool   // default true
	Path    string // of the page; begins with a slash and does not end with one; default /desk
}

// Metrics holds the settings metrics of config/server.yaml. Metrics are off if both are empty.
type Metrics struct {
	Listen string // the address to serve them at; "" is the port of the API
	Token  string // the bearer token that a scrape needs; needed if Listen is empty
}

// Log holds the settings log of config/server.yaml.
type Log struct {
	Level    slog.Level // default info
	Format   string     // "text" or "json"; "" is text in development and json in production
	Requests *bool      // whether each request is logged; nil: in production only
	Sample   float64    // the share of successful requests that is logged; default 1

	Keep    time.Duration // how long the store keeps its log of changes; 0: it keeps none; default DefaultKeep
	MaxSize int64         // bytes that this log takes at most; default DefaultLogSize
}

// Defaults of the log of changes.
const (
	DefaultKeep    = 30 * 24 * time.Hour
	DefaultLogSize = 1 << 30
)

// Limits returns the limits of the log of changes.
func (l *Log) Limits() store.LogLimits {
	return store.LogLimits{Keep: l.Keep, MaxSize: l.MaxSize, Off: l.Keep == 0}
}

// Idempotency holds the settings idempotency of config/server.yaml: how many answers to requests with an
// Idempotency-Key the store keeps.
type Idempotency struct {
	Keep      time.Duration // 0: requests with a key are refused; default 24 hours
	MaxKeys   int           // default 100,000
	MaxSize   int64         // bytes of all answers; default 64 MB
	MaxAnswer int64         // bytes of one answer; default 1 MB
}

// defaultIdempotency are the settings of a project that says nothing about idempotency.
var defaultIdempotency = Idempotency{
	Keep: store.DefaultAnswerLimits.Keep, MaxKeys: store.DefaultAnswerLimits.Count,
	MaxSize: store.DefaultAnswerLimits.MaxSize, MaxAnswer: 1 << 20,
}

// Limits returns the limits of the answers that the store keeps.
func (i *Idempotency) Limits() store.AnswerLimits {
	return store.AnswerLimits{Keep: i.Keep, Count: i.MaxKeys, MaxSize: i.MaxSize}
}

// Tracing holds the settings tracing of config/server.yaml.
type Tracing struct {
	Endpoint    string            // the URL of the collector; "" traces nothing
	Headers     map[string]string // sent to the collector; they may hold a credential
	Sample      float64           // the share of requests that is traced; default 1
	TrustParent bool              // whether a request continues the trace of its header traceparent
}

// Replica holds the settings replica of config/server.yaml.
type Replica struct {
	URL     string     // the address of the server to follow; "": the server is no replica by its settings
	Token   string     // an API token of that server
	Forward bool       // whether writes go to that server; default: they are refused
	Part    store.Part // of the content that the replica has; default: all
}

// Cluster holds the settings cluster of config/server.yaml.
type Cluster struct {
	Name         string   // of this node; "": the server is no node of a cluster by its settings
	Address      string   // HOST:PORT at which the other nodes reach it
	Join         []string // HOST:PORT of other nodes
	Expect       int      // how many new nodes must have found each other before one begins the cluster; 0: a node without Join begins it alone
	NoVote       bool     // the node takes part in no majority, and serves reads
	Certificates string   // the directory with the files of `lectern cluster init` for this node; "": cluster/ in the data directory
}

// REST holds the settings of config/api.yaml.
type REST struct {
	Prefix       string // the path before all routes of the REST API; default /api
	DefaultLimit int    // the size of a page if the request names none; default 25
	MaxLimit     int    // the largest size of a page; -1: no limit; default 100
	WithCount    bool   // whether lists come with their total if the request does not say; default true

	RateLimits RateLimits // of the content API, GraphQL included

	Drafts        auth.Drafts // who may read drafts; default ReadableDrafts
	DraftsSetting string      // what config/api.yaml says of it: granted, readable, or ""

	HistoryNames bool // whether histories show the names of users to callers who may not find users; default false

	PreviewLifespan time.Duration // how long the token of a preview works; default 1h

	DocsPage *bool // whether browsers get a page that shows the OpenAPI document; nil: in development only

	Cache    *yamlfile.Node // how answers may be cached, by content type; Load reads them into Definition.Cache
	Populate *yamlfile.Node // the relations to populate by default, by content type; Load reads them into Definition.Populate
}

// I18n holds the settings i18n of config/plugins.yaml.
type I18n struct {
	Enabled       bool     // default true
	DefaultLocale string   // default en
	Locales       []Locale // includes the default locale; default: only en
}

// A Locale is a locale that documents can have versions in.
type Locale struct{ Code, Name string }

// GraphQL holds the settings graphql of config/plugins.yaml.
type GraphQL struct {
	Enabled         bool   // default true
	Endpoint        string // the path; default /graphql
	ShadowCRUD      bool   // whether the schema is generated from the content types; default true
	DepthLimit      int    // the most levels of fields in an operation; default 10
	AmountLimit     int    // the most documents in a list of documents; default 100
	DefaultLimit    int    // the size of a list if the operation names none; default 10
	MaxLimit        int    // the largest size of a list; -1: no limit; default -1
	DocumentActions bool   // whether there are mutations that publish, unpublish and discard drafts; default false
	Subscriptions   bool   // whether clients can subscribe to changes of documents; default false

	ShadowCRUDOptions *yamlfile.Node // the parts to leave out of the schema; the gateway reads them when it builds the schema

	Introspection *bool // whether clients may read the schema; nil: in development only
	LandingPage   *bool // whether browsers get the GraphQL page; nil: in development only, and a plain page in production
	Batches       bool  // whether a request may be an array of operations; default false
	// PreflightHeaders are headers that web pages can send to other origins only after a CORS preflight. A request
	// needs one of them, or a content-type that causes a preflight. nil: any request is executed.
	PreflightHeaders  []string
	WithoutPersisted  bool // whether persisted queries are refused; default false
	HideSchemaDetails bool // whether errors suggest no names of the schema; default false
	Limits            GraphQLLimits
	Warnings          []string // about settings that have no effect, or will lose it
}

// Default returns the settings of a project without config/.
func Default() Settings {
	return Settings{
		Server: Server{Host: "127.0.0.1", Port: 1337, Compress: true, Limits: DefaultLimits,
			Log:     Log{Level: slog.LevelInfo, Sample: 1, Keep: DefaultKeep, MaxSize: DefaultLogSize},
			Tracing: Tracing{Sample: 1}, Idempotency: defaultIdempotency, Desk: Desk{Enabled: true, Path: "/desk"}},
		REST: REST{Prefix: "/api", DefaultLimit: 25, MaxLimit: 100, WithCount: true, RateLimits: defaultRateLimits,
			PreviewLifespan: time.Hour},
		I18n: I18n{Enabled: true, DefaultLocale: "en", Locales: []Locale{{"en", localeName("en")}}},
		GraphQL: GraphQL{Enabled: true, Endpoint: "/graphql", ShadowCRUD: true, DepthLimit: 10, AmountLimit: 100,
			DefaultLimit: 10, MaxLimit: -1,
			PreflightHeaders: []string{"x-apollo-operation-name", "apollo-require-preflight"}},
		Upload: defaultUpload,
		Users:  defaultUsers,
		Roles:  map[string][]string{},
	}
}
