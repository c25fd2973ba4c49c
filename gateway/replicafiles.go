package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lectern/documents/permission"
	"lectern/gateway/admin"
	"lectern/gateway/internal/replication"
)

// fileSums remembers the checksums of uploaded files, so that each is read once. The zero value is ready for use.
type fileSums struct {
	mu    sync.Mutex
	known map[string]replication.File
}

// GET /api/_replica/files: the uploaded files with their checksums.
func (p *Project) sendFiles(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
	list, err := p.sums.list(r.Context(), p.Data.Join(admin.UploadsName))
	if err != nil {
		return err
	}
	frames, buffer := p.frames(w, r, nil)
	if err := frames.JSON(replication.FilesFrame, list); err != nil {
		return err
	}
	return buffer.Flush()
}

// list lists the files below dir, without those that are not complete.
func (s *fileSums) list(ctx context.Context, dir string) ([]replication.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, known := []replication.File{}, map[string]replication.File{}
	err := eachUpload(dir, func(root *os.Root, name string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, ok := s.known[name]
		if !ok || !f.Same(info) {
			sum, err := sumOf(root, name)
			if err != nil {
				return err
			}
			f = replication.File{Name: name, Size: info.Size(), Modified: info.ModTime(), SHA256: sum}
		}
		known[name] = f
		list = append(list, f)
		return nil
	})
	s.known = known
	return list, err
}

// eachUpload calls f with the files below a directory of uploads. It skips those that are removed meanwhile.
func eachUpload(dir string, f func(*os.Root, string, fs.FileInfo) error) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && name != "." && name[0] == '.' {
			return fs.SkipDir // incomplete uploads
		}
		var info fs.FileInfo
		if err == nil && e.Type().IsRegular() && replication.IsFileName(name) {
			if info, err = e.Info(); err == nil {
				err = f(root, name, info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func sumOf(root *os.Root, name string) (string, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// A fileFollower keeps the uploaded files of a replica in step with those of its origin: all of them in the background, and one at once when
// a client asks for it.
type fileFollower struct {
	uploads, incoming string // directories
	woken             chan struct{}
	touch             atomic.Bool // the origin answers
	origin            atomic.Pointer[replication.Origin]

	mu      sync.Mutex
	fetches map[string]chan struct{} // by name; closed at the end

	listing sync.Mutex // held while the list is renewed for a client
	listed  time.Time
	list    []replication.File
}

// listEvery bounds how often clients that ask for missing files make the replica ask its origin for the list.
const listEvery = time.Second

// filesEvery is how often a replica asks which files there are, beside when documents of files have changed.
const filesEvery = 10 * time.Minute

func newFileFollower(data string) *fileFollower {
	return &fileFollower{uploads: filepath.Join(data, admin.UploadsName), incoming: filepath.Join(data, admin.ReplicaName, "incoming"),
		woken: make(chan struct{}, 1), fetches: map[string]chan struct{}{}}
}

// wake has the files compared soon.
func (f *fileFollower) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// run compares and fetches files until ctx ends.
func (f *fileFollower) run(ctx context.Context, origin *replication.Origin, failed func(error)) {
	f.origin.Store(origin)
	tick := time.NewTicker(filesEvery)
	defer tick.Stop()
	retry := newBackoff()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.woken:
		case <-tick.C:
		}
		err := f.compare(ctx)
		if err == nil {
			retry = newBackoff()
			continue
		}
		if ctx.Err() == nil {
			failed(err)
		}
		if retry.wait(ctx) != nil {
			return
		}
		f.wake()
	}
}

// compare fetches the files that are missing or different, and removes those that the origin does not have.
func (f *fileFollower) compare(ctx context.Context) error {
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
	return eachUpload(f.uploads, func(root *os.Root, name string, _ fs.FileInfo) error {
		if there[name] {
			return nil
		}
		return root.Remove(filepath.FromSlash(name))
	})
}

// fetch fetches a file unless it is there. Callers at the same time share the work.
func (f *fileFollower) fetch(ctx context.Context, file *replication.File) error {
	path := filepath.Join(f.uploads, filepath.FromSlash(file.Name))
	for {
		if info, err := os.Lstat(path); err == nil && file.Same(info) {
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
	return f.origin.Load().Fetch(ctx, file, path, f.incoming)
}

// missing implements fileSource.
func (f *fileFollower) missing(ctx context.Context, name string) bool {
	origin := f.origin.Load()
	if origin == nil || !f.touch.Load() || !replication.IsFileName(name) {
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
func (f *fileFollower) recent(ctx context.Context, origin *replication.Origin) ([]replication.File, error) {
	f.listing.Lock()
	defer f.listing.Unlock()
	if time.Since(f.listed) < listEvery {
		return f.list, nil
	}
	list, err := origin.Files(ctx)
	f.list, f.listed = list, time.Now()
	return list, err
}
