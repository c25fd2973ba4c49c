package images

import (
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"slices"
)

// jpegQuality is the quality of the JPEG files that are written.
const jpegQuality = 80

// FormatFor returns the format in which to write an image that was made of m. It is that of m, except that a WebP image
// becomes JPEG if it is opaque and that is smaller, because only lossless WebP is written here.
func (m *Image) FormatFor(shown *image.RGBA) string {
	if m.format == "webp" && shown.Opaque() && bytesAs("jpeg", shown) < bytesAs("webp", shown) {
		return "jpeg"
	}
	return m.format
}

// Write writes an image that was made of m in a format: with the colour profile of m or, as GIF, in its palette.
func (m *Image) Write(w io.Writer, form string, shown *image.RGBA) error {
	w = m.colours.embedding(w, form)
	switch form {
	case "jpeg":
		return jpeg.Encode(w, shown, &jpeg.Options{Quality: jpegQuality})
	case "png":
		return png.Encode(w, shown)
	case "gif":
		return gif.Encode(w, paletted(shown, m.palette), nil)
	}
	return encodeWebP(w, shown, m.colours.profile)
}

// bytesAs returns how many bytes an image has in a format.
func bytesAs(form string, shown *image.RGBA) int64 {
	var n counter
	if new(Image).Write(&n, form, shown) != nil {
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

// paletted reduces an image to a palette, with dithering. If a part of the image is transparent, the palette gets a
// transparent colour.
func paletted(m *image.RGBA, colors color.Palette) *image.Paletted {
	if !m.Opaque() {
		colors = withTransparency(colors)
	}
	out := image.NewPaletted(m.Rect, colors)
	draw.FloydSteinberg.Draw(out, m.Rect, m, m.Rect.Min)
	return out
}

// withTransparency returns a palette with a transparent colour. In a full one, that takes the place of a colour that is
// much like another.
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
