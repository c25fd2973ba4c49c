// Package archive reads and writes the archives of `strapi export`.
//
// An archive is a tar file, as a rule compressed with gzip and often encrypted on top of that, or a directory with the
// same files. It holds five parts: schemas, entities, links, configuration and assets, and a file with metadata. The
// first four parts are JSON Lines, spread over files such as entities/entities_00001.jsonl.
//
//	a, err := archive.Open(ctx, "export.tar.gz.enc", archive.Options{Key: "secret", Dir: staging})
//	defer a.Close()
//	for e, err := range a.Entities(ctx) { … }
//
// Open reads the archive to its end before it returns, and refuses an archive that is damaged, truncated, encrypted
// with another key, or made to do harm. After that the lines can be read as often as necessary, in any order of the
// parts, also at the same time. The lines of a part come in the order of the archive. An error in one line names its
// file and number.
//
// Memory is constant. A compressed file cannot be read from the middle, and the metadata that say whether it is
// complete stand at its end. So the one pass of Open unpacks everything but the assets to a temporary directory, which
// Close removes; 100,000 entities with 500,000 links take 180 MB there. Each pass over the assets reads the archive
// again.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"lectern/internal/jsonlines"
	"lectern/jsontree"
)

var (
	// ErrKeyMissing is the error of Open for an encrypted archive without a key.
	ErrKeyMissing = errors.New(
		"the archive is encrypted, and needs the key that it was exported with (or the file is no archive of `strapi export`)")

	// ErrKey is the error of Open for a key that does not decrypt the archive.
	ErrKey = errors.New(
		"the key is not the one that the archive was exported with, or the file is no archive of `strapi export`")

	// ErrIncomplete is the error of Open for an archive without metadata, which are written last.
	ErrIncomplete = errors.New(
		"there is no metadata.json: the archive was not written to its end, or it is no archive of `strapi export`")
)

// Options are the options of Open.
type Options struct {
	Key string // decrypts the archive; ignored if it is not encrypted
	Dir string // where Open makes its temporary directory; empty: the default of the system
}

// Metadata says where an archive comes from.
type Metadata struct {
	CreatedAt string // when it was made, such as 2026-11-22T13:13:49.524Z
	Version   string // version of the Strapi that made it, such as 5.54.0
}

// An Archive is an open archive. Its methods may be called at the same time.
type Archive struct {
	Metadata Metadata

	// Ignored names files that are no part of an archive, at most 100 of them.
	Ignored []string

	lines  *os.Root // directory with metadata, the parts of lines, and the JSON files of assets
	parts  map[part][]string
	packed *container // where the assets are; nil if they are in lines as well
	temp   string     // directory to remove when the archive is closed, if any
}

// Open opens the archive at path: a file, or a directory with an unpacked archive.
func Open(ctx context.Context, path string, o Options) (*Archive, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	a := &Archive{parts: map[part][]string{}}
	if info.IsDir() {
		err = a.openDirectory(ctx, path)
	} else {
		err = a.unpack(ctx, path, o)
	}
	if err == nil {
		err = a.readMetadata()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open archive %s: %w", path, err), a.Close())
	}
	a.sortParts()
	return a, nil
}

// Close closes the archive and removes its temporary directory. No stream may be in use.
func (a *Archive) Close() error {
	var errs []error
	if a.lines != nil {
		errs = append(errs, a.lines.Close())
	}
	if a.packed != nil {
		errs = append(errs, a.packed.file.Close())
	}
	if a.temp != "" {
		errs = append(errs, os.RemoveAll(a.temp))
	}
	return errors.Join(errs...)
}

// metadataFile is the last file of an archive.
const metadataFile = "metadata.json"

func (a *Archive) readMetadata() error {
	f, err := a.lines.Open(metadataFile)
	if errors.Is(err, os.ErrNotExist) {
		return ErrIncomplete
	}
	if err != nil {
		return err
	}
	defer f.Close()
	o, err := readObject(f)
	if err != nil {
		return fmt.Errorf("%s: %w", metadataFile, err)
	}
	a.Metadata.CreatedAt = o.Text("createdAt")
	if strapi, ok := o.Value("strapi").(*jsontree.Object); ok {
		a.Metadata.Version = strapi.Text("version")
	}
	if a.Metadata.Version == "" {
		return fmt.Errorf("%s does not say which Strapi wrote the archive", metadataFile)
	}
	return nil
}

// maxLine bounds a line, and a file that holds one JSON value. It is far above what Strapi takes as one request.
const maxLine = 64 << 20

// readObject reads a JSON object that is not longer than maxLine.
func readObject(r io.Reader) (*jsontree.Object, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxLine+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxLine {
		return nil, fmt.Errorf("longer than %d MB", maxLine>>20)
	}
	return jsonlines.Object(text)
}
