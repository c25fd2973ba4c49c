package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"lectern/internal/ctxio"
	"lectern/jsontree"
)

// An Asset is the content of an uploaded file, or of one of its formats.
type Asset struct {
	Name string // such as photo_4fae0314d0.png: hash and extension of the file
	Size int64

	// Sidecar is the row of the file as Strapi had it, and for a format what the row says about it. It is nil if
	// the archive has none, as those of early releases.
	Sidecar *jsontree.Object

	Content io.Reader // valid until the function that got the Asset returns; ends with the context
}

// FormatSidecar returns the Sidecar of a format: what the row of its file says about the format, and which file it
// belongs to.
func FormatSidecar(file *jsontree.Object, name string, format *jsontree.Object) *jsontree.Object {
	sidecar := jsontree.NewObjectOf(len(format.Keys) + 3)
	for _, key := range format.Keys {
		sidecar.Set(key, format.Value(key))
	}
	sidecar.Set("type", name)
	sidecar.Set("id", file.Value("id"))
	sidecar.Set("mainHash", file.Value("hash"))
	return sidecar
}

// Assets calls do for every asset, in the order of the archive, until it returns an error. do need not read the
// content. A name is a relative path that does not lead upwards.
func (a *Archive) Assets(ctx context.Context, do func(Asset) error) error {
	visit := func(name string, size int64, content io.Reader) error {
		if partOf(name) != assets {
			return nil
		}
		asset := Asset{Name: strings.TrimPrefix(name, string(assets)+"/"), Size: size, Content: content}
		var err error
		if asset.Sidecar, err = a.sidecar(asset.Name); err != nil {
			return err
		}
		return do(asset)
	}
	if a.packed != nil {
		return a.packed.each(ctx, visit)
	}
	return a.eachFile(ctx, visit)
}

// sidecar reads the JSON file about an asset, if there is one.
func (a *Archive) sidecar(name string) (*jsontree.Object, error) {
	name = sidecarName(name)
	f, err := a.lines.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o, err := readObject(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

// eachFile calls do for every asset of an unpacked archive.
func (a *Archive) eachFile(ctx context.Context, do func(name string, size int64, content io.Reader) error) error {
	return fs.WalkDir(a.lines.FS(), string(assets), func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == string(assets) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		f, err := a.lines.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return do(name, info.Size(), ctxio.NewReader(ctx, f))
	})
}
