package media

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/internal/budget"
	"lectern/store"
)

// Settings are the settings of a project for uploads.
type Settings struct {
	SizeLimit    int64    // maximum number of bytes of one file
	AllowedTypes []string // as image/png or image/*; an empty list allows all
	DeniedTypes  []string
	Breakpoints  []Breakpoint
	PixelLimit   int64 // maximum number of pixels of an image
	Concurrency  int   // how many images are processed at one time
	S3           *S3Settings
	CacheControl string // value of the Cache-Control header of files
	Images       ImageSettings
}

// DefaultSettings are the settings of a project that changes none.
var DefaultSettings = Settings{
	SizeLimit: 200 << 20, Breakpoints: []Breakpoint{{"large", 1000}, {"medium", 750}, {"small", 500}},
	PixelLimit: 100_000_000, Concurrency: 2,
	CacheControl: "public, max-age=31536000, immutable", // file names contain a hash, so that a URL never changes its content
	Images:       ImageSettings{Fits: Fits, Formats: VariantFormats, Cache: 256 << 20},
}

// Options are the arguments of Open.
type Options struct {
	Dir       string // directory of the files, or of the spool if another storage has the files
	Store     *store.Store
	Documents *documents.Service
	Model     *contenttypes.Model
	Settings  Settings
	Cache     string         // directory of the cache of images on request
	Memory    *budget.Budget // budget of all requests, from which images are reserved; nil means no limit
	Nodes     Nodes          // of the cluster that the server is a node of; nil: it has its files for itself
	Failed    func(error)    // called with errors of background work; may be nil
}

// A Library stores the files of a project and their documents. Any number of goroutines may use it. It belongs to one
// version of the Model: when definitions change, its methods return store.ErrRedefined without having done anything;
// call them on the Library that Under returns.
type Library struct {
	*files
	store     *store.Store
	documents *documents.Service
	model     *contenttypes.Model
	typ       *contenttypes.ContentType
}

// files is the part of a Library that is shared by all versions of the Model.
type files struct {
	dir      *directory
	spool    *spool
	spare    *spare
	local    Storage // on the disk of this machine
	storage  Storage // storage of new files
	settings Settings
	policy   policy
	images   imageLimits // of uploads
	variants *variants   // nil if the settings allow no images on request
	memory   *budget.Budget
	failed   func(error)

	recovering sync.Mutex
	left       []string // names of the files that were in the spool when the library was opened

	mu   sync.Mutex
	busy map[uint64]chan struct{} // files being changed, by id
	pins pins

	stored struct{ files, bytes atomic.Int64 }
}

// Open opens the library of a project and creates its directory if there is none.
func Open(o Options) (*Library, error) {
	failed := o.Failed
	if failed == nil {
		failed = func(error) {}
	}
	dir, err := openDirectory(o.Dir, failed)
	if err != nil {
		return nil, err
	}
	s := o.Settings
	f := &files{
		dir: dir, spool: &spool{dir}, spare: newSpare(dir), settings: s, policy: policy{s.AllowedTypes, s.DeniedTypes},
		images: newImageLimits(s.Concurrency), memory: o.Memory, failed: failed, busy: map[uint64]chan struct{}{},
	}
	l, err := (&Library{files: f}).Under(o.Store, o.Documents, o.Model)
	if err == nil {
		err = f.prepare(o)
	}
	if err != nil {
		return nil, errors.Join(err, dir.close())
	}
	return l, nil
}

// Under returns the library for another Model. Both share the files.
func (l *Library) Under(st *store.Store, docs *documents.Service, model *contenttypes.Model) (*Library, error) {
	other := &Library{files: l.files, store: st, documents: docs, model: model, typ: model.Type(contenttypes.FileUID)}
	if other.typ == nil {
		return nil, fmt.Errorf("the model has no type %s", contenttypes.FileUID)
	}
	return other, nil
}

// prepare opens the storages, the spool and the cache, and records which files an earlier run left in the spool.
func (l *files) prepare(o Options) (err error) {
	l.local = &local{l.dir}
	if o.Nodes != nil {
		l.local = &onNodes{&local{l.dir}, o.Nodes}
	}
	l.storage = l.local
	if l.settings.S3 != nil {
		if l.storage, err = newS3(*l.settings.S3, l.dir); err != nil {
			return err
		}
	}
	if l.variants, err = openVariants(l.settings.Images, o.Cache); err != nil {
		return err
	}
	// What cannot be written to can be read from, so neither error ends the start.
	if l.left, err = l.spool.list(); err != nil {
		l.failed(err)
	}
	if err := l.spare.ensure(); err != nil {
		l.failed(unstorable(err))
	}
	return nil
}

// Close closes the directory. No method may be running any more, of this Library or of one that Under returned.
func (l *Library) Close() error { return l.dir.close() }

// Health returns why files cannot be stored; nil means that they can.
func (l *Library) Health() error { return l.dir.health() }

// Stats count what was uploaded since the library was opened, replacements included.
type Stats struct {
	Files, Bytes int64 // without the formats of images
}

// Stats returns the counters.
func (l *Library) Stats() Stats {
	return Stats{Files: l.stored.files.Load(), Bytes: l.stored.bytes.Load()}
}

// count counts an uploaded file.
func (l *files) count(f *prepared) {
	l.stored.files.Add(1)
	l.stored.bytes.Add(f.size)
}

// Type returns the content-type of files.
func (l *Library) Type() *contenttypes.ContentType { return l.typ }

// storageOf returns the storage of a provider, by the name in a file's document. It fails if that provider is not
// configured.
func (l *Library) storageOf(provider string) (Storage, error) {
	switch provider {
	case l.storage.Provider():
		return l.storage, nil
	case l.local.Provider():
		return l.local, nil
	}
	return nil, fmt.Errorf(
		"the file is stored by the provider %s, which is not configured: configure it in config/plugins.yaml", provider)
}

// lock waits until no other request changes the file with this id, or until ctx ends.
func (l *Library) lock(ctx context.Context, id uint64) (unlock func(), err error) {
	for {
		l.mu.Lock()
		other, taken := l.busy[id]
		if !taken {
			mine := make(chan struct{})
			l.busy[id] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.busy, id)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
