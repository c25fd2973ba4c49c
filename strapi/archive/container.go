package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"

	"lectern/internal/ctxio"
)

// A container is a file with an archive: tar, within gzip if compressed, within a cipher if encrypted.
type container struct {
	file *os.File
	size int64
	key  string

	encrypted, compressed bool
	cipher                cipher.Block // if encrypted
}

// openContainer opens a file and finds out its kind by its first bytes.
func openContainer(name, key string) (*container, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	c := &container{file: f, key: key}
	if err := c.detect(strings.HasSuffix(name, ".enc")); err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

// detect finds out whether the file is compressed and encrypted; named says that its name claims that it is encrypted.
func (c *container) detect(named bool) error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is %s; name a file or a directory", kindOf(info.Mode()))
	}
	if c.size = info.Size(); c.size == 0 {
		return errors.New("the file is empty")
	}
	head := make([]byte, tarBlock)
	n, err := c.file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if !named {
		if c.compressed = isGzip(head[:n]); c.compressed || isTar(head[:n]) {
			return nil
		}
	}
	if bytes.HasPrefix(head[:n], []byte("SQLite format 3\x00")) {
		return errors.New("the file is an SQLite database; make an archive of it with `strapi export` in the " +
			"directory of its Strapi project")
	}
	c.encrypted = true
	if c.key == "" {
		return ErrKeyMissing
	}
	if c.size%aes.BlockSize != 0 {
		return fmt.Errorf("the file is truncated, or it is no archive of `strapi export`: "+
			"an encrypted archive has a multiple of %d bytes", aes.BlockSize)
	}
	if c.cipher, err = newCipher(c.key); err != nil {
		return err
	}
	decrypt(c.cipher, head[:n])
	if c.compressed = isGzip(head[:n]); !c.compressed && !isTar(head[:n]) {
		return ErrKey
	}
	return nil
}

const tarBlock = 512

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) }

func isTar(head []byte) bool { return len(head) >= 262 && string(head[257:262]) == "ustar" }

// Bounds on what a container may expand to. Lines of JSON compress to a twentieth; only a file that is made to do harm
// exceeds the bounds.
const (
	freeBytes    = 256 << 20 // allowed whatever the size of the file is
	maxRatio     = 200
	freeEntries  = 10_000
	bytesAnEntry = 32 // least bytes that each further entry takes in the file
)

// each calls do for every plain file of the container, with its name and content, in the order of the container. It
// returns nil only if the container is intact to its end.
func (c *container) each(ctx context.Context, do func(name string, size int64, content io.Reader) error) error {
	raw, err := c.open(ctx)
	if err != nil {
		return err
	}
	bound := &bounded{r: raw, left: freeBytes + maxRatio*c.size}
	entries := freeEntries + c.size/bytesAnEntry
	for files := tar.NewReader(bound); ; {
		h, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return damaged(err)
		}
		if entries--; entries < 0 {
			return errors.New("the archive has far more entries than a file of its size can hold; it is made to do harm")
		}
		name, err := plainFile(h)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := do(name, h.Size, damagedReader{files}); err != nil {
			return err
		}
	}
	// The checksum of gzip and the padding of the cipher follow the end of the tar file.
	_, err = io.Copy(io.Discard, bound)
	return damaged(err)
}

// plainFile returns the name of an entry, and an error if the entry is not allowed. The name is empty for a directory.
func plainFile(h *tar.Header) (string, error) {
	name, err := cleanName(h.Name)
	if err != nil {
		return "", err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		if isSparse(h) {
			return "", fmt.Errorf("%s is a file with holes, which no archive has", name)
		}
		return name, nil
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return "", nil
	}
	kind := kindOf(h.FileInfo().Mode())
	if h.Typeflag == tar.TypeLink {
		kind = "a hard link"
	}
	return "", fmt.Errorf("%s is no plain file but %s, which no archive has", name, kind)
}

// isSparse reports whether the content of an entry is longer than what the tar file holds of it.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// open returns a reader of the tar file.
func (c *container) open(ctx context.Context) (io.Reader, error) {
	r := ctxio.NewReader(ctx, bufio.NewReaderSize(io.NewSectionReader(c.file, 0, c.size), 256<<10))
	if c.encrypted {
		r = &decrypter{r: r, block: c.cipher, left: c.size, buf: make([]byte, 4096*aes.BlockSize)}
	}
	if !c.compressed {
		return r, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, damaged(err)
	}
	return z, nil
}

// bounded reads from r until it has read more than allowed.
type bounded struct {
	r    io.Reader
	left int64 // bytes that may still be read
}

var errBomb = errors.New("the archive expands to far more than a file of its size can hold; it is made to do harm")

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errBomb
	}
	return n, err
}

// damaged says of an error while reading an archive that the file is damaged, unless the error has another cause.
func damaged(err error) error {
	var failed *fs.PathError
	switch {
	case err == nil, errors.Is(err, errBomb), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded), errors.As(err, &failed):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the file is truncated: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("the file is damaged: %w", err)
}

// damagedReader is a reader whose errors say that the file is damaged.
type damagedReader struct{ r io.Reader }

func (d damagedReader) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(err)
	}
	return n, err
}

// unpack writes everything but the assets of an archive file to a temporary directory.
func (a *Archive) unpack(ctx context.Context, name string, o Options) (err error) {
	if a.packed, err = openContainer(name, o.Key); err != nil {
		return err
	}
	if a.temp, err = os.MkdirTemp(o.Dir, "archive-"); err != nil {
		return err
	}
	if a.lines, err = os.OpenRoot(a.temp); err != nil {
		return err
	}
	return a.packed.each(ctx, func(name string, _ int64, content io.Reader) error {
		a.add(name)
		if p := partOf(name); p == assets || p == "" && name != metadataFile {
			return nil
		}
		return a.unpackFile(name, content)
	})
}

func (a *Archive) unpackFile(name string, content io.Reader) error {
	if err := a.lines.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := a.lines.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is in the archive twice", name)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
