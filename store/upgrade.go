package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"lectern/internal/durable"
	"lectern/store/internal/format"
)

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
	return fmt.Sprintf("%s; %s is the store as it was before. To go back to the former version of Lectern, stop the server and put this copy in the place of the store: "+
		"what is written from now on is then lost. Remove the copy once you are sure that you will not go back", text, u.Copy)
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

// plannedUpgrade returns the upgrade that the file needs. From equals To if it needs none. kept says that the copy is there already, from
// an upgrade that was interrupted. The error says why the file cannot be opened: its format is newer, or there is no space for the copy.
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
	if free := available(f.db().handle); free < size {
		return u, false, fmt.Errorf("upgrade %s from format %d to format %d: there is no space for a copy of it as it is: the copy takes %d bytes, and %d are free; "+
			"make room, or start once without the copy (serve --no-upgrade-copy)", f.path, u.From, u.To, size, free)
	}
	return u, false, nil
}

// upgradeCopyPath returns the path for the copy of the file in its format: one that does not exist, or that of a copy of this same state.
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
