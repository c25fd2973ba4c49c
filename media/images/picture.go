package images

import (
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/webp"

	"lectern/internal/anyjpeg"
	"lectern/internal/lenient"
)

// A Picture describes an image file as far as its header tells, before the image is decoded.
type Picture struct {
	format      string // jpeg, png, gif, webp or svg
	width       int    // as stored, before the orientation is applied
	height      int
	orientation int     // EXIF: 1 to 8
	pixelBytes  float64 // memory that decoding takes for each pixel
	animated    bool
	gray        bool
	bareCMYK    bool                     // a JPEG of four components that does not say how to read them
	sampled     bool                     // a JPEG whose sampling only package anyjpeg knows
	profiled    bool                     // it has a colour profile
	icc         struct{ at, size int64 } // where the profile of a WebP file is
}

// ErrUndecodable means that a file looks like an image and cannot be decoded. It is stored as any other file.
var ErrUndecodable = errors.New("the image cannot be decoded")

// SVG is the media type of SVG images.
const SVG = "image/svg+xml"

// pictureFormats maps the media type of a file's content to the format that Read reads.
var pictureFormats = map[string]string{
	"image/jpeg": "jpeg", "image/png": "png", "image/vnd.mozilla.apng": "png", "image/gif": "gif", "image/webp": "webp",
	SVG: "svg",
}

// Read reads the header of an image of a media type. It returns nil for any other type. With ErrUndecodable it returns
// the largest size that the file states.
func Read(file io.ReaderAt, mime string) (*Picture, error) {
	p := &Picture{format: pictureFormats[mime], orientation: 1}
	f := &checkedReader{ReaderAt: file}
	head := func() io.Reader { return io.NewSectionReader(f, 0, math.MaxInt64) }
	var err error
	switch p.format {
	case "":
		return nil, nil
	case "svg":
		p.width, p.height = svgSize(f)
		return p, f.failed
	case "jpeg":
		p.readJPEG(head())
	case "png":
		err = p.readPNG(head)
	case "gif":
		p.width, p.height, err = lenient.GIFSize(head())
		p.pixelBytes = 1 + 4 // one byte of the decoded image, four of the canvas that its first frame is drawn on
	case "webp":
		err = p.readWebP(f)
	}
	switch {
	case f.failed != nil:
		return nil, f.failed
	case err != nil || p.Pixels() == 0:
		return p, ErrUndecodable
	}
	return p, nil
}

// A checkedReader notes whether reading a file failed, so that it can be told from a damaged file.
type checkedReader struct {
	io.ReaderAt
	failed error
}

// ReadAt implements io.ReaderAt.
func (r *checkedReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	if err != nil && err != io.EOF && r.failed == nil {
		r.failed = err
	}
	return n, err
}

// Format returns the format: jpeg, png, gif, webp or svg.
func (p *Picture) Format() string { return p.format }

// IsAnimated reports whether it is an animation that Decode cannot read. Of an animated GIF it decodes the first frame.
func (p *Picture) IsAnimated() bool { return p.animated }

// Size returns width and height as the image is shown, with its orientation applied.
func (p *Picture) Size() (width, height int) {
	if p.orientation >= 5 {
		return p.height, p.width
	}
	return p.width, p.height
}

// Pixels returns how many pixels it has.
func (p *Picture) Pixels() int64 { return int64(p.width) * int64(p.height) }

// decode decodes the image, as browsers do even if it is damaged in certain ways. Of an animated GIF it decodes the
// first frame.
func (p *Picture) decode(r io.Reader) (image.Image, error) {
	switch p.format {
	case "jpeg":
		r := lenient.JPEG(r, p.bareCMYK)
		if p.sampled {
			return anyjpeg.Decode(r)
		}
		return jpeg.Decode(r)
	case "png":
		return png.Decode(lenient.PNG(r))
	case "gif":
		return gif.Decode(lenient.GIF(r, p.width, p.height))
	}
	m, err := webp.Decode(lenient.WebP(r))
	switch m := m.(type) {
	case *image.YCbCr:
		fullRange(m)
	case *image.NYCbCrA:
		fullRange(&m.YCbCr)
	}
	return m, err
}
