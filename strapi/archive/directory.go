package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
)

// A Directory writes an unpacked archive that can be continued after an interruption.
//
// What was written survives a crash once Flush has returned. Flush returns a Position, which the caller keeps;
// ContinueDirectory goes back to it, so that no line is lost and none is written twice. Assets are files of their own:
// each is complete or not there.
type Directory struct {
	*Writer
	sink *directorySink
}

// A Position is a point in the writing of a Directory: how many files of each part are durable. It can be kept as JSON.
type Position map[string]int

// CreateDirectory begins an archive in a new or empty directory.
func CreateDirectory(dir string) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("directory %s is not empty", dir)
	}
	return ContinueDirectory(dir, nil)
}

// ContinueDirectory continues an archive from a position that Flush returned. It removes all lines that were written
// later. Until Close, readers refuse the archive as incomplete, even if it was complete before.
func ContinueDirectory(dir string, at Position) (*Directory, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &directorySink{root: root}
	d := &Directory{Writer: newWriter(s), sink: s}
	if err := d.rewind(at); err != nil {
		return nil, errors.Join(fmt.Errorf("continue archive %s: %w", dir, err), root.Close())
	}
	return d, nil
}

// rewind removes what was written after a position.
func (d *Directory) rewind(at Position) error {
	if err := d.sink.root.Remove(metadataFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, p := range lineParts {
		d.chunks[p].files = at[string(p)]
		for n := at[string(p)] + 1; ; n++ {
			err := d.sink.root.Remove(chunkName(p, n))
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Flush makes everything durable that was written so far, and returns the position after it.
func (d *Directory) Flush() (Position, error) {
	if err := d.flushAll(); err != nil {
		return nil, err
	}
	if err := d.sink.sync(); err != nil {
		return nil, err
	}
	at := Position{}
	for p, c := range d.chunks {
		at[string(p)] = c.files
	}
	return at, nil
}

// Close completes the archive, once everything else is durable.
func (d *Directory) Close(m Metadata) error {
	if _, err := d.Flush(); err != nil {
		return errors.Join(err, d.sink.close())
	}
	return d.Writer.Close(m)
}

// LinkAsset adds a file below from as an asset, without a copy if the directory of the archive is below from, too, at
// the path within, and the file system can link files. The content and the size of the Asset are not used. The file
// must not change afterwards.
func (d *Directory) LinkAsset(asset Asset, from *os.Root, file, within string) error {
	name, err := cleanName(asset.Name)
	if err != nil {
		return err
	}
	if err := d.sink.root.MkdirAll(path.Dir(assetName(name)), 0o700); err != nil {
		return err
	}
	if from.Link(file, path.Join(within, assetName(name))) == nil {
		d.sink.note(assetName(name))
		return d.writeSidecar(name, asset.Sidecar)
	}
	f, err := from.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	asset.Size, asset.Content = info.Size(), f
	return d.WriteAsset(asset)
}

// A directorySink writes the files into a directory. Each is written under another name and renamed when it is durable.
type directorySink struct {
	root    *os.Root
	changed map[string]bool // directories whose entries are not durable yet
}

// unfinished is the name of the file that is being written.
const unfinished = ".unfinished"

func (s *directorySink) write(name string, size int64, content io.Reader) error {
	if err := s.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := s.root.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	if err == nil {
		err = checkSize(name, size, n)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, s.root.Remove(unfinished))
	}
	s.note(name)
	return s.root.Rename(unfinished, name)
}

// note remembers that the directories above a file have changed.
func (s *directorySink) note(name string) {
	if s.changed == nil {
		s.changed = map[string]bool{".": true}
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		s.changed[dir] = true
	}
}

func (s *directorySink) writeBytes(name string, content []byte) error {
	return s.write(name, int64(len(content)), bytes.NewReader(content))
}

// sync makes the names of all files durable.
func (s *directorySink) sync() error {
	for _, name := range slices.Sorted(maps.Keys(s.changed)) {
		f, err := s.root.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	clear(s.changed)
	return nil
}

func (s *directorySink) close() error {
	return errors.Join(s.sync(), s.root.Close())
}
