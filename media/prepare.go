package media

import (
	"context"
	"errors"
	"strconv"

	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/media/images"
)

// A prepared file has all the information that its document needs, and is ready to be stored.
type prepared struct {
	received
	storage   Storage
	ext, hash string
	url       string
	width     int // 0 if it is no image or its size is unknown
	height    int
	formats   []*format
	info      Info
}

// fresh prepares a received file to be stored as a new one, under a new name.
func (l *Library) fresh(r *received, info Info) *prepared {
	f := &prepared{received: *r, info: info, ext: extensionOf(r.name, r.mime), storage: l.storage}
	name := r.name
	if info.name != nil && *info.name != "" {
		name = *info.name
	} else {
		f.info.name = nil
	}
	f.hash = newHash(name)
	f.url = f.storage.URL(f.hash + f.ext)
	return f
}

// replacing prepares a received file to be stored in place of an existing one. With an error, too, the caller must call
// tidy.
func (l *Library) replacing(ctx context.Context, r *received, info Info, old existing) (f *prepared, err error) {
	storage, err := l.storageOf(old.provider)
	if err != nil {
		return nil, err
	}
	f = l.fresh(r, info)
	f.storage, f.hash, f.ext, f.url = storage, old.hash, old.ext, old.url
	if err := l.sameKind(f); err != nil {
		return f, err
	}
	return f, l.examine(ctx, f)
}

// examine reads the size of an image and makes its formats. It does nothing for other files, and for images that cannot
// be decoded.
func (l *Library) examine(ctx context.Context, f *prepared) error {
	file, err := l.dir.root().Open(f.spooled)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := images.Read(file, f.kind.image())
	if p == nil {
		return err
	}
	if p.Format() != "svg" && !p.IsAnimated() && p.Pixels() > l.settings.PixelLimit {
		return apierror.Application("File is not a valid image: it has more than " +
			strconv.FormatInt(l.settings.PixelLimit, 10) + " pixels")
	}
	width, height := p.Size()
	if err == nil && p.Format() != "svg" && !p.IsAnimated() {
		f.formats = formatsOf(l.settings.Breakpoints, width, height)
		err = l.render(ctx, file, p, f.formats)
	}
	if errors.Is(err, images.ErrUndecodable) {
		f.formats = nil
		return nil
	}
	f.width, f.height = width, height
	return err
}

// tidy removes from the spool the formats that were made for a file and not stored; f may be nil.
func (l *Library) tidy(f *prepared) {
	if f == nil {
		return
	}
	for _, x := range f.formats {
		if x.spooled != "" {
			if err := l.spool.remove(x.spooled); err != nil {
				l.failed(err)
			}
		}
	}
}

// stored returns the files to store: the formats, and last the file itself.
func (f *prepared) stored() []Stored {
	var list []Stored
	for _, x := range f.formats {
		ext, mime := f.formatType(x)
		k := f.kind
		if mime != f.mime {
			k.served = mime
		}
		list = append(list, Stored{Name: f.formatName(x) + ext, Spooled: x.spooled, Type: k.served})
	}
	return append(list, Stored{Name: f.hash + f.ext, Spooled: f.spooled, Type: f.kind.served, Active: f.kind.active})
}

func (f *prepared) formatName(x *format) string { return x.name + "_" + f.hash }

// formatType returns extension and media type of a format: those of the file, unless encode chose others.
func (f *prepared) formatType(x *format) (ext, mime string) {
	if x.ext != "" {
		return x.ext, x.mime
	}
	return f.ext, f.mime
}

// newData returns the data for the document of a new file.
func (f *prepared) newData() *jsontree.Object {
	data := jsontree.NewObject()
	data.Set("name", f.name)
	f.measure(data)
	data.Set("formats", f.formatsValue(nil))
	data.Set("hash", f.hash)
	data.Set("ext", f.ext)
	data.Set("url", f.url)
	data.Set("provider", f.storage.Provider())
	f.info.fill(data)
	return data
}

// replacedData returns the fields that change in a document whose file gets another content.
func (f *prepared) replacedData() *jsontree.Object {
	data := jsontree.NewObject()
	data.Set("name", f.name)
	f.measure(data)
	data.Set("formats", f.formatsValue(jsontree.NewObject()))
	f.info.fill(data)
	return data
}

// measure sets the fields that describe the content: its size and type, and width and height of an image.
func (f *prepared) measure(data *jsontree.Object) {
	data.Set("width", nil)
	data.Set("height", nil)
	if f.width > 0 {
		data.Set("width", number(f.width))
		data.Set("height", number(f.height))
	}
	data.Set("mime", f.mime)
	data.Set("size", kilobytes(f.size))
}

func number(n int) jsontree.Number { return jsontree.Number(strconv.Itoa(n)) }

// formatsValue returns the value of the attribute formats; none if the file has no formats.
func (f *prepared) formatsValue(none any) any {
	if len(f.formats) == 0 {
		return none
	}
	name := f.name
	if f.info.name != nil {
		name = *f.info.name
	}
	all := jsontree.NewObject()
	for _, x := range f.formats {
		ext, mime := f.formatType(x)
		o := jsontree.NewObject()
		o.Set("name", x.name+"_"+name)
		o.Set("hash", f.formatName(x))
		o.Set("ext", ext)
		o.Set("mime", mime)
		o.Set("path", nil)
		o.Set("width", number(x.width))
		o.Set("height", number(x.height))
		o.Set("size", kilobytes(x.size))
		o.Set("sizeInBytes", jsontree.Number(strconv.FormatInt(x.size, 10)))
		o.Set("url", f.storage.URL(f.formatName(x)+ext))
		all.Set(x.name, o)
	}
	return all
}

// sameKind refuses new content whose type is not the one that the file's extension stands for.
func (l *Library) sameKind(f *prepared) error {
	byName := typeByExtension(f.ext)
	if byName == "" || byName == unknownType {
		return nil
	}
	file, err := l.dir.root().Open(f.spooled)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.kind, err = kindOfFile(file, f.ext); err != nil {
		return err
	}
	if !f.kind.named {
		return errOtherType
	}
	return l.policy.check(f.name, f.kind)
}
