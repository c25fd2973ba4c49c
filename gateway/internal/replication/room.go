package replication

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"lectern/internal/diskspace"
)

// copySizeHeader says in the answer with a copy how long the whole store is.
const copySizeHeader = "Lectern-Copy-Size"

// AnnounceCopy says in the headers of an answer how long the store is that is copied, or of which a part is copied.
func AnnounceCopy(h http.Header, size int64) { h.Set(copySizeHeader, strconv.FormatInt(size, 10)) }

// announcedSize returns how long a copy may be.
func announcedSize(h http.Header) (int64, error) {
	size, err := strconv.ParseInt(h.Get(copySizeHeader), 10, 64)
	if err != nil || size < 0 {
		return 0, errors.New(
			"the origin does not say how long the copy is: it may be of an older version, which has to be replaced first")
	}
	return size, nil
}

// errTooLong is the error of a copy that does not end where the origin said.
var errTooLong = fmt.Errorf("%w: the copy is longer than the origin has said", ErrDamaged)

// spareSpace is how many bytes of the disk are left free by what comes from an origin.
const spareSpace = 64 << 20

// requireSpace returns an error if the disk of a directory has no room for so many bytes.
func requireSpace(dir *os.File, bytes int64) error {
	if left := available(dir); left-spareSpace < bytes {
		return fmt.Errorf("%d bytes are to come from the origin, and the disk of %s has %d left, of which %d are to stay free", bytes, dir.Name(), left, spareSpace)
	}
	return nil
}

// available returns how much room there is on the disk of a directory. Tests replace it.
var available = diskspace.Available
