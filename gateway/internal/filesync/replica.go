package filesync

import (
	"context"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"lectern/gateway/internal/replication"
	"lectern/internal/backoff"
	"lectern/internal/within"
)

// ReplicaFiles keeps the uploaded files of a replica in step with those of its origin: all of them in the background,
// and one at once when a client asks for it. Its methods are safe for concurrent use.
type ReplicaFiles struct {
	uploads string // directory
	named   func() (map[string]bool, error)
	woken   chan struct{}
	inTouch atomic.Bool // the origin answers
	origin  atomic.Pointer[replication.Client]

	mu      sync.Mutex
	fetches map[string]chan struct{} // by name; closed at the end

	listing sync.Mutex // held while the list is renewed for a client
	listed  time.Time
	list    []replication.File
}

// listEvery bounds how often clients that ask for missing files make the replica ask its origin for the list.
const listEvery = time.Second

// NewReplica returns a Replica that keeps files in the directory uploads. named returns the names of the files that the
// documents of the replica describe.
func NewReplicaFiles(uploads string, named func() (map[string]bool, error)) *ReplicaFiles {
	return &ReplicaFiles{uploads: uploads, named: named, woken: make(chan struct{}, 1), fetches: map[string]chan struct{}{}}
}

// SetInTouch tells the Replica whether the origin answers. It is not asked for single files otherwise.
func (f *ReplicaFiles) SetInTouch(is bool) { f.inTouch.Store(is) }

// Wake has the files compared soon.
func (f *ReplicaFiles) Wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// Run compares and fetches files until ctx ends. It calls failed with each error.
func (f *ReplicaFiles) Run(ctx context.Context, origin *replication.Client, failed func(error)) {
	f.origin.Store(origin)
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	retry := backoff.New()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.woken:
		case <-tick.C:
		}
		err := f.compare(ctx)
		if err == nil {
			retry = backoff.New()
			continue
		}
		if ctx.Err() == nil {
			failed(err)
		}
		if retry.Wait(ctx) != nil {
			return
		}
		f.Wake()
	}
}

// compare fetches the files that are missing or different, and removes those that the origin does not have. It keeps
// those that have documents: the origin has lost them, for example because the disk of its uploads is gone, and may get
// them from here.
func (f *ReplicaFiles) compare(ctx context.Context) error {
	list, err := f.origin.Load().Files(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for i := range list {
		there[list[i].Name] = true
		if err := f.fetch(ctx, &list[i]); err != nil {
			return err
		}
	}
	named, err := f.named()
	if err != nil {
		return err
	}
	return each(f.uploads, func(root *os.Root, name string, _ fs.FileInfo) error {
		if there[name] || named[name] {
			return nil
		}
		return root.Remove(name)
	})
}

// fetch fetches a file unless it is there. Callers at the same time share the work.
func (f *ReplicaFiles) fetch(ctx context.Context, file *replication.File) error {
	for {
		if info, err := within.Lstat(f.uploads, file.Name); err == nil && file.Same(info) {
			return nil
		}
		f.mu.Lock()
		other := f.fetches[file.Name]
		if other == nil {
			break
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done := make(chan struct{})
	f.fetches[file.Name] = done
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.fetches, file.Name)
		close(done)
	}()
	return within.Make(f.uploads, 0o700, func(root *os.Root) error { return f.origin.Load().Fetch(ctx, file, root) })
}

// Missing fetches a file that a client asks for and that is not there, and reports whether it is there now.
func (f *ReplicaFiles) Missing(ctx context.Context, name string) bool {
	origin := f.origin.Load()
	if origin == nil || !f.inTouch.Load() || !within.IsFileName(name) {
		return false
	}
	list, err := f.recent(ctx, origin)
	if err != nil {
		return false // the background reports it
	}
	for i := range list {
		if list[i].Name == name {
			return f.fetch(ctx, &list[i]) == nil
		}
	}
	return false
}

// recent returns a list of the origin's files that is hardly older than listEvery.
func (f *ReplicaFiles) recent(ctx context.Context, origin *replication.Client) ([]replication.File, error) {
	f.listing.Lock()
	defer f.listing.Unlock()
	if time.Since(f.listed) < listEvery {
		return f.list, nil
	}
	list, err := origin.Files(ctx)
	f.list, f.listed = list, time.Now()
	return list, err
}
