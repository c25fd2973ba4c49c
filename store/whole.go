package store

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"
)

// errCutOff is the error of a file of which the end is missing.
var errCutOff = errors.New("the file is shorter than what was written into it, as one is that was copied in part; put back a whole one, from a backup")

// checkWhole looks whether a file of bbolt is as long as its newest meta page says. One that was cut off would not be noticed
// before a page beyond its end is touched in memory, which ends the process. What cannot be told here is left to bbolt.
func checkWhole(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // bbolt says why
	}
	defer f.Close()
	newest, ok := readMeta(f, 0)
	if !ok {
		return nil
	}
	if other, ok := readMeta(f, int64(newest.pageSize)); ok && other.transaction > newest.transaction {
		newest = other
	}
	// The length comes last: another process may be at work on the file, which grows before its meta pages say so.
	if info, err := f.Stat(); err == nil && uint64(info.Size()) < newest.pages*uint64(newest.pageSize) {
		return errCutOff
	}
	return nil
}

// A fileMeta is what a meta page of bbolt says of its file.
type fileMeta struct {
	pageSize           uint32
	pages, transaction uint64
}

// readMeta reads the meta page at an offset, if there is a valid one.
func readMeta(r io.ReaderAt, at int64) (fileMeta, bool) {
	const pageHead, size, sum = 16, 64, 56 // bytes before the meta, of it, and of what its checksum is made of
	var page [pageHead + size]byte
	if _, err := r.ReadAt(page[:], at); err != nil {
		return fileMeta{}, false
	}
	b, order := page[pageHead:], binary.NativeEndian
	h := fnv.New64a()
	h.Write(b[:sum])
	m := fileMeta{pageSize: order.Uint32(b[8:]), pages: order.Uint64(b[40:]), transaction: order.Uint64(b[48:])}
	const magic, version = 0xED0CDAED, 2
	return m, order.Uint32(b) == magic && order.Uint32(b[4:]) == version && order.Uint64(b[sum:]) == h.Sum64()
}
