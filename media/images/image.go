package images

import (
	"bufio"
	"context"
	"image"
	"image/color"
	"io"
	"math"

	"lectern/internal/ctxio"
)

// An Image is a decoded Picture, from which other images are made.
type Image struct {
	*Picture
	pixels  image.Image
	shrunk  bool // pixels is what Shrink returned last
	colours colours
	palette color.Palette // nil if it has none
}

// Decode decodes the image in a file, as browsers do even if it is damaged in certain ways. When ctx ends it returns
// the error of ctx, and ErrUndecodable for an image that is damaged too much.
func (p *Picture) Decode(ctx context.Context, file io.ReaderAt) (*Image, error) {
	f := &checkedReader{ReaderAt: file}
	m, err := p.decode(bufio.NewReaderSize(ctxio.NewReader(ctx, io.NewSectionReader(f, 0, math.MaxInt64)), 64<<10))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.failed != nil:
		return nil, f.failed
	case err != nil:
		return nil, ErrUndecodable
	}
	return &Image{Picture: p, pixels: m, colours: p.coloursOf(file), palette: paletteOf(m)}, nil
}

// Shrink scales the image down to a width and a height as it is shown, and returns it so. What Shrink returned before
// is scaled: call it with sizes of which none is larger than the one before.
func (m *Image) Shrink(ctx context.Context, width, height int) (*image.RGBA, error) {
	if m.format == "gif" && !m.shrunk {
		m.pixels = onCanvas(m.pixels, m.width, m.height)
	}
	if m.orientation >= 5 {
		width, height = height, width
	}
	scaled, err := resize(ctx, m.pixels, width, height)
	if err != nil {
		return nil, err
	}
	if !m.shrunk { // the others are made of it
		m.colours.apply(scaled)
	}
	m.pixels, m.shrunk = scaled, true
	return turned(scaled, m.orientation), nil
}

// Render returns the image in a layout.
func (m *Image) Render(ctx context.Context, at Layout) (*image.RGBA, error) {
	stored := at.turned(m.orientation)
	scaled, err := resize(ctx, cropped(m.pixels, stored.Part), stored.Scaled.X, stored.Scaled.Y)
	if err != nil {
		return nil, err
	}
	m.colours.apply(scaled)
	return onBars(turned(scaled, m.orientation), at.Canvas), nil
}
