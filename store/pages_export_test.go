package store

import (
	"encoding/binary"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
	"lectern/store/internal/pages"
)

// PagesWritten calls write, which must commit one transaction, and returns how many pages of 4 KiB the transaction
// wrote for each bucket: its leaves, and under its name with a "+" the branches above them. The other keys are "free",
// the list of free pages, "root", the tree of all buckets, and "meta".
func (s *Store) PagesWritten(write func() error) (map[string]int, error) {
	before, err := s.allPages()
	if err != nil {
		return nil, err
	}
	if err := write(); err != nil {
		return nil, err
	}
	after, err := s.allPages()
	if err != nil {
		return nil, err
	}
	written := map[string]int{"meta": 1}
	for id, use := range after {
		if before[id] != use {
			written[use.name] += use.pages
		}
	}
	return written, nil
}

type pageUse struct {
	name  string
	pages int
	sum   uint32 // of the bytes of the page
}

// allPages returns the pages in use, by number.
func (s *Store) allPages() (map[uint64]pageUse, error) {
	use := map[uint64]pageUse{}
	err := s.db().View(func(tx *bolt.Tx) error {
		f := pages.Mapped(tx.DB().Info().Data, int(tx.Size()))
		size := uint64(tx.DB().Info().PageSize)
		order := binary.NativeEndian
		var walk func(id uint64, name string)
		walk = func(id uint64, name string) {
			p := f[id*size:]
			n := 1 + int(order.Uint32(p[12:]))
			leaf, free := order.Uint16(p[8:]) == 2, order.Uint16(p[8:]) == 16
			named := name
			if !leaf && !free {
				named += "+"
			}
			use[id] = pageUse{named, n, crc32.ChecksumIEEE(p[:uint64(n)*size])}
			for i := 0; !leaf && !free && i < int(order.Uint16(p[10:])); i++ {
				walk(order.Uint64(p[16+16*i+8:]), name)
			}
		}
		root := tx.Cursor().Bucket().RootPage()
		walk(uint64(root), "root")
		for _, n := range format.BucketNames {
			if b := tx.Bucket(n); b != nil && b.RootPage() != 0 {
				walk(uint64(b.RootPage()), string(n))
			}
		}
		meta, _ := pages.NewFile(f, int(size), nil).Meta(uint64(tx.ID()))
		if meta.Freelist != ^uint64(0) {
			walk(meta.Freelist, "free")
		}
		return nil
	})
	return use, err
}
