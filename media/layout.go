package media

import (
	"image"
	"image/color"
	"math"

	"golang.org/x/image/draw"
)

// A layout says how a variant shows an image: it scales a part from the middle of the image, and puts the result in the middle of
// a canvas. All sizes are those of the image as it is shown, with its orientation applied.
type layout struct {
	part   image.Point // size of the part
	scaled image.Point // size of the part when it is scaled
	canvas image.Point // size of the result; larger than scaled for Contain
}

// layout returns how v shows an image of this size.
func (v Variant) layout(width, height int) layout {
	v = v.normal()
	whole := image.Pt(width, height)
	if v.Fit == Fill {
		size := image.Pt(v.Width, v.Height)
		if size.X == 0 {
			size.X = width
		}
		if size.Y == 0 {
			size.Y = height
		}
		return layout{whole, size, size}
	}
	scale := v.scale(width, height)
	side := func(n int) int { return max(int(math.Round(float64(n)*scale)), 1) }
	scaled := image.Pt(side(width), side(height))
	switch v.Fit {
	case Contain:
		return layout{whole, scaled, image.Pt(v.Width, v.Height)}
	case Cover:
		shown := image.Pt(min(scaled.X, v.Width), min(scaled.Y, v.Height))
		part := func(shown, whole int) int { return min(max(int(math.Round(float64(shown)/scale)), 1), whole) }
		return layout{image.Pt(part(shown.X, width), part(shown.Y, height)), shown, shown}
	}
	return layout{whole, scaled, scaled}
}

// scale returns by which factor v scales an image of this size: at most 1, because only Fill enlarges.
func (v Variant) scale(width, height int) float64 {
	scale := 1.0
	across, down := float64(v.Width)/float64(width), float64(v.Height)/float64(height)
	switch {
	case v.Width == 0 && v.Height == 0:
	case v.Width == 0:
		scale = down
	case v.Height == 0:
		scale = across
	case v.Fit == Cover || v.Fit == Outside:
		scale = max(across, down)
	default:
		scale = min(across, down)
	}
	return min(scale, 1)
}

// pixels returns the number of pixels of the largest image that is made.
func (l layout) pixels() int64 {
	return max(int64(l.scaled.X)*int64(l.scaled.Y), int64(l.canvas.X)*int64(l.canvas.Y))
}

// turned returns the layout for the image as it is stored, if it is stored on its side.
func (l layout) turned(orientation int) layout {
	if orientation < 5 {
		return l
	}
	turn := func(p image.Point) image.Point { return image.Pt(p.Y, p.X) }
	return layout{turn(l.part), turn(l.scaled), turn(l.canvas)}
}

// cropped returns the part of this size in the middle of an image.
func cropped(m image.Image, size image.Point) image.Image {
	b := m.Bounds()
	sub, ok := m.(interface {
		SubImage(image.Rectangle) image.Image
	})
	if !ok || size == b.Size() {
		return m
	}
	from := b.Min.Add(b.Size().Sub(size).Div(2))
	return sub.SubImage(image.Rectangle{from, from.Add(size)})
}

// onBars puts an image into the middle of a canvas of this size, with black bars beside it.
func onBars(m *image.RGBA, size image.Point) *image.RGBA {
	if m.Rect.Size() == size {
		return m
	}
	canvas := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(canvas, canvas.Rect, image.NewUniform(color.Black), image.Point{}, draw.Src)
	at := size.Sub(m.Rect.Size()).Div(2)
	draw.Draw(canvas, m.Rect.Add(at), m, m.Rect.Min, draw.Src)
	return canvas
}
