package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lectern/internal/objects"
	"lectern/store"
)

// A keeper takes bases, copies uploaded files, and removes what is too old.
type keeper struct {
	from        Source
	to          objects.Store
	every, keep time.Duration
	note        func(string)

	queue   sync.Mutex
	pending map[string]uint64 // uploaded files to copy, with the entries that name them
	wake    chan struct{}

	mu     sync.Mutex // guards the following; held while files and bases are copied
	newest Base
	taken  time.Time       // when, by the clock that only goes on; or when this Shipper began
	behind bool            // whether files may be missing, because an earlier Shipper died before it copied those that the entries name
	known  manifest        // the files of the directory, as they are in the backup
	files  map[string]bool // the names of objects in files/
}

// resume reads what the backup has of uploaded files.
func (k *keeper) resume(ctx context.Context, c *catalogue, base Base) error {
	uploads, err := c.uploadsSince(ctx, k.to, base.Position, 0)
	if err != nil {
		return err
	}
	k.newest, k.behind, k.taken = base, true, time.Now()
	if base.Time.After(k.taken) { // the clock was ahead: take one by which points in time from now on can be found
		k.taken = k.taken.Add(-k.every)
	}
	for name, all := range uploads.names {
		k.known[name] = all[len(all)-1]
	}
	return nil
}

// add queues the files that the entries of an update name.
func (k *keeper) add(u Update) {
	if len(u.Uploads) == 0 {
		return
	}
	k.queue.Lock()
	maps.Copy(k.pending, u.Uploads)
	k.queue.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run copies files and takes bases until ctx ends. at is the position of the backup.
func (k *keeper) run(ctx context.Context, at *atomic.Pointer[store.Position]) {
	due := time.NewTicker(min(k.every, time.Minute))
	defer due.Stop()
	for {
		if p := at.Load(); p != nil {
			if err := k.work(ctx, *p); err != nil && ctx.Err() == nil {
				k.note(fmt.Sprintf("%v; trying again", err))
				if wait(ctx, retryEvery) == nil {
					continue
				}
			}
		}
		select {
		case <-k.wake:
		case <-due.C:
		case <-ctx.Done():
			return
		}
	}
}

// work copies the files that are queued, and takes a base if one is due.
func (k *keeper) work(ctx context.Context, at store.Position) error {
	if err := k.catchUp(ctx, at); err != nil {
		return err
	}
	if err := k.copyPending(ctx, at); err != nil {
		return err
	}
	k.mu.Lock()
	due := max(time.Since(k.newest.Time), time.Since(k.taken)) >= k.every && at.Sequence > k.newest.Position.Sequence
	k.mu.Unlock()
	if !due {
		return nil
	}
	_, err := k.takeBase(ctx, at)
	return err
}

// catchUp copies the files that an earlier Shipper may have left out.
func (k *keeper) catchUp(ctx context.Context, at store.Position) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.behind {
		return nil
	}
	err := k.copyAll(ctx, k.sinceBase(at), false)
	k.behind = err != nil
	return err
}

// copyPending copies the files that are queued.
func (k *keeper) copyPending(ctx context.Context, at store.Position) error {
	k.queue.Lock()
	pending := maps.Clone(k.pending)
	k.queue.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	at = k.sinceBase(at)
	m := manifest{}
	for name, sequence := range pending {
		// What the newest base does not have came after it, although the entry that named the file may have come
		// before.
		if err := k.copy(ctx, name, max(sequence, k.newest.Position.Sequence+1), m); err != nil {
			return err
		}
	}
	if len(m) > 0 {
		if err := putManifest(ctx, k.to, m, at, false); err != nil {
			return err
		}
		maps.Copy(k.known, m)
	}
	k.queue.Lock()
	defer k.queue.Unlock()
	maps.DeleteFunc(k.pending, func(name string, sequence uint64) bool { return pending[name] == sequence })
	return nil
}

// sinceBase returns the later one of at, the position of the backup, and the position of the newest base. A base may be
// ahead of the entries in the backup, and a restore from it reads no manifest with an earlier position.
func (k *keeper) sinceBase(at store.Position) store.Position {
	if at.Epoch != k.newest.Position.Epoch || at.Sequence < k.newest.Position.Sequence {
		return k.newest.Position
	}
	return at
}

// copyAll copies all files that the backup does not have, and stores a manifest: a full one, or else one of the new
// files. at is zero before the first base, which will have the manifest.
func (k *keeper) copyAll(ctx context.Context, at store.Position, full bool) error {
	names, err := filesIn(k.from.Uploads())
	if err != nil {
		return err
	}
	if len(names) == 0 && len(k.known) > 0 { // the disk is not mounted, perhaps: do not let the backup forget them
		k.note(fmt.Sprintf("the directory of uploads %s is gone or empty; the backup keeps the files that it has",
			k.from.Uploads()))
		names = slices.Sorted(maps.Keys(k.known))
	}
	m, sequence := manifest{}, at.Sequence
	if !full { // what the backup does not have came after its position
		sequence++
	}
	for _, name := range names {
		if err := k.copy(ctx, name, sequence, m); err != nil {
			return err
		}
		if u := k.known[name]; full && m[name].Sum == "" && u.Sum != "" {
			u.Sequence = min(u.Sequence, at.Sequence)
			m[name] = u
		}
	}
	if full || len(m) > 0 && at != (store.Position{}) {
		if err := putManifest(ctx, k.to, m, at, full); err != nil {
			return err
		}
	}
	if full {
		k.known = m
	} else {
		maps.Copy(k.known, m)
	}
	return nil
}

// filesIn returns the names of the files in a directory, which need not exist. It leaves out those that are being
// written.
func filesIn(dir string) (names []string, err error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for {
		list, err := d.ReadDir(1000)
		for _, e := range list {
			if e.Type().IsRegular() && e.Name()[0] != '.' {
				names = append(names, e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// copy copies a file to the backup, unless that has its content already, and adds it to m if it is new or changed. It
// ignores a file that is gone.
func (k *keeper) copy(ctx context.Context, name string, sequence uint64, m manifest) error {
	root, err := os.OpenRoot(k.from.Uploads())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	u := upload{Size: info.Size(), Modified: info.ModTime().UnixNano(), Sequence: sequence}
	if had, ok := k.known[name]; ok && had.Size == u.Size && had.Modified == u.Modified {
		return nil
	}
	sum := sha256.New()
	if u.Size, err = io.Copy(sum, f); err != nil {
		return err
	}
	u.Sum = hex.EncodeToString(sum.Sum(nil))
	if err := k.put(ctx, u, f); err != nil {
		return fmt.Errorf("copy the uploaded file %s: %w", name, err)
	}
	m[name] = u
	return nil
}

// put stores the content of a file, unless the backup has it.
func (k *keeper) put(ctx context.Context, u upload, f *os.File) error {
	if k.files == nil {
		list, err := k.to.List(ctx, filesAt)
		if err != nil {
			return err
		}
		k.files = make(map[string]bool, len(list))
		for _, o := range list {
			k.files[o.Name] = true
		}
	}
	name := u.objectName()
	if k.files[name] {
		return nil
	}
	if err := k.to.Put(ctx, name, io.NewSectionReader(f, 0, u.Size), u.Size); err != nil {
		return err
	}
	k.files[name] = true
	return nil
}

// takeBase takes a base, with a manifest of all files, and removes what is too old.
// at is the position of the backup; zero if it needs the base to have one.
func (k *keeper) takeBase(ctx context.Context, at store.Position) (b Base, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at != (store.Position{}) {
		at = k.sinceBase(at)
	}
	if err := k.copyAll(ctx, at, false); err != nil { // most of the work, before files are pinned
		return b, err
	}
	unpin, err := k.from.Pin(ctx)
	if err != nil {
		return b, err
	}
	defer unpin()
	err = k.from.Base(ctx, func(taken Base, r io.Reader) error {
		b = taken
		return k.to.Put(ctx, b.name(), r, -1)
	})
	if err != nil {
		return b, err
	}
	if err := k.copyAll(ctx, b.Position, true); err != nil {
		return b, err
	}
	unpin()
	k.newest, k.taken = b, time.Now()
	k.note(fmt.Sprintf("took a base after entry %s", b.Position))
	return b, k.clean(ctx)
}

// clean removes what no point in time of the time keep needs.
func (k *keeper) clean(ctx context.Context) error {
	c, err := list(ctx, k.to)
	if err != nil {
		return err
	}
	old, kept := c.split(time.Now().Add(-k.keep))
	for _, name := range old {
		if err := k.to.Delete(ctx, name); err != nil {
			return err
		}
	}
	if len(old) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, l := range kept {
		m, err := readManifest(ctx, k.to, l.name)
		if err != nil {
			return err
		}
		for _, u := range m {
			used[u.objectName()] = true
		}
	}
	files, err := k.to.List(ctx, filesAt)
	if err != nil {
		return err
	}
	for _, o := range files {
		if !used[o.Name] && strings.HasPrefix(o.Name, filesAt) {
			delete(k.files, o.Name)
			if err := k.to.Delete(ctx, o.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// split returns the names of the objects that no point in time since a time needs, and the manifests that some need.
// The last base before that time and all that follows are needed.
func (c *catalogue) split(since time.Time) (old []string, kept []listedManifest) {
	first := 0
	for i, b := range c.bases {
		if !b.Time.After(since) {
			first = i
		}
	}
	oldest := map[store.Epoch]uint64{} // the sequence of the oldest base that is kept
	for _, b := range c.bases[first:] {
		if n, ok := oldest[b.Position.Epoch]; !ok || b.Position.Sequence < n {
			oldest[b.Position.Epoch] = b.Position.Sequence
		}
	}
	for _, b := range append(c.bases[:first:first], c.broken...) {
		old = append(old, b.name())
	}
	for _, m := range c.manifests {
		if n, ok := oldest[m.position.Epoch]; ok && m.position.Sequence >= n {
			kept = append(kept, m)
		} else {
			old = append(old, m.name)
		}
	}
	done := map[store.Epoch]bool{}
	for _, s := range c.segments {
		if done[s.epoch] {
			continue
		}
		done[s.epoch] = true
		n, ok := oldest[s.epoch]
		list := c.segmentsOf(s.epoch)
		for i, s := range list {
			if !ok || i+1 < len(list) && list[i+1].first <= n+1 {
				old = append(old, s.name)
			}
		}
	}
	return old, kept
}
