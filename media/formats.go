package media

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"image"
	"math"
	"os"
	"slices"

	"lectern/media/images"
)

// A Breakpoint is a format for images that are wider or higher than Side pixels: they are scaled down to fit into a
// square of that side.
type Breakpoint struct {
	Name string
	Side int
}

const (
	thumbnail       = "thumbnail" // made for every image larger than this
	thumbnailWidth  = 245
	thumbnailHeight = 156
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

// render decodes an image and makes its formats, largest first, each scaled down from the one before. It decodes an
// image without formats, too, to find out whether that is possible.
func (l *Library) render(ctx context.Context, f *os.File, p *images.Picture, formats []*format) error {
	sorted := largestFirst(formats)
	sizes := make([]image.Point, len(sorted))
	for i, x := range sorted {
		sizes[i] = image.Pt(x.width, x.height)
	}
	done, err := l.reserveImage(ctx, l.images, p.MemoryToShrink(sizes))
	if err != nil {
		return err
	}
	defer done()
	m, err := p.Decode(ctx, f)
	if err != nil {
		return err
	}
	for _, x := range sorted {
		shown, err := m.Shrink(ctx, x.width, x.height)
		if err != nil {
			return err
		}
		if err := l.encode(x, m, shown); err != nil {
			return err
		}
	}
	return nil
}

// largestFirst sorts formats so that none is larger than the one before it, in width or in height: one side may be the
// same for several, because no side is shorter than one pixel.
func largestFirst(formats []*format) []*format {
	sorted := slices.Clone(formats)
	slices.SortStableFunc(sorted, func(a, b *format) int {
		return cmp.Or(cmp.Compare(b.width, a.width), cmp.Compare(b.height, a.height))
	})
	return sorted
}

// encode writes a format to the spool in the file type of its image, or as JPEG if FormatFor chooses that.
func (l *Library) encode(x *format, of *images.Image, shown *image.RGBA) error {
	form := of.FormatFor(shown)
	if form != of.Format() {
		x.ext, x.mime = ".jpg", "image/jpeg"
	}
	s, err := l.spool.create()
	if err != nil {
		return err
	}
	x.spooled = s.name
	out := bufio.NewWriterSize(s, 64<<10)
	err = of.Write(out, form, shown)
	if err == nil {
		err = out.Flush()
	}
	if x.size, err = s.finish(err); err != nil {
		return fmt.Errorf("make the format %s: %w", x.name, err)
	}
	return nil
}
