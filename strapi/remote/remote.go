// Package remote reads a running Strapi 5 over its content API, and writes an unpacked archive as `strapi export`
// would.
//
//	report, err := remote.Read(ctx, dir, remote.Options{URL: "https://cms.example.com", Token: token})
//	…
//	a, err := archive.Open(ctx, remote.Archive(dir), archive.Options{})
//
// Read asks for all content-types with all locales, drafts and published versions, for users, roles and permissions,
// and for uploaded files with their formats. Everything that arrives is staged in dir first. A run that was
// interrupted, by a kill or a lost connection, goes on where it ended when Read is called again with the same
// directory.
//
// Content may change during a run. When all rows are staged, Read compares them with what the server lists by then, and
// reads again what has changed, until nothing has.
//
// The content API does not show everything. The Report says what is missing, such as passwords and private attributes.
//
// Reading the source: client.go sends requests and repeats them; populate.go turns definitions to parameters;
// listing.go and read.go read lists page by page; changes.go reads again what has changed; output.go makes the archive
// of what is staged.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lectern/jsontree"
)

// Options say what to read, and how. A number that is 0 stands for its default.
type Options struct {
	URL   string // of the server, without /api
	Token string // key of an API token; it is sent to that server only, and never stored

	// Schemas are the definitions, in the form of an archive. If there are none, the server is asked for them.
	Schemas []*jsontree.Object
	Without []string // uids of types that are not read

	Rate        float64       // requests per second; default 10
	Concurrency int           // requests at the same time; default 4
	PageSize    int           // rows of a request; default 100
	Attempts    int           // of a request that fails for a reason that may pass; default 8
	Timeout     time.Duration // of a request, and of a pause within a file; default a minute
	MaxQuery    int           // bytes of a query string; default 3000
	MaxAnswer   int64         // bytes of an answer that is not a file; default 16 MiB. A single row may take four times as much
	MaxFile     int64         // bytes of an uploaded file; default 8 GiB

	Progress  func(Progress)    // called often, but never twice at the same time; may be nil
	Clock     Clock             // nil: that of the system
	Transport http.RoundTripper // nil: the default of net/http
}

func (o Options) withDefaults() Options {
	o.Rate = cmp.Or(o.Rate, 10)
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	o.PageSize = cmp.Or(o.PageSize, 100)
	o.Attempts = cmp.Or(o.Attempts, 8)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MaxQuery = cmp.Or(o.MaxQuery, 3000)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 16<<20)
	o.MaxFile = cmp.Or(o.MaxFile, 8<<30)
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}

// Progress says how far a run has come.
type Progress struct {
	Requests  int64 // sent in this run
	Rows      int64 // read, in this run and before
	Files     int64 // downloaded, in this run and before
	FileBytes int64
}

// A Report says what an archive has.
type Report struct {
	Rows     map[string]int64 // by type
	Links    int64
	Files    int64 // with their formats
	Reread   int64 // rows that were read again because they had changed
	Requests int64
	Notes    []Note
}

// A Note names something that the archive lacks, and the reason.
type Note struct{ About, Text string }

func (n Note) String() string { return n.About + ": " + n.Text }

// Archive returns the directory of the archive that Read writes in dir.
func Archive(dir string) string { return filepath.Join(dir, archiveName) }

const archiveName = "archive"

// A reader carries out one call of Read.
type reader struct {
	o           Options
	client      *client
	staging     staging
	definitions *definitions
	locales     []string

	mu     sync.Mutex
	state  Progress
	report Report
	linked map[version]bool // documents whose lists of links may have changed
}

// Read reads a server and writes an archive to Archive(dir). The directory keeps what was read, so that the next call
// with it goes on if this one fails. If the archive is complete already, Read returns its report and asks for nothing.
// Remove the directory afterwards.
func Read(ctx context.Context, dir string, o Options) (*Report, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &reader{o: o, staging: staging{root}, report: Report{Rows: map[string]int64{}}, linked: map[version]bool{}}
	if err := r.connect(); err != nil {
		return nil, err
	}
	if err := r.staging.check("server", r.client.base.String()); err != nil {
		return nil, err
	}
	if report, err := r.staging.readReport(ctx); report != nil || err != nil {
		return report, err
	}
	defer r.client.files.CloseIdleConnections()
	if err := r.read(ctx); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.client.base, err)
	}
	return &r.report, nil
}

func (r *reader) connect() error {
	base, err := parseBase(r.o.URL)
	if err != nil {
		return err
	}
	if r.o.Token == "" {
		return errors.New("no token: make one with full access in Strapi, under Settings → API Tokens")
	}
	if r.o.Rate < 0 || r.o.Concurrency < 0 || r.o.PageSize < 0 {
		return errors.New("rate, concurrency and page size must be positive")
	}
	files := r.o.Transport
	if files == nil {
		files = publicTransport(base)
	}
	r.client = &client{base: base, token: r.o.Token, clock: r.o.Clock, timeout: r.o.Timeout, attempts: r.o.Attempts,
		maxAnswer: r.o.MaxAnswer, maxFile: r.o.MaxFile,
		pace:     pacer{clock: r.o.Clock, interval: time.Duration(float64(time.Second) / r.o.Rate)},
		http:     &http.Client{Transport: r.o.Transport, CheckRedirect: redirectWithin},
		files:    &http.Client{Transport: files, CheckRedirect: redirectAnywhere},
		requests: func() { r.progress(func(p *Progress) { p.Requests++ }) },
	}
	return nil
}

// progress changes the progress, and reports it.
func (r *reader) progress(change func(*Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state)
	r.o.Progress(r.state)
}

func (r *reader) note(about, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Notes = append(r.report.Notes, Note{about, fmt.Sprintf(format, args...)})
}

func (r *reader) read(ctx context.Context) error {
	accounts, err := r.begin(ctx)
	if err != nil {
		return err
	}
	var listings []*listing
	for _, s := range r.definitions.list {
		if !r.isRead(s) {
			continue
		}
		of, err := r.listingsOf(s)
		if err != nil {
			return err
		}
		listings = append(listings, of...)
	}
	if err := r.each(ctx, len(listings),
		func(ctx context.Context, i int) error { return r.readListing(ctx, listings[i]) }); err != nil {
		return err
	}
	if err := r.readChanges(ctx, listings); err != nil {
		return err
	}
	assets, err := r.assets(listings)
	if err != nil {
		return err
	}
	if err := r.download(ctx, assets); err != nil {
		return err
	}
	return r.write(ctx, listings, accounts, assets)
}

// begin asks for the definitions, locales and roles, and opens the staging directory.
func (r *reader) begin(ctx context.Context) (*accounts, error) {
	schemas := r.o.Schemas
	var err error
	if len(schemas) == 0 {
		if schemas, err = r.client.askDefinitions(ctx); err != nil {
			return nil, err
		}
	}
	if r.definitions, err = newDefinitions(withPlugins(schemas)); err != nil {
		return nil, err
	}
	for _, uid := range r.o.Without {
		if r.definitions.byUID[uid] == nil {
			return nil, fmt.Errorf("there is no type %s to leave out", uid)
		}
	}
	if err := r.staging.check("definitions", digest(schemas)); err != nil {
		return nil, err
	}
	accounts, err := r.askAccounts(ctx)
	if err != nil {
		return nil, err
	}
	// Not before the server has answered: after a mistake in its URL, a run with the right one can use the same
	// directory.
	return accounts, errors.Join(r.staging.use("server", r.client.base.String()),
		r.staging.use("definitions", digest(schemas)))
}

// isRead reports whether the rows of a type are asked for page by page.
func (r *reader) isRead(s *schema) bool {
	return isRead(s) && s.uid != roleUID && !s.isComponent() && !slices.Contains(r.o.Without, s.uid)
}

// each calls do with the numbers below n, several at a time, until one call fails.
func (r *reader) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(r.o.Concurrency)
	for i := range n {
		workers.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return workers.Wait()
}
