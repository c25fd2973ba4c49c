package movein

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lectern/strapi/archive"
)

// A source is what a project is made from: a Strapi project, an archive, or both.
type source struct {
	tree    string           // directory of a Strapi project; "" if there is none
	archive *archive.Archive // nil if there is none
	path    string           // of the archive
}

// paths returns the directory of the Strapi project and the path of the archive that options name. Either may be "".
func paths(o Options) (tree, archivePath string, err error) {
	info, err := os.Stat(o.Source)
	if err != nil {
		return "", "", err
	}
	isDir := func(name string) bool {
		i, err := os.Stat(filepath.Join(o.Source, name))
		return err == nil && i.IsDir()
	}
	switch {
	case info.IsDir() && (isDir("schemas") || isDir("entities")):
		archivePath = o.Source
	case info.IsDir():
		return o.Source, o.Archive, nil
	default:
		archivePath = o.Source
	}
	if o.Archive != "" {
		return "", "", fmt.Errorf("%s is an archive itself; --archive is for the directory of a Strapi project",
			o.Source)
	}
	return "", archivePath, nil
}

// openArchive opens the archive of a source. temp is where it may unpack parts of it.
func (s *source) openArchive(ctx context.Context, key, temp string) (err error) {
	if s.path == "" {
		return nil
	}
	if s.archive, err = archive.Open(ctx, s.path, archive.Options{Key: key, Dir: temp}); err != nil {
		return err
	}
	if strings.HasPrefix(s.archive.Metadata.Version, "4.") || strings.HasPrefix(s.archive.Metadata.Version, "3.") {
		return errors.Join(fmt.Errorf("%s is from Strapi %s; upgrade that project to Strapi 5 first, and export again",
			s.path, s.archive.Metadata.Version), s.close())
	}
	return nil
}

func (s *source) close() error {
	if s.archive == nil {
		return nil
	}
	return s.archive.Close()
}

// identify returns a text that identifies a source, so that a later run can tell whether it goes on with the same one:
// sizes and times of its files, and a hash of how the archive begins. A run in another way goes on with nothing.
func (s *source) identify(way string) (string, error) {
	h := sha256.New()
	io.WriteString(h, way)
	for _, root := range []string{s.tree, s.path} {
		if root == "" {
			continue
		}
		if err := identifyPath(h, root); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// identifiedHead is how many bytes of an archive are hashed.
const identifiedHead = 1 << 20

func identifyPath(h io.Writer, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".tmp" ||
			d.Name() == ".cache") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%d\x00%d\n", rel, info.Size(), info.ModTime().UnixNano())
		if path != root {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(h, io.LimitReader(f, identifiedHead))
		return err
	})
}
