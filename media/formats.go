package media

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"slices"

	"golang.org/x/image/draw"
)

// A Breakpoint is a format that is made of images which do not fit into a square of that side: scaled down until they do.
type Breakpoint struct {
	Name string
	Side int
}

const (
	thumbnail       = "thumbnail" // made of every image that is larger
	thumbnailWidth  = 245
	thumbnailHeight = 156
	jpegQuality     = 80
)

// A format is a smaller image made of an uploaded one.
type format struct {
	name          string
	width, height int // as it is shown
	spooled       string
	ext, mime     string // "" where they are those of the image
	size          int64
}

// formatsOf lists what is made of an image of a size: the thumbnail first, then the breakpoints.
func formatsOf(breakpoints []Breakpoint, width, height int) []*format {
	var list []*format
	add := func(name string, maxWidth, maxHeight int) {
		if width > maxWidth || height > maxHeight {
			w, h := fit(width, height, maxWidth, maxHeight)
			list = append(list, &format{name: name, width: w, height: h})
		}
	}
	add(thumbnail, thumbnailWidth, thumbnailHeight)
	for _, b := range breakpoints {
		add(b.Name, b.Side, b.Side)
	}
	return list
}

// fit is the greatest size of the same proportions within bounds.
func fit(width, height, maxWidth, maxHeight int) (int, int) {
	scale := math.Min(float64(maxWidth)/float64(width), float64(maxHeight)/float64(height))
	side := func(n int) int { return max(int(math.Round(float64(n)*scale)), 1) }
	return side(width), side(height)
}

// render decodes an image and makes its formats, largest first, each from the one before. It decodes the image even where there are
// no formats to make, to find out whether it can be.
func (l *Library) render(ctx context.Context, f *os.File, p *picture, formats []*format) error {
	done, err := l.reserveImage(ctx, p.memory(formats))
	if err != nil {
		return err
	}
	defer done()
	source, err := p.decode(bufio.NewReaderSize(&contextReader{ctx, io.NewSectionReader(f, 0, math.MaxInt64)}, 64<<10))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return unreadableImage(err)
	}
	palette := paletteOf(source)
	if p.format == "gif" && len(formats) > 0 {
		source = onCanvas(source, p.width, p.height)
	}
	for _, x := range largestFirst(formats) {
		width, height := x.width, x.height
		if p.orientation >= 5 {
			width, height = height, width
		}
		scaled, err := resize(ctx, source, width, height)
		if err != nil {
			return err
		}
		source = scaled
		if err := l.encode(x, p, turned(scaled, p.orientation), palette); err != nil {
			return err
		}
	}
	return nil
}

func largestFirst(formats []*format) []*format {
	sorted := slices.Clone(formats)
	slices.SortStableFunc(sorted, func(a, b *format) int { return cmp.Compare(b.width, a.width) })
	return sorted
}

// encode writes a format into the spool, as an image of the kind that it is made of. A photograph that came as WebP becomes
// JPEG where lossless WebP, all that is made here, would be larger.
func (l *Library) encode(x *format, p *picture, m *image.RGBA, palette color.Palette) error {
	write := map[string]func(io.Writer) error{
		"jpeg": func(w io.Writer) error { return jpeg.Encode(w, m, &jpeg.Options{Quality: jpegQuality}) },
		"png":  func(w io.Writer) error { return png.Encode(w, m) },
		"gif":  func(w io.Writer) error { return gif.Encode(w, paletted(m, palette), nil) },
		"webp": func(w io.Writer) error { return encodeWebP(w, m) },
	}
	form := p.format
	if form == "webp" && m.Opaque() && written(write["jpeg"]) < written(write["webp"]) {
		form, x.ext, x.mime = "jpeg", ".jpg", "image/jpeg"
	}
	s, err := l.spool.create()
	if err != nil {
		return err
	}
	x.spooled = s.name
	out := bufio.NewWriterSize(s, 64<<10)
	err = write[form](out)
	if err == nil {
		err = out.Flush()
	}
	if x.size, err = s.finish(err); err != nil {
		return fmt.Errorf("make the format %s: %w", x.name, err)
	}
	return nil
}

// written is how many bytes write writes.
func written(write func(io.Writer) error) int64 {
	var n counter
	if write(&n) != nil {
		return math.MaxInt64
	}
	return int64(n)
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// paletteOf returns the colours of an image that has a palette.
func paletteOf(m image.Image) color.Palette {
	if p, ok := m.(*image.Paletted); ok {
		return p.Palette
	}
	return nil
}

// onCanvas puts the first picture of an animation where it belongs; it may be smaller than the whole.
func onCanvas(m image.Image, width, height int) image.Image {
	if m.Bounds() == image.Rect(0, 0, width, height) {
		return m
	}
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(canvas, m.Bounds(), m, m.Bounds().Min, draw.Src)
	return canvas
}

// paletted draws an image in the colours that the one it is made of has.
func paletted(m *image.RGBA, colors color.Palette) *image.Paletted {
	out := image.NewPaletted(m.Rect, colors)
	draw.FloydSteinberg.Draw(out, m.Rect, m, m.Rect.Min)
	return out
}

// A contextReader fails once its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
