// Package media keeps uploaded files: their contents in a Storage, what is known of them as documents of plugin::upload.file.
//
//	library, err := media.Open(media.Options{Dir: "data/uploads", Store: st, Documents: docs, Model: model})
//	form, err := library.ReadForm(ctx, multipartReader)   // streamed to disk, within limits
//	err = library.Add(ctx, form, access, show)            // stored, then written as documents, then shown
//	err = library.ServeFile(w, r, name)
//
// Contents and documents are two stores, and a crash may come between any two steps. What holds at all times: a document's
// files are durable before the document is, and both before anybody is told; before a file is put where no document names it
// yet, or a document is removed whose files are still there, a note of it is durable (see journal.go). What a crash left is
// cleared away by the notes at the next start (Recover), and files that nobody noted are never touched.
//
// What a file is, is decided by its content (see kinds.go): what may be uploaded, what is looked into as an image, and how it
// is served. The type that a client declared is stored and otherwise believed nowhere.
package media

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/internal/budget"
	"lectern/store"
)

// Settings are what a project says about uploads.
type Settings struct {
	SizeLimit    int64    // bytes of one file
	AllowedTypes []string // as image/png or image/*; none: all
	DeniedTypes  []string
	Breakpoints  []Breakpoint
	PixelLimit   int64 // pixels of an image
	Concurrency  int   // how many images are worked on at one time
	S3           *S3Settings
	CacheControl string // the header of that name that files are served with
}

// DefaultSettings are those where nothing is said.
var DefaultSettings = Settings{
	SizeLimit: 200 << 20, Breakpoints: []Breakpoint{{"large", 1000}, {"medium", 750}, {"small", 500}}, PixelLimit: 100_000_000, Concurrency: 2,
	CacheControl: "public, max-age=31536000, immutable", // a file's name has a hash in it
}

// Options of Open.
type Options struct {
	Dir       string // of the files, or of what is on its way to another storage
	Store     *store.Store
	Documents *documents.Service
	Model     *contenttypes.Model
	Settings  Settings
	Memory    *budget.Budget // of all requests, for images that are worked on; nil is not bounded
	Failed    func(error)    // is told of what goes wrong in the background; may be nil
}

// A Library is the files of a project, with the documents that tell of them under one Model. Any number of goroutines may use
// it. When definitions change under it, what it is asked fails with store.ErrRedefined, having done nothing, and can be asked
// of the Library that Under returns.
type Library struct {
	*files
	store     *store.Store
	documents *documents.Service
	model     *contenttypes.Model
	typ       *contenttypes.ContentType
}

// files are what does not change with definitions.
type files struct {
	dir      *directory
	spool    *spool
	spare    *spare
	local    *local
	storage  Storage // of new files
	settings Settings
	policy   policy
	images   imageLimits
	memory   *budget.Budget
	failed   func(error)

	recovering sync.Mutex
	left       []string // what lay in the spool when the library was opened

	mu   sync.Mutex
	busy map[uint64]chan struct{} // files that are being changed, by id
	held held
}

// Open opens the library of a project, and makes its directory where there is none.
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
		err = f.prepare()
	}
	if err != nil {
		return nil, errors.Join(err, dir.close())
	}
	return l, nil
}

// Under is the library with documents under another Model.
func (l *Library) Under(st *store.Store, docs *documents.Service, model *contenttypes.Model) (*Library, error) {
	other := &Library{files: l.files, store: st, documents: docs, model: model, typ: model.Type(contenttypes.FileUID)}
	if other.typ == nil {
		return nil, fmt.Errorf("the model has no type %s", contenttypes.FileUID)
	}
	return other, nil
}

// prepare makes the storages and the spool, and looks what was left in the spool.
func (l *files) prepare() (err error) {
	l.local = &local{l.dir}
	l.storage = l.local
	if l.settings.S3 != nil {
		if l.storage, err = newS3(*l.settings.S3, l.dir); err != nil {
			return err
		}
	}
	if l.left, err = l.spool.list(); err != nil {
		return err
	}
	return l.spare.ensure()
}

// Close lets go of the directory. Nothing of the library may be in use any more, under whichever Model.
func (l *Library) Close() error { return l.dir.close() }

// Health says why files cannot be stored; nil when they can.
func (l *Library) Health() error { return l.dir.health() }

// Type is the content-type of files.
func (l *Library) Type() *contenttypes.ContentType { return l.typ }

// storageOf is the storage that keeps the files of a provider; those of an unknown one are nobody's.
func (l *Library) storageOf(provider string) (Storage, error) {
	switch provider {
	case l.storage.Provider():
		return l.storage, nil
	case l.local.Provider():
		return l.local, nil
	}
	return nil, fmt.Errorf("the file is kept by the provider %s, which is not configured", provider)
}

// lock waits until nobody else changes the file with that id, or ctx ends.
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
