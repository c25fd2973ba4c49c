package admin

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"lectern/internal/ctxio"
	"lectern/store"
)

// A backup is a tar archive of, in this order,
//
//	lectern-backup.json   backupHead
//	content.db            the store
//	uploads/…             the uploaded files
//	checksums.json        the SHA-256 of each of the files before it, by name
//
// The checksums at the end show whether a backup is cut off or damaged.
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
	// Position is that of the store in its log, and Time is when the last entry before it was made.
	Position string    `json:"position"`
	Time     time.Time `json:"time"`
}

// Backup implements Project. It copies the store from one snapshot and then the uploads, of which none is removed
// meanwhile. So the backup holds each file that its documents name. Backup fails if the store is damaged.
func (l *Local) Backup(ctx context.Context, w io.Writer) error { return l.takeBackup(ctx, w, true) }

// base writes a backup without the uploads.
func (l *Local) base(ctx context.Context, w io.Writer) error { return l.takeBackup(ctx, w, false) }

func (l *Local) takeBackup(ctx context.Context, w io.Writer, uploads bool) error {
	reserve, release, err := l.Reserve(ctx)
	if err != nil {
		return err
	}
	defer release()
	err = l.View(ctx, func(c Content) error { return l.backup(ctx, c, w, reserve, uploads) })
	if err == nil {
		l.backedUp.Store(time.Now().UnixMilli())
	}
	return err
}

// LastBackup returns when the last backup of this process was complete; the zero Time if there was none.
func (l *Local) LastBackup() time.Time {
	if at := l.backedUp.Load(); at != 0 {
		return time.UnixMilli(at)
	}
	return time.Time{}
}

// verifiedPerByte is how many bytes of a store can be verified with one byte of memory.
const verifiedPerByte = 2 << 10

// backup writes a backup of one Content.
func (l *Local) backup(ctx context.Context, c Content, w io.Writer, reserve func(bytes int64) error,
	uploads bool) error {
	if c.Media != nil && uploads {
		if err := c.Media.Recover(ctx); err != nil {
			return err
		}
		defer c.Media.Pin()()
	}
	b := &backupWriter{ctx: ctx, tar: tar.NewWriter(w), sums: map[string]string{}, now: time.Now()}
	err := c.Store.View(func(s *store.Snapshot) error {
		if err := reserve(s.Size() / verifiedPerByte); err != nil {
			return err
		}
		if err := s.Verify(ctx); err != nil {
			return err
		}
		if err := b.addHead(s, l.Version); err != nil {
			return err
		}
		return b.add(StoreName, s.Size(), s.CopyTo)
	})
	if err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	if c.Media != nil {
		if err := c.Media.Complete(ctx); err != nil {
			return err
		}
	}
	if uploads {
		if err := b.addUploads(l.Data.Join(UploadsName)); err != nil {
			return fmt.Errorf("copy the uploads: %w", err)
		}
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

// addHead adds the head of a backup of a snapshot.
func (b *backupWriter) addHead(s *store.Snapshot, version string) error {
	at, err := s.Position()
	if err != nil {
		return err
	}
	head, err := json.Marshal(
		backupHead{backupFormat, backupVersion, b.now.UTC(), version, at.String(), lastEntryTime(s, at).UTC()})
	if err != nil {
		return err
	}
	return b.add(backupHeadAt, int64(len(head)), copyFrom(bytes.NewReader(head)))
}

// add writes a file of size bytes to the archive and notes its checksum. write writes the contents.
func (b *backupWriter) add(name string, size int64, write func(io.Writer) (int64, error)) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: b.now,
		Format: tar.FormatPAX}
	if err := b.tar.WriteHeader(head); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := write(ctxio.NewWriter(b.ctx, io.MultiWriter(b.tar, sum))); err != nil {
		return err
	}
	b.sums[name] = hexSum(sum)
	return nil
}

// addUploads adds the regular files below dir to the archive. It skips files that are removed meanwhile.
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
		if err == nil && e.IsDir() && isHidden(name) {
			return fs.SkipDir // skip incomplete uploads
		}
		if err != nil || !e.Type().IsRegular() || isHidden(name) {
			return err
		}
		f, err := root.Open(name)
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
		return b.add(path.Join(UploadsName, name), info.Size(), copyFrom(io.LimitReader(f, info.Size())))
	})
}

func copyFrom(r io.Reader) func(io.Writer) (int64, error) {
	return func(w io.Writer) (int64, error) { return io.Copy(w, r) }
}

func hexSum(h hash.Hash) string { return fmt.Sprintf("%x", h.Sum(nil)) }
