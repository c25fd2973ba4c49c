package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lectern/documents"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// Options say how a project is opened and served. The zero value serves it as its files say, for development.
type Options struct {
	Data       string // the data directory; "" is data/ in the project
	Addr       string // host:port to listen at; "" is as config/server.yaml says
	Port       *int   // replaces the port of config/server.yaml where Addr is ""; 0 is one that is free
	Production bool
	// Ephemeral serves an empty store in a temporary directory that is removed at the end.
	Ephemeral bool
	// Log is where the server writes its log; nil is a log on LogTo as config/server.yaml has it.
	Log   *slog.Logger
	LogTo io.Writer // nil is the standard error
	// LockWait is how long Open waits for another process that works with the data directory to end; 0 is not at all.
	LockWait time.Duration
	// Ready is called once the server answers.
	Ready func(Ready)
	// Version is what the control socket says of the program.
	Version string
	// Program is what hints call the program; "" is lectern.
	Program string
	// Extensions are what a program adds; nil adds nothing.
	Extensions *Extensions
	// NoWatch leaves changes of the project's files for the next start. Otherwise they are taken over while the project is
	// served, unless that is for production.
	NoWatch bool
	// Reloaded, when set, is called after files have changed: with nil when they are served as they are now, or with why those
	// from before still are. No other change is taken over before it returns.
	Reloaded func(error)
}

// dataPath is the data directory of a project.
func (o Options) dataPath(dir string) string {
	if o.Data != "" {
		return o.Data
	}
	return filepath.Join(dir, "data")
}

// A Project is a project directory with its data: the one process that works with them. It serves the content (Run), and
// does what the command line offers beside that (the methods of Administration).
//
//	p, err := gateway.Open("blog", gateway.Options{})
//	…
//	defer p.Close()
//	err = p.Run(ctx)
//
// While it is served in development, its files may change: what Definition, Store and Documents return is what they say now.
// A ContentType of one Definition is not for the Store and Documents of another, which answer store.ErrRedefined.
type Project struct {
	dir        string
	options    Options
	log        *slog.Logger
	data       *dataDir
	generation atomic.Pointer[generation] // what is served
	shared     shared
	server     atomic.Pointer[Server] // that serves it; nil before
	listens    atomic.Pointer[string] // Base of Ready; nil before
	loaded     fileDigest             // of the files that it was opened with

	memory  *budget.Budget // of all requests
	answers *rest.Limits

	replacing sync.Mutex       // held while a generation is replaced
	served    chan *generation // the one to be reported on: see reportServed
}

// Open loads the project in dir and opens its store, making what is not there yet. It fails with an error that wraps
// ErrBusy when another process works with the data directory, and goes on to after Options.LockWait. Close ends it.
func Open(dir string, o Options) (*Project, error) { return OpenContext(context.Background(), dir, o) }

// OpenContext is Open; it ends waiting for another process when ctx ends.
func OpenContext(ctx context.Context, dir string, o Options) (*Project, error) {
	p := &Project{dir: dir, options: o, log: o.Log, served: make(chan *generation, 1)}
	if p.watches() { // before they are read: what changes then is found later
		p.loaded, _ = digestFiles(os.DirFS(dir))
	}
	d, err := Load(dir, o.Extensions)
	if err != nil {
		return nil, err
	}
	if p.log == nil {
		to := o.LogTo
		if to == nil {
			to = os.Stderr
		}
		p.log = newLogger(to, d.Settings.Server, o.Production)
	}
	limits := requestLimits(d.Settings.Server.Limits.WithDefaults())
	p.memory = budget.New(limits.Memory)
	p.answers = limits.answers(p.memory)
	if err := p.open(ctx, d); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Project) open(ctx context.Context, d *Definition) (err error) {
	if p.options.Ephemeral {
		p.data, err = temporaryDataDir()
	} else {
		p.data, err = p.lockDataDir(ctx)
	}
	if err != nil {
		return err
	}
	e := p.newGeneration(d)
	p.generation.Store(e)
	e.store, err = d.openStore(p.data.join(storeName), p.options, store.Options{
		Progress: logProgress(p.log), HealthChanged: p.logHealth, Replaced: p.logReplaced,
	})
	if err != nil {
		return err
	}
	return e.open()
}

// lockDataDir locks the project's data directory, and waits for another process to let go of it as long as the options say: one
// that was killed may still be dying when its successor starts.
func (p *Project) lockDataDir(ctx context.Context) (*dataDir, error) {
	path := p.options.dataPath(p.dir)
	d, err := lockDataDir(path)
	if !errors.Is(err, ErrBusy) {
		return d, err
	}
	if p.options.LockWait <= 0 {
		return nil, busyError(path)
	}
	p.log.Warn("waiting for another process to let go of the data directory", "data", path, "atMost", p.options.LockWait)
	late := time.NewTimer(p.options.LockWait)
	defer late.Stop()
	again := time.NewTicker(lockRetry)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late.C:
			return nil, busyError(path)
		case <-again.C:
		}
		if d, err = lockDataDir(path); !errors.Is(err, ErrBusy) {
			return d, err
		}
	}
}

// lockRetry is how often somebody who waits for a data directory tries to lock it.
const lockRetry = 20 * time.Millisecond

// logProgress tells the log how far a start is that rebuilds something, every other second.
func logProgress(log *slog.Logger) func(what string, done, total int) {
	var last time.Time
	return func(what string, done, total int) {
		if now := time.Now(); now.Sub(last) >= 2*time.Second || done == total {
			last = now
			log.Info("the definitions have changed: "+what, "done", done, "total", total)
		}
	}
}

// Definition is what the project's files say, as it is served.
func (p *Project) Definition() *Definition { return p.generation.Load().Definition }

// Store is the project's store, to read from.
func (p *Project) Store() *store.Store { return p.generation.Load().store }

// Documents is the service that writes the project's documents.
func (p *Project) Documents() *documents.Service { return p.generation.Load().docs }

// Log is the server's log.
func (p *Project) Log() *slog.Logger { return p.log }

// Close ends what Open began. It must not be called while Run runs.
func (p *Project) Close() error {
	var errs []error
	e := p.generation.Load()
	if e != nil {
		e.retire()
	}
	errs = append(errs, p.shared.close())
	if e != nil && e.store != nil {
		errs = append(errs, e.store.Close())
	}
	if p.data != nil {
		errs = append(errs, p.data.release())
	}
	p.shared, p.data = shared{}, nil
	return errors.Join(errs...)
}
