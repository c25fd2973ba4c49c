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

	"lectern/internal/ctxio"
)

// A Breakpoint is a format for images that are wider or higher than Side pixels: they are scaled down to fit into a square of
// that side.
type Breakpoint struct {
	Name string
	Side int
}

const (
	thumbnail       = "thumbnail" // made for every image larger than this
	thumbnailWidth  = 245
	thumbnailHeight = 156
	jpegQuality     = 80
)

// A format is a smaller version of an uploaded image.
type format struct {
	name          string
	width, height int // with the orientation applied
	spooled       string
	ext, mime     string // "" if they are the same as those of the image
	size          int64
}

// formatsOf returns the formats to make for an image of this size: the thumbnail first, then the breakpoints.
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

// fit returns the largest size with the same proportions within maxWidth and maxHeight.
func fit(width, height, maxWidth, maxHeight int) (int, int) {
	scale := math.Min(float64(maxWidth)/float64(width), float64(maxHeight)/float64(height))
	side := func(n int) int { return max(int(math.Round(float64(n)*scale)), 1) }
	return side(width), side(height)
}

// render decodes an image and makes its formats, largest first, each scaled down from the one before. It decodes an image
// without formats, too, to find out whether that is possible.
func (l *Library) render(ctx context.Context, f *os.File, p *picture, formats []*format) error {
	done, err := l.reserveImage(ctx, l.images, formatsMemory(p, formats))
	if err != nil {
		return err
	}
	defer done()
	source, err := p.decodeFile(ctx, f)
	if err != nil {
		return err
	}
	made := madeOf{p, p.coloursOf(f), paletteOf(source)}
	if p.format == "gif" && len(formats) > 0 {
		source = onCanvas(source, p.width, p.height)
	}
	for i, x := range largestFirst(formats) {
		width, height := x.width, x.height
		if p.orientation >= 5 {
			width, height = height, width
		}
		scaled, err := resize(ctx, source, width, height)
		if err != nil {
			return err
		}
		if i == 0 { // the others are made of it
			made.colours.apply(scaled)
		}
		source = scaled
		if err := l.encode(x, made, turned(scaled, p.orientation)); err != nil {
			return err
		}
	}
	return nil
}

// A madeOf describes the image that formats are made of.
type madeOf struct {
	*picture
	colours colours
	palette color.Palette // nil if it has none
}

// largestFirst sorts formats so that none is larger than the one before it, in width or in height: one side may be the same for several,
// because no side is shorter than one pixel.
func largestFirst(formats []*format) []*format {
	sorted := slices.Clone(formats)
	slices.SortStableFunc(sorted, func(a, b *format) int {
		return cmp.Or(cmp.Compare(b.width, a.width), cmp.Compare(b.height, a.height))
	})
	return sorted
}

// formatsMemory estimates how many bytes it takes to decode an image and to make its formats.
func formatsMemory(p *picture, formats []*format) int64 {
	var largest, resizing int64
	from := image.Pt(p.width, p.height)
	for _, x := range largestFirst(formats) {
		to := image.Pt(x.width, x.height)
		if p.orientation >= 5 {
			to = image.Pt(x.height, x.width)
		}
		largest, resizing = max(largest, int64(to.X)*int64(to.Y)), max(resizing, resizeMemory(from, to))
		from = to
	}
	return p.memory(largest, p.format) + resizing
}

// decodeFile decodes the image from its file. When ctx ends it returns the error of ctx.
func (p *picture) decodeFile(ctx context.Context, file io.ReaderAt) (image.Image, error) {
	f := &checkedReader{ReaderAt: file}
	m, err := p.decode(bufio.NewReaderSize(ctxio.NewReader(ctx, io.NewSectionReader(f, 0, math.MaxInt64)), 64<<10))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.failed != nil:
		return nil, f.failed
	case err != nil:
		return nil, errUndecodable
	}
	return m, nil
}

// encode writes a format to the spool in the file type of its image, or as JPEG if writtenFormat chooses that.
func (l *Library) encode(x *format, of madeOf, m *image.RGBA) error {
	form := writtenFormat(of.format, m)
	if form != of.format {
		x.ext, x.mime = ".jpg", "image/jpeg"
	}
	s, err := l.spool.create()
	if err != nil {
		return err
	}
	x.spooled = s.name
	out := bufio.NewWriterSize(s, 64<<10)
	err = writeImage(out, form, m, of)
	if err == nil {
		err = out.Flush()
	}
	if x.size, err = s.finish(err); err != nil {
		return fmt.Errorf("make the format %s: %w", x.name, err)
	}
	return nil
}

// writtenFormat returns the format in which to write an image that was made of one in the format of. It is the same, except that
// a WebP image becomes JPEG if it is opaque and that is smaller, because only lossless WebP is written here.
func writtenFormat(of string, m *image.RGBA) string {
	if of == "webp" && m.Opaque() && written("jpeg", m) < written("webp", m) {
		return "jpeg"
	}
	return of
}

// writeImage writes an image in a format, with the colour profile or, as GIF, in the palette of the image that it was made of.
func writeImage(w io.Writer, form string, m *image.RGBA, of madeOf) error {
	w = of.colours.embedding(w, form)
	switch form {
	case "jpeg":
		return jpeg.Encode(w, m, &jpeg.Options{Quality: jpegQuality})
	case "png":
		return png.Encode(w, m)
	case "gif":
		return gif.Encode(w, paletted(m, of.palette), nil)
	}
	return encodeWebP(w, m, of.colours.profile)
}

// written returns how many bytes an image has in a format.
func written(form string, m *image.RGBA) int64 {
	var n counter
	if writeImage(&n, form, m, madeOf{}) != nil {
		return math.MaxInt64
	}
	return int64(n)
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// paletteOf returns the palette of an image, nil if it has none.
func paletteOf(m image.Image) color.Palette {
	if p, ok := m.(*image.Paletted); ok {
		return p.Palette
	}
	return nil
}

// onCanvas draws the first frame of an animation at its position in the whole picture, which may be larger.
func onCanvas(m image.Image, width, height int) image.Image {
	if m.Bounds() == image.Rect(0, 0, width, height) {
		return m
	}
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(canvas, m.Bounds(), m, m.Bounds().Min, draw.Src)
	return canvas
}

// paletted reduces an image to a palette, with dithering. If a part of the image is transparent, the palette gets a transparent colour.
func paletted(m *image.RGBA, colors color.Palette) *image.Paletted {
	if !m.Opaque() {
		colors = withTransparency(colors)
	}
	out := image.NewPaletted(m.Rect, colors)
	draw.FloydSteinberg.Draw(out, m.Rect, m, m.Rect.Min)
	return out
}

// withTransparency returns a palette with a transparent colour. In a full one, that takes the place of a colour that is much like another.
func withTransparency(colors color.Palette) color.Palette {
	if slices.ContainsFunc(colors, func(c color.Color) bool { _, _, _, a := c.RGBA(); return a == 0 }) {
		return colors
	}
	colors = append(slices.Clone(colors), color.RGBA{})
	if len(colors) <= 256 {
		return colors
	}
	spare, least := 0, math.MaxInt
	for i, a := range colors[:256] {
		for _, b := range colors[:i] {
			if d := difference(a, b); d < least {
				spare, least = i, d
			}
		}
	}
	return slices.Delete(colors, spare, spare+1)
}

// difference returns how much two colours differ: the sum of the squares of the differences of red, green and blue.
func difference(a, b color.Color) int {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	square := func(x, y uint32) int { d := int(x>>8) - int(y>>8); return d * d }
	return square(ar, br) + square(ag, bg) + square(ab, bb)
}
