package images

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
)

// A Layout says how an image on request shows an image: it scales a part from the middle of the image, and puts the
// result in the middle of a canvas. All sizes are those of the image as it is shown, with its orientation applied.
type Layout struct {
	Part   image.Point // size of the part
	Scaled image.Point // size of the part when it is scaled
	Canvas image.Point // size of the result; larger than Scaled if there are bars beside the picture
}

// Pixels returns the number of pixels of the largest image that is made.
func (l Layout) Pixels() int64 {
	return max(int64(l.Scaled.X)*int64(l.Scaled.Y), int64(l.Canvas.X)*int64(l.Canvas.Y))
}

// turned returns the layout for the image as it is stored, if it is stored on its side.
func (l Layout) turned(orientation int) Layout {
	if orientation < 5 {
		return l
	}
	turn := func(p image.Point) image.Point { return image.Pt(p.Y, p.X) }
	return Layout{turn(l.Part), turn(l.Scaled), turn(l.Canvas)}
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
