package media

import (
	"image"
	"math"

	"lectern/media/images"
)

// layout returns how v shows an image of this size.
func (v Variant) layout(width, height int) images.Layout {
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
		return images.Layout{Part: whole, Scaled: size, Canvas: size}
	}
	scale := v.scale(width, height)
	side := func(n int) int { return max(int(math.Round(float64(n)*scale)), 1) }
	scaled := image.Pt(side(width), side(height))
	switch v.Fit {
	case Contain:
		return images.Layout{Part: whole, Scaled: scaled, Canvas: image.Pt(v.Width, v.Height)}
	case Cover:
		shown := image.Pt(min(scaled.X, v.Width), min(scaled.Y, v.Height))
		part := func(shown, whole int) int { return min(max(int(math.Round(float64(shown)/scale)), 1), whole) }
		return images.Layout{Part: image.Pt(part(shown.X, width), part(shown.Y, height)), Scaled: shown, Canvas: shown}
	}
	return images.Layout{Part: whole, Scaled: scaled, Canvas: scaled}
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
