// Package diskcache caches files in a directory. It limits how many bytes all files take together, and removes the
// least recently used ones to make room for others.
//
//	images, err := diskcache.Open("data/image-cache", 256<<20)
//	err = images.Add(key, content)
//	f, ok := images.Get(key) // f is open; close it
//
// A file is written under a temporary name and then renamed, so that Get never finds a part of one. Each file ends with
// a checksum of its key and content. Get removes a file that is damaged, as if it had never been added.
//
// The cache outlasts the process. The modification time of a file says when it was last used, to the minute. Files are
// not synced: after a power failure some may be missing or damaged. Anyone may delete files, or the directory, at any
// time.
package diskcache

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// blockSize is the unit in which file systems allocate space. A file counts as a whole number of blocks, which also
	// limits how many files there are.
	blockSize = 4 << 10
	// checksumSize is how many bytes follow the content of a file.
	checksumSize = 4
	// touchAfter is after what time another use of a file is recorded in its modification time.
	touchAfter = time.Minute
	// temporary is the beginning of the names of files that are being written.
	temporary = ".new-"
	maxKey    = 128
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Cache is a directory of files, found by key. A key has 1 to 128 characters: a to z, 0 to 9, and hyphens. Any number
// of goroutines may use a Cache, but only one Cache at a time may use a directory.
type Cache struct {
	dir   string
	limit int64

	mu    sync.Mutex
	stats Stats // Bytes includes the files that are being written
	byKey map[string]*list.Element
	order *list.List // of *entry, the most recently used first
}

// Stats are the counters of a Cache.
type Stats struct {
	Files   int
	Bytes   int64 // in whole blocks; never more than the limit
	Evicted int64 // how many files were removed to make room for others
}

type entry struct {
	key     string
	bytes   int64 // in whole blocks
	touched time.Time
}

// Open opens the cache in a directory, which is created when the first file is added. It removes the least recently
// used files if there are more than limit bytes. It leaves files alone whose names are no keys.
func Open(dir string, limit int64) (*Cache, error) {
	c := &Cache{dir: dir, limit: limit, byKey: map[string]*list.Element{}, order: list.New()}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	return c, nil
}

// load finds the files that an earlier Cache left.
func (c *Cache) load() error {
	files, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var entries []*entry
	for _, f := range files {
		if strings.HasPrefix(f.Name(), temporary) {
			if err := os.Remove(c.path(f.Name())); err != nil {
				return err
			}
		}
		if !isKey(f.Name()) || !f.Type().IsRegular() {
			continue
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		entries = append(entries, &entry{f.Name(), blocks(info.Size()), info.ModTime()})
	}
	slices.SortFunc(entries, func(a, b *entry) int { return a.touched.Compare(b.touched) })
	for _, e := range entries {
		c.byKey[e.key] = c.order.PushFront(e)
		c.stats.Bytes += e.bytes
	}
	return c.makeRoom(0)
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Files = len(c.byKey)
	return stats
}

// A File is the content of a cached file, open for reading. It can be read to its end even if the cache removes the
// file.
type File struct {
	*io.SectionReader
	file *os.File
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Get opens the file of a key and marks it as used. It returns false if there is none.
func (c *Cache) Get(key string) (*File, bool) {
	c.mu.Lock()
	element := c.byKey[key]
	if element == nil {
		c.mu.Unlock()
		return nil, false
	}
	c.order.MoveToFront(element)
	e, now := element.Value.(*entry), time.Now()
	touch := now.Sub(e.touched) > touchAfter
	if touch {
		e.touched = now
	}
	c.mu.Unlock()

	f, err := openChecked(c.path(key), key)
	if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.byKey[key] == element { // and not another file that was added since
			_ = c.remove(element) // a file that cannot be removed stays counted, and is found damaged again
		}
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	if touch {
		_ = os.Chtimes(c.path(key), now, now) // without it the file only seems older after a restart
	}
	return f, true
}

var errDamaged = errors.New("the file is damaged")

// openChecked opens a file and compares it with its checksum.
func openChecked(path, key string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := contentOf(f, key)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{content, f}, nil
}

func contentOf(f *os.File, key string) (*io.SectionReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size() - checksumSize
	var stored [checksumSize]byte
	if size < 0 {
		return nil, errDamaged
	}
	if _, err := f.ReadAt(stored[:], size); err != nil {
		return nil, err
	}
	sum := crc32.New(castagnoli)
	io.WriteString(sum, key)
	content := io.NewSectionReader(f, 0, size)
	if _, err := io.Copy(sum, content); err != nil {
		return nil, err
	}
	if sum.Sum32() != binary.BigEndian.Uint32(stored[:]) {
		return nil, errDamaged
	}
	_, err = content.Seek(0, io.SeekStart)
	return content, err
}

// Add adds a file. It does nothing if the key has one already, or if the content is longer than a quarter of the limit,
// since a few such files would evict all others.
func (c *Cache) Add(key string, content []byte) error {
	if !isKey(key) {
		return fmt.Errorf("%q is no key", key)
	}
	bytes := blocks(int64(len(content)) + checksumSize)
	if bytes > c.limit/4 {
		return nil
	}
	reserved, err := c.reserve(key, bytes)
	if err != nil || !reserved {
		return err
	}
	err = c.write(key, content)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || c.byKey[key] != nil { // added meanwhile: the new file has replaced that one
		c.stats.Bytes -= bytes
		return err
	}
	c.byKey[key] = c.order.PushFront(&entry{key, bytes, time.Now()})
	return nil
}

// reserve makes room for a file and counts it. It returns false if the key has one already.
func (c *Cache) reserve(key string, bytes int64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return false, nil
	}
	if err := c.makeRoom(bytes); err != nil {
		return false, err
	}
	c.stats.Bytes += bytes
	return true, nil
}

// makeRoom removes the least recently used files until bytes more fit. It is called with mu held.
func (c *Cache) makeRoom(bytes int64) error {
	for c.stats.Bytes+bytes > c.limit {
		last := c.order.Back()
		if last == nil { // files that are being written take all of it
			return errors.New("the cache has no room: too many files are being written at once")
		}
		if err := c.remove(last); err != nil {
			return err
		}
		c.stats.Evicted++
	}
	return nil
}

// remove removes a file. It is called with mu held. If it fails, the file stays in the cache.
func (c *Cache) remove(element *list.Element) error {
	e := element.Value.(*entry)
	if err := os.Remove(c.path(e.key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.order.Remove(element)
	delete(c.byKey, e.key)
	c.stats.Bytes -= e.bytes
	return nil
}

// RemovePrefix removes all files whose keys begin with prefix.
func (c *Cache) RemovePrefix(prefix string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for key, element := range c.byKey {
		if strings.HasPrefix(key, prefix) {
			errs = append(errs, c.remove(element))
		}
	}
	return errors.Join(errs...)
}

// write writes a file with its checksum.
func (c *Cache) write(key string, content []byte) error {
	f, err := os.CreateTemp(c.dir, temporary+"*")
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(c.dir, 0o700); err == nil {
			f, err = os.CreateTemp(c.dir, temporary+"*")
		}
	}
	if err != nil {
		return err
	}
	sum := crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, content)
	_, err = f.Write(content)
	if err == nil {
		_, err = f.Write(binary.BigEndian.AppendUint32(nil, sum))
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.path(key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (c *Cache) path(name string) string { return filepath.Join(c.dir, name) }

// blocks rounds a number of bytes up to whole blocks.
func blocks(bytes int64) int64 { return (bytes + blockSize - 1) / blockSize * blockSize }

func isKey(name string) bool {
	return name != "" && len(name) <= maxKey && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}
