package images

import "image"

// MemoryToShrink estimates how many bytes it takes to decode an image and to Shrink it to these sizes.
func (p *Picture) MemoryToShrink(sizes []image.Point) int64 {
	var largest, resizing int64
	from := image.Pt(p.width, p.height)
	for _, to := range sizes {
		if p.orientation >= 5 {
			to = image.Pt(to.Y, to.X)
		}
		largest, resizing = max(largest, int64(to.X)*int64(to.Y)), max(resizing, resizeMemory(from, to))
		from = to
	}
	return p.memory(largest, p.format) + resizing
}

// MemoryToRender estimates how many bytes it takes to decode an image, to Render it in a layout and to write that in a
// format.
func (p *Picture) MemoryToRender(at Layout, form string) int64 {
	stored := at.turned(p.orientation)
	return p.memory(at.Pixels(), form) + resizeMemory(stored.Part, stored.Scaled)
}

// memory estimates how many bytes it takes to decode the image and to make images of a format from it, one after
// another, of which the largest has so many pixels.
func (p *Picture) memory(largest int64, format string) int64 {
	made := int64(5 * 4) // bytes a pixel: scaled, turned, and the work of the encoder
	if format == "webp" {
		made = 15 * 4 // the encoder takes up to 51, measured with noise
	}
	bytes := int64(float64(p.Pixels())*p.pixelBytes) + made*largest
	if p.profiled {
		bytes += 2 * maxProfile
	}
	return bytes
}
