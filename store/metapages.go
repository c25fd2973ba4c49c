package store

import (
	"errors"
	"io"
	"os"

	"lectern/store/internal/pages"
)

// Reasons not to open a file.
var (
	errCutOff = errors.New("the file is shorter than what was written into it, as one is that was copied in part; put back a whole one, from a backup")
	errNewest = errors.New("the page that says where its newest state lies is damaged; put back a whole one, from a backup, or save what can be read with salvage")
)

// checkComplete returns an error for a bbolt file that is shorter than its newest meta page says, or whose newest meta page is damaged:
// bbolt would silently open the state before the last write. bbolt notices other damage itself.
func checkComplete(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // bbolt will return the error
	}
	defer f.Close()
	m, err := newestMeta(f)
	if err != nil { // read again: another process may have been writing that page
		m, err = newestMeta(f)
	}
	if err != nil || m.PageSize == 0 {
		return err
	}
	// Read the length last: if another process uses the file, the file grows before its meta pages say so.
	if info, err := f.Stat(); err == nil && uint64(info.Size()) < m.Pages*uint64(m.PageSize) {
		return errCutOff
	}
	return nil
}

// newestMeta reads the newer of the two meta pages of a file. The error is errNewest if the newer page is damaged. A loss of power does
// not damage it, since a disk writes its few bytes at once. If both pages are damaged, the result is zero.
func newestMeta(f io.ReaderAt) (pages.Meta, error) {
	m, valid := readMeta(f, 0)
	if !valid {
		return metaWithout(f, m)
	}
	other, otherValid := readMeta(f, int64(m.PageSize))
	switch {
	case otherValid && other.Tx > m.Tx:
		return other, nil
	case !otherValid && other.Tx != m.Tx-1:
		return m, errNewest
	}
	return m, nil
}

// metaWithout is newestMeta for a file whose first meta page is damaged. It looks for the second one under all page sizes.
func metaWithout(f io.ReaderAt, first pages.Meta) (pages.Meta, error) {
	for size := int64(1 << 10); size <= 1<<16; size *= 2 {
		if m, valid := readMeta(f, size); valid {
			if first.Tx != m.Tx-1 {
				return m, errNewest
			}
			return m, nil
		}
	}
	return pages.Meta{}, nil
}

// readMeta reads the meta page at an offset; valid is false if it is damaged.
func readMeta(r io.ReaderAt, at int64) (m pages.Meta, valid bool) {
	var page [pages.MetaLen]byte
	if _, err := r.ReadAt(page[:], at); err != nil {
		return pages.Meta{}, false
	}
	return pages.ReadMeta(page[:])
}
