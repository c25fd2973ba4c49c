package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/passwords"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/feed"
	"lectern/gateway/internal/presence"
	"lectern/gateway/internal/replica"
	"lectern/gateway/internal/server"
	"lectern/gateway/internal/status"
	"lectern/gateway/internal/watch"
	"lectern/internal/admission"
	"lectern/internal/budget"
	"lectern/internal/clock"
	"lectern/shadowcrud/rest"
	"lectern/store"
	"lectern/webhooks"
)

// Options are how to open and serve a project. The zero value serves it with its own settings, for development.
type Options struct {
	Data       string // the data directory; "" is data/ in the project
	Addr       string // host:port to listen at; "" is the address in config/server.yaml
	Port       *int   // replaces the port of config/server.yaml if Addr is ""; 0 chooses a free port
	Production bool
	// Ephemeral serves an empty store in a temporary directory, which Close removes.
	Ephemeral bool
	// Log is the server's log; nil writes to LogTo in the format and level of config/server.yaml.
	Log   *slog.Logger
	LogTo io.Writer // nil is os.Stderr
	// LockWait is how long Open waits for another process that uses the data directory; 0: it does not wait.
	LockWait time.Duration
	// Ready is called once the server answers.
	Ready func(Ready)
	// Version is the version of the program, for backups and the control socket.
	Version string
	// Program is the name of the program in hints; "" is lectern.
	Program string
	// Extensions are the extensions of the program; nil adds none.
	Extensions *Extensions
	// NoUpgradeCopy keeps no copy of a store of an older format when it is brought to the present one.
	NoUpgradeCopy bool
	// NoWatch ignores changed files until the next start. Without it a project in development is reloaded when its
	// files change.
	NoWatch bool
	// Reloaded, if set, is called after each reload: with nil if the changed files are served, or with the reason why
	// the former files are still served. No other reload begins until it returns.
	Reloaded func(error)
	// Follow makes the server a replica of another; nil: it is none, unless the data directory is that of a replica.
	Follow *Follow
	// Cluster makes the server one node of several that have the same content; nil: it is alone.
	Cluster *Cluster
	// Clock says when schedules are due and tokens expire, and the times of documents; nil is the clock of the system.
	// Tests may replace it.
	Clock Clock
}

// out returns where the log and other messages go.
func (o Options) out() io.Writer {
	if o.LogTo == nil {
		return os.Stderr
	}
	return o.LogTo
}

// logging returns the options with a log, for a server that logs before it has all files of the project in dir.
func (o Options) logging(dir string) Options {
	if o.Log == nil {
		o.Log = newLogger(o.out(), config.ReadLog(dir), o.Production)
	}
	return o
}

// Directory returns the administration of the project in dir by its path, for everything except serving it.
func Directory(dir string, o Options) *admin.Directory {
	return &admin.Directory{
		Dir: dir, Data: o.Data, Program: o.Program,
		Upgrading: func(u store.Upgrade) {
			fmt.Fprintln(o.out(), u)
		},
		Load: func() (*config.Definition, error) {
			d, err := Load(dir, o.Extensions)
			if err != nil {
				return nil, err
			}
			return d.Definition, nil
		},
		Open: func(ctx context.Context) (admin.Project, error) {
			p, err := OpenContext(ctx, dir, o)
			if err != nil {
				return nil, err
			}
			return p, nil
		},
	}
}

// A Project is an open project: this process alone uses its data directory. Run serves the content; the methods of
// admin.Local do what the command line offers besides.
//
//	p, err := gateway.Open("blog", gateway.Options{})
//	…
//	defer p.Close()
//	err = p.Run(ctx)
//
// The files of a project that is served in development may change. Definition, Store and Documents then return the
// current ones. A ContentType of one Definition must not be used with the Store and Documents of another: they answer
// store.ErrRedefined.
type Project struct {
	*admin.Local
	directory  *admin.Directory
	options    Options
	log        *slog.Logger
	generation atomic.Pointer[generation] // what is served
	routed     atomic.Pointer[generation] // whose routes answer requests; nil before Run, and behind generation while routes are built
	shared     shared
	server     atomic.Pointer[server.Server]   // nil before Run
	listens    atomic.Pointer[string]          // the address of the server; nil before Run
	unready    atomic.Pointer[admin.Condition] // why the server is not ready; nil: only the store decides that
	replicas   *replica.Origin                 // what is sent to the replicas that follow the server
	loaded     watch.Digest                    // of the files that the project was opened with

	clock       Clock
	scheduler   *scheduler
	role        role
	stops       atomic.Pointer[chan struct{}] // see stopping; nil before Run
	webhooks    *webhooks.Dispatcher
	reports     *contentReports
	subscribers *feed.Subscribers
	presence    *presence.Board
	passwords   *passwords.Hasher
	processors  *admission.Semaphore // of reads that take long; see store.Options

	memory  *budget.Budget // of all requests
	answers *rest.AnswerLimits

	observed observed
	history  *status.History // of the last day
	cluster  admin.Cluster   // nil unless the server is a node; set before it serves

	replacing sync.Mutex // held while a generation is replaced
}

// Open loads the project in dir and opens its store, which it creates if there is none. If another process uses the
// data directory, it waits for Options.LockWait and then returns an error that wraps admin.ErrBusy. The caller must
// Close the project.
func Open(dir string, o Options) (*Project, error) { return OpenContext(context.Background(), dir, o) }

// OpenContext is Open, but stops waiting for another process when ctx ends.
func OpenContext(ctx context.Context, dir string, o Options) (*Project, error) {
	p := newProject(dir, o)
	var err error
	if p.role, err = p.findRole(); err != nil {
		return nil, err
	}
	d, err := p.read()
	if err != nil {
		return nil, err
	}
	if err = p.prepare(ctx, d); err == nil {
		err = p.open(d)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// load reads the files of the project.
func (p *Project) load() (*Definition, error) { return p.loadFrom(p.role.Files()) }

// loadFrom is load for another directory.
func (p *Project) loadFrom(dir string) (*Definition, error) {
	d, err := loadWithFiles(dir, func() (*Definition, error) { return Load(dir, p.options.Extensions) })
	if err == nil {
		err = p.role.Check(d.Definition)
	}
	return d, err
}

// newProject returns the project in dir, which has no role yet. It opens and reads nothing.
func newProject(dir string, o Options) *Project {
	p := &Project{directory: Directory(dir, o), options: o, log: o.Log}
	p.Local = &admin.Local{Version: o.Version, Reserve: p.reserve,
		Current: func() admin.Content { return p.generation.Load().content() }}
	return p
}

// read reads the files of the project, and makes what depends on their settings. It opens nothing.
func (p *Project) read() (*Definition, error) {
	if p.watches() { // before they are read, so that later changes are noticed
		p.loaded, _ = watch.DigestOf(p.directory.Dir)
	}
	d, err := p.load()
	if err != nil {
		return nil, err
	}
	o := p.options
	if p.log == nil {
		p.log = newLogger(o.out(), d.Settings.Server.Log, o.Production)
	}
	if p.clock = o.Clock; p.clock == nil {
		p.clock = clock.System
	}
	p.scheduler = newScheduler(p.clock, p.log, p.Documents)
	p.webhooks = webhooks.New(p.clock, p.log, p.webhookContent)
	p.Local.Hooks = p.webhooks
	p.reports = newContentReports(p.log, p.directory.FillCommand)
	p.observed.metrics = p.newMetrics(d.Settings.Server.Metrics)
	p.history = p.newHistory()
	limits := server.Limits(d.Settings.Server.Limits.WithDefaults())
	p.memory = budget.New(limits.Memory)
	p.answers = limits.Answers(p.memory)
	p.replicas = p.newSource(limits)
	p.subscribers, p.presence = p.newSubscribers(limits), presence.New(p.clock.Now)
	p.passwords = passwords.NewHasher(hashCost)
	p.processors = admission.New(admission.Limits{Places: processorsOfReads()})
	return d, nil
}

// hashCost is the cost of hashes of passwords. The tests, which create many users, have a lower one.
var hashCost = passwords.Cost

// processorsOfReads returns how many processors reads that take long may have together. One is left for everything
// else, if there are several: where all of them are busy, Go takes up to ten milliseconds to notice that a request has
// arrived.
func processorsOfReads() int { return max(1, runtime.GOMAXPROCS(0)-1) }

// prepare locks the data directory and makes the first generation, whose store is not open yet.
func (p *Project) prepare(ctx context.Context, d *Definition) (err error) {
	switch {
	case p.Data != nil:
	case p.options.Ephemeral:
		p.Data, err = admin.Temporary()
	default:
		p.Data, err = p.lockDataDir(ctx)
	}
	if err == nil {
		p.generation.Store(p.newGeneration(d))
	}
	return err
}

// open opens the store, which converts content if the definitions have changed, and builds the services on top of it.
func (p *Project) open(d *Definition) (err error) {
	g := p.generation.Load()
	if g.store, err = p.openStore(d.Definition); err != nil {
		return err
	}
	g.useHooks()
	return g.open()
}

// openStore opens the store with the definitions in d.
func (p *Project) openStore(d *config.Definition) (*store.Store, error) {
	progress := logProgress(p.log)
	return p.role.OpenStore(store.Options{
		Progress: func(what string, done, total int) {
			p.unready.Store(&converting)
			progress(what, done, total)
		},
		Processors: p.processors, HealthChanged: p.logHealth, Replaced: p.logReplaced, Committed: p.committed(),
		NoUpgradeCopy: p.options.NoUpgradeCopy, Upgrading: func(u store.Upgrade) {
			p.unready.Store(&converting)
			p.log.Warn(u.String())
		},
	}, d.Model, func(o store.Options) (*store.Store, error) {
		return p.directory.OpenStore(p.Data.Join(admin.StoreName), d, o)
	})
}

// lockDataDir locks the data directory. It waits for another process as long as the options say: one that was killed
// may still be ending when its successor starts.
func (p *Project) lockDataDir(ctx context.Context) (*admin.DataDir, error) {
	path := p.directory.DataPath()
	d, err := admin.Lock(path)
	if !errors.Is(err, admin.ErrBusy) {
		return d, err
	}
	if p.options.LockWait <= 0 {
		return nil, admin.BusyError(path)
	}
	p.log.Warn("waiting for another process to let go of the data directory", "data", path, "atMost",
		p.options.LockWait)
	deadline := time.NewTimer(p.options.LockWait)
	defer deadline.Stop()
	retry := time.NewTicker(lockRetry)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, admin.BusyError(path)
		case <-retry.C:
		}
		if d, err = admin.Lock(path); !errors.Is(err, admin.ErrBusy) {
			return d, err
		}
	}
}

// lockRetry is the interval between attempts to lock a data directory.
const lockRetry = 20 * time.Millisecond

// logProgress returns a function that logs the progress of a conversion at most every two seconds.
func logProgress(log *slog.Logger) func(what string, done, total int) {
	var last time.Time
	return func(what string, done, total int) {
		if now := time.Now(); now.Sub(last) >= 2*time.Second || done == total {
			last = now
			log.Info("the definitions have changed: "+what, "done", done, "total", total)
		}
	}
}

// Definition returns the definition that is being served. In development it changes when files of the project do.
func (p *Project) Definition() *Definition { return p.generation.Load().Definition }

// Store returns the project's store, for reading.
func (p *Project) Store() *store.Store { return p.generation.Load().store }

// Documents returns the service that writes the project's documents.
func (p *Project) Documents() *documents.Service { return p.generation.Load().docs }

// Users returns the users of the project and their roles, nil if users are switched off.
func (p *Project) Users() *auth.Users { return p.generation.Load().users }

// Log returns the server's log.
func (p *Project) Log() *slog.Logger { return p.log }

// Close closes the project. It must not be called while Run runs.
func (p *Project) Close() error {
	var errs []error
	g := p.generation.Load()
	if g != nil {
		g.retire()
	}
	errs = append(errs, p.shared.close())
	if g != nil && g.store != nil {
		errs = append(errs, g.store.Close())
	}
	if p.Data != nil {
		errs = append(errs, p.Data.Release())
	}
	p.shared, p.Data = shared{}, nil
	return errors.Join(errs...)
}
