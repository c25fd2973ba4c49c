package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A part is one kind of content of an archive, named as its directory.
type part string

const (
	schemas       part = "schemas"
	entities      part = "entities"
	links         part = "links"
	configuration part = "configuration"
	assets        part = "assets/uploads"
	sidecars      part = "assets/metadata" // JSON about the assets
)

// partOf returns the part that a file belongs to, by its name within the archive. It is empty for a file that belongs
// to none.
func partOf(name string) part {
	for _, p := range []part{schemas, entities, links, configuration} {
		if path.Dir(name) == string(p) && path.Ext(name) == ".jsonl" {
			return p
		}
	}
	for _, p := range []part{assets, sidecars} {
		if strings.HasPrefix(name, string(p)+"/") {
			return p
		}
	}
	return ""
}

// add notes a file of the archive.
func (a *Archive) add(name string) {
	switch p := partOf(name); {
	case name == metadataFile, p == assets, p == sidecars:
	case p != "":
		a.parts[p] = append(a.parts[p], name)
	case len(a.Ignored) < maxIgnored:
		a.Ignored = append(a.Ignored, name)
	}
}

const maxIgnored = 100

// sortParts puts the files of each part into order: entities_2 before entities_10.
func (a *Archive) sortParts() {
	for _, names := range a.parts {
		slices.SortFunc(names, func(x, y string) int {
			return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		})
	}
}

// openDirectory opens a directory with an unpacked archive. Like Open it refuses an archive that has anything but
// directories and plain files.
func (a *Archive) openDirectory(ctx context.Context, dir string) (err error) {
	if a.lines, err = os.OpenRoot(dir); err != nil {
		return err
	}
	return fs.WalkDir(a.lines.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is no plain file but %s, which no archive has", name, kindOf(d.Type()))
		}
		a.add(name)
		return nil
	})
}

// kindOf names the kind of a file that is not plain.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a special file"
}

// errEscape is the error for a file that would lie outside of the archive's directory.
var errEscape = errors.New("the path leads out of the archive")

// cleanName returns the name of a file in an archive with slashes and without "./". Strapi on Windows wrote
// backslashes.
func cleanName(name string) (string, error) {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if !filepath.IsLocal(clean) || strings.ContainsRune(clean, 0) {
		return "", fmt.Errorf("file %q: %w", name, errEscape)
	}
	return clean, nil
}
