package store

import (
	"bytes"
	"fmt"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
	"lectern/store/internal/pages"
)

// Format is the number of the file format that this version of Lectern writes. Open upgrades files of older formats, and refuses files
// of newer ones. No version was released yet, so there are no older formats.
//
// Whoever changes the format after a release increases Format, sets firstReader, and adds to known.upgrades how a file of the format
// before is changed.
const Format = uint64(1)

// firstReader is the first release of Lectern that reads Format. Each file names the one for its format, so that an older Lectern, which
// cannot read the file, can say what it needs.
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

// formatOf reads the format of a state of a file, given the tree of its buckets. It checks no other values, since a newer format may
// have some that this version cannot check.
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
		"To go on with this version, put back a backup or the copy that the upgrade kept (%s)", path, f.number, known.newest, needs, filepath.Base(upgradeCopy(path, known.newest)))
}
