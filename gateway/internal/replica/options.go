package replica

import (
	"context"
	"log/slog"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/replication"
	"lectern/internal/budget"
	"lectern/store"
)

// Settings say which server a replica follows.
type Settings struct {
	URL     string         // the address of the origin, with the path of its REST API, unless that is /api
	Token   string         // an API token of the origin with the permission lectern::replica.follow
	Silence time.Duration  // how long nothing may come from the origin before the replica connects anew; 0: 15 seconds
	Forward bool           // sends writes to the origin. Otherwise they are refused
	Part    store.Part     // the part of the content that the replica has
	Dial    forward.Dialer // connects to the origin; nil: over TCP
}

// Options are what a Replica is made of.
type Options struct {
	*Settings                                    // nil: the replica is only opened, to look into it
	Project   CopiedProject                      // nil for Prepare and Promote
	Dir       string                             // of the project
	Data      string                             // the data directory
	Load      func() (*config.Definition, error) // reads the files of the project
	Command   func(command string) string        // returns the beginning of a command line for the project
	Log       *slog.Logger                       // for Prepare
}

// A Project is one whose content is copied.
type Project interface {
	// Served returns the content that is served, with the definition files.
	Served() (admin.Content, *replication.Definitions)
	// Store returns the store that is served.
	Store() *store.Store
}

// A CopiedProject is the project of a replica.
type CopiedProject interface {
	Project
	// Reload reads the files of the project, and serves them with the present store.
	Reload(context.Context) error
	// ServeCopy reads the files of the project, and serves them with the store that is in the data directory now.
	ServeCopy(context.Context) error
	// Memory returns the budget of all requests.
	Memory() *budget.Budget
	Log() *slog.Logger
}

// origin returns the client of the origin.
func (s *Settings) origin() (*replication.Client, error) {
	o, err := replication.NewClient(s.URL, s.Token)
	if err == nil {
		o.Silence, o.Part = s.Silence, s.Part
		if s.Dial != nil {
			o.DialWith(s.Dial)
		}
	}
	return o, err
}
