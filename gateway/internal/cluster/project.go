package cluster

import (
	"context"
	"net/http"

	"lectern/gateway/config"
	"lectern/gateway/internal/replication"
	"lectern/media"
	"lectern/store"
	"lectern/webhooks"
)

// A Project is what a node serves. Served, RefreshTokens, Webhooks and Handler are called only once the project serves.
type Project interface {
	// Load reads the files of the project in a directory.
	Load(dir string) (Definition, error)
	// OpenStore opens the store of the project under the definitions of d. It has another Model if its content is half
	// converted to them.
	OpenStore(d *config.Definition) (*store.Store, error)
	// OpenAlone opens a store that no cluster has yet.
	OpenAlone(path string, d *config.Definition) (*store.Store, error)
	// Store returns the store that is served; nil if there is none yet. Use has the first one served.
	Store() *store.Store
	Use(*store.Store)
	// Served returns the definitions that are served, and Routed those whose routes answer requests, with their store;
	// nil before there are any.
	Served() Definition
	Routed() (*store.Store, Definition)
	// Replace serves something else than before. If nothing is served yet, that is what is served first.
	Replace(context.Context, Replacement) error
	// ConversionOptions returns the options of a conversion of the content to the definitions of d.
	ConversionOptions(d *config.Definition) store.Options
	// Converting notes that the content has yet to be converted before the project can serve.
	Converting()
	// RefreshTokens takes over the API tokens that the content has now.
	RefreshTokens() error
	// MadeSecret returns the secret that signs JWTs, if this server makes it; nil if the configuration has it, or there
	// are no users.
	MadeSecret() ([]byte, error)
	// Library returns the uploaded files; nil if there are none.
	Library() *media.Library
	// Reserve is admin.Local.Reserve.
	Reserve(context.Context) (grow func(int64) error, release func(), err error)
	// RunSchedules carries out the schedules of documents until ctx ends.
	RunSchedules(context.Context)
	Webhooks() *webhooks.Dispatcher
	// Handler answers requests of clients.
	Handler() http.Handler
}

// A Definition is what the files of a project say.
type Definition interface {
	Config() *config.Definition
	Files() *replication.Definitions
}

// A Replacement is what is to be served in place of what is served now.
type Replacement struct {
	Load   func() (Definition, error)
	Store  Redefiner
	Copied bool // Store returns one in a file of its own, and not the present one under other definitions
}

// A Redefiner returns a store under the definitions of d. before is the store that is served; nil if there is none.
type Redefiner = func(ctx context.Context, before *store.Store, d *config.Definition) (*store.Store, error)
