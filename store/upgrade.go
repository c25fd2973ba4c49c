package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"lectern/internal/durable"
	"lectern/store/internal/diskfile"
	"lectern/store/internal/format"
	"lectern/store/internal/pages"
)

// Format is the number of the file format that this version of Lectern writes. Open upgrades files of older formats,
// and refuses files of newer ones. No version was released yet, so there are no older formats.
//
// Whoever changes the format after a release increases Format, sets firstReader, and adds to known.upgrades how a file
// of the format before is changed.
const Format = uint64(1)

// firstReader is the first release of Lectern that reads Format. Each file names the one for its format, so that an
// older Lectern, which cannot read the file, can say what it needs.
const firstReader = release(1 << 32)

// known is what this version of Lectern knows about file formats. Only tests change it.
var known = formats{newest: Format, reader: firstReader}

type formats struct {
	newest   uint64
	reader   release                // the first that reads the newest format
	upgrades []func(*bolt.Tx) error // by the format that each changes to the next, from 1 on
}

// A release is the version of a release of Lectern, as one number: major << 32 | minor << 16 | patch.
type release uint64

func (r release) String() string {
	return fmt.Sprintf("%d.%d.%d", r>>32, r>>16&0xFFFF, r&0xFFFF)
}

// A fileFormat is what a file says about its format.
type fileFormat struct {
	number uint64  // 0 if the file says nothing
	reader release // the first that reads the format; 0 if the file does not say
}

// formatOf reads the format of a state of a file, given the tree of its buckets. It checks no other values, since a
// newer format may have some that this version cannot check.
func formatOf(root *pages.Tree) (found fileFormat, err error) {
	meta, err := root.Bucket(format.Meta.Name())
	if meta == nil || err != nil {
		return found, err
	}
	if found.number, err = checkedNumber(meta, format.KeyFormat); err != nil {
		return found, err
	}
	reader, err := checkedNumber(meta, format.KeyReader)
	found.reader = release(reader)
	return found, err
}

// checkedNumber reads a counter of the bucket meta, 0 if it is not there, and checks its value and no other.
func checkedNumber(meta *pages.Tree, key []byte) (uint64, error) {
	c := meta.Cursor()
	k, v := c.Seek(key)
	if c.Err() != nil || !bytes.Equal(k, key) {
		return 0, c.Err()
	}
	if err := format.CheckValue(format.Meta, k, v); err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return format.Number(v), nil
}

// refuseNewer returns an error if this version of Lectern does not know the format of the file at path.
func (f fileFormat) refuseNewer(path string) error {
	if f.number <= known.newest {
		return nil
	}
	needs := "a newer version of Lectern"
	if f.reader != 0 {
		needs = fmt.Sprintf("Lectern %s or newer", f.reader)
	}
	return fmt.Errorf("open store %s: it has format %d, and this version of Lectern knows the formats up to %d; it needs %s. "+
		"To go on with this version, put back a backup or the copy that the upgrade kept (%s)", path, f.number,
		known.newest, needs, filepath.Base(upgradeCopy(path, known.newest)))
}

// An Upgrade is the change of a file from an older format to the present one.
type Upgrade struct {
	From, To uint64
	Copy     string // path of the file as it was; "" if no copy is kept
}

// String tells an operator what is done, and the way back.
func (u Upgrade) String() string {
	text := fmt.Sprintf("the store is brought from format %d to format %d", u.From, u.To)
	if u.Copy == "" {
		return text + "; no copy of it is kept"
	}
	return fmt.Sprintf("%s; %s is the store as it was before. To go back to the former version of Lectern, "+
		"stop the server and put this copy in the place of the store: what is written from now on is then lost. "+
		"Remove the copy once you are sure that you will not go back", text,
		u.Copy)
}

// upgradeCopy returns the path of the copy of a store as it was in an older format.
func upgradeCopy(path string, format uint64) string { return fmt.Sprintf("%s.format-%d", path, format) }

// upgrade carries out an upgrade in one transaction, after it has made the copy unless that is kept already.
func (f *file) upgrade(u Upgrade, kept bool, opts Options) error {
	if u.Copy != "" && !kept {
		if err := f.copyTo(u.Copy); err != nil {
			return fmt.Errorf("keep a copy of the store before its upgrade from format %d: %w", u.From, err)
		}
	}
	if opts.Upgrading != nil {
		opts.Upgrading(u)
	}
	err := f.update(func(tx *bolt.Tx) error {
		for _, toNext := range known.upgrades[u.From-1:] {
			if err := toNext(tx); err != nil {
				return err
			}
		}
		return known.putInto(f.meta(tx))
	})
	if err != nil {
		return fmt.Errorf("upgrade from format %d: %w", u.From, err)
	}
	return nil
}

// putInto says in a file that it has the newest format.
func (k formats) putInto(meta *tree) error {
	return errors.Join(putNumber(meta, format.KeyFormat, k.newest), putNumber(meta, format.KeyReader, uint64(k.reader)))
}

// plannedUpgrade returns the upgrade that the file needs. From equals To if it needs none. kept says that the copy is
// there already, from an upgrade that was interrupted. The error says why the file cannot be opened: its format is
// newer, or there is no space for the copy.
func (f *file) plannedUpgrade(opts Options) (u Upgrade, kept bool, err error) {
	var found fileFormat
	var size int64
	if err := f.read(func(tx *bolt.Tx) (err error) {
		size = tx.Size()
		if found, err = formatOf(rootTree(tx, mapped(tx, nil))); err != nil {
			err = f.corrupt(err)
		}
		return err
	}); err != nil {
		return u, false, err
	}
	u = Upgrade{From: found.number, To: known.newest}
	if found.number == 0 || found.number >= known.newest { // 0: a file that is being made, or no store
		return Upgrade{}, false, found.refuseNewer(f.path)
	}
	if opts.NoUpgradeCopy {
		return u, false, nil
	}
	if u.Copy, kept, err = f.upgradeCopyPath(u.From); err != nil || kept {
		return u, kept, err
	}
	if free := diskfile.Available(f.db().handle); free < size {
		return u, false, fmt.Errorf(
			"upgrade %s from format %d to format %d: there is no space for a copy of it as it is: "+
				"the copy takes %d bytes, and %d are free; make room, "+
				"or start once without the copy (serve --no-upgrade-copy)", f.path, u.From, u.To, size, free)
	}
	return u, false, nil
}

// upgradeCopyPath returns the path for the copy of the file in its format: one that does not exist, or that of a copy
// of this same state.
func (f *file) upgradeCopyPath(format uint64) (path string, kept bool, err error) {
	state, err := newestMeta(f.db().handle)
	if err != nil {
		return "", false, err
	}
	first := upgradeCopy(f.path, format)
	path = first
	for n := 2; ; n++ {
		there, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, false, nil
		}
		if err != nil {
			return "", false, err
		}
		other, err := newestMeta(there)
		if err := there.Close(); err != nil {
			return "", false, err
		}
		if err == nil && other == state {
			return path, true, nil
		}
		path = first + "-" + strconv.Itoa(n)
	}
}

// copyTo copies the file, as it is, to a path.
func (f *file) copyTo(path string) error {
	db := f.db()
	size, err := db.size()
	if err != nil {
		return err
	}
	return durable.WriteFile(path, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(db.handle, 0, size))
		return err
	})
}
