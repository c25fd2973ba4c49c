package gateway

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"lectern/store"
)

// A backup is a tar archive of, in this order,
//
//	lectern-backup.json   backupHead
//	content.db            the store
//	uploads/…             the uploaded files
//	checksums.json        the SHA-256 of each of the files before it, by name
//
// so that one without its last entry, or with a byte that differs, is not taken for a whole one.
const (
	backupFormat  = "lectern-backup"
	backupVersion = 1
	backupHeadAt  = "lectern-backup.json"
	checksumsAt   = "checksums.json"
)

type backupHead struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	By      string    `json:"by,omitempty"` // version of the program
}

// Backup implements Administration. The store is copied out of one snapshot, and before the uploads: each file that a
// document in it names was there when the snapshot was taken, and is kept until it is copied. A damaged store is not copied.
func (p *Project) Backup(ctx context.Context, w io.Writer) error {
	reserve, release, err := p.reserve(ctx)
	if err != nil {
		return err
	}
	defer release()
	return p.again(ctx, func(e *generation) error { return e.backup(ctx, w, reserve) })
}

// verifiedPerByte is how many bytes of a store need one byte of memory while its pages are verified.
const verifiedPerByte = 2 << 10

func (e *generation) backup(ctx context.Context, w io.Writer, reserve func(bytes int64) error) error {
	if e.media != nil {
		if err := e.media.Recover(ctx); err != nil {
			return err
		}
		defer e.media.Hold()()
	}
	b := &backupWriter{ctx: ctx, tar: tar.NewWriter(w), sums: map[string]string{}, now: time.Now()}
	head, err := json.Marshal(backupHead{backupFormat, backupVersion, b.now.UTC(), e.project.options.Version})
	if err != nil {
		return err
	}
	err = e.store.View(func(s *store.Snapshot) error {
		if err := reserve(s.Size() / verifiedPerByte); err != nil {
			return err
		}
		if err := s.Verify(); err != nil {
			return err
		}
		if err := b.add(backupHeadAt, int64(len(head)), copyFrom(bytes.NewReader(head))); err != nil {
			return err
		}
		return b.add(storeName, s.Size(), s.CopyTo)
	})
	if err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	if err := b.addUploads(e.project.data.join(uploadsName)); err != nil {
		return fmt.Errorf("copy the uploads: %w", err)
	}
	sums, err := json.Marshal(b.sums)
	if err != nil {
		return err
	}
	if err := b.add(checksumsAt, int64(len(sums)), copyFrom(bytes.NewReader(sums))); err != nil {
		return err
	}
	return b.tar.Close()
}

type backupWriter struct {
	ctx  context.Context
	tar  *tar.Writer
	sums map[string]string
	now  time.Time
}

// add writes one file of the archive.
func (b *backupWriter) add(name string, size int64, write func(io.Writer) (int64, error)) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: b.now, Format: tar.FormatPAX}
	if err := b.tar.WriteHeader(head); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := write(&contextWriter{b.ctx, io.MultiWriter(b.tar, sum)}); err != nil {
		return err
	}
	b.sums[name] = hexSum(sum)
	return nil
}

// addUploads writes the regular files below dir. One that is removed while this goes on is passed over.
func (b *backupWriter) addUploads(dir string) error {
	root, err := os.OpenRoot(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && e.IsDir() && name != "." && name[0] == '.' {
			return fs.SkipDir // files on their way in
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := root.Open(filepath.FromSlash(name))
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return b.add(path.Join(uploadsName, name), info.Size(), copyFrom(io.LimitReader(f, info.Size())))
	})
}

func copyFrom(r io.Reader) func(io.Writer) (int64, error) {
	return func(w io.Writer) (int64, error) { return io.Copy(w, r) }
}

func hexSum(h hash.Hash) string { return fmt.Sprintf("%x", h.Sum(nil)) }

// A contextWriter fails once its context has ended.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c *contextWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}

// WriteFile makes the file at path of what write writes, so that there is either all of it or, when write or the disk fails,
// what was there before: it is written beside path, brought to disk and renamed.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	switch there, err := os.Stat(path); {
	case err == nil && there.IsDir():
		return fmt.Errorf("%s is a directory; name a file in it", path)
	case err == nil && !there.Mode().IsRegular(): // a device would be replaced
		return fmt.Errorf("%s is no ordinary file; write to - and redirect that", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // made with mode 0600
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s", filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory makes a rename within a directory durable.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
