package anyjpeg

import (
	"image"
	"math"
)

// cosines holds the factors of the inverse cosine transform: of each sample, for each frequency.
var cosines = func() (table [8][8]float32) {
	for x := range table {
		for u := range table[x] {
			scale := 0.5
			if u == 0 {
				scale = math.Sqrt(0.125)
			}
			table[x][u] = float32(scale * math.Cos(float64(2*x+1)*float64(u)*math.Pi/16))
		}
	}
	return table
}()

// picture returns the decoded picture.
func (d *decoder) picture() image.Image {
	m := image.NewYCbCr(image.Rect(0, 0, d.width, d.height), image.YCbCrSubsampleRatio444)
	for i, plane := range [][]uint8{m.Y, m.Cb, m.Cr} {
		d.draw(&d.components[i], plane, m.YStride)
	}
	rgb := !d.jfif && (d.adobe == 0 || d.components[0].id == 'R' && d.components[1].id == 'G' &&
		d.components[2].id == 'B')
	if !rgb {
		return m
	}
	out := image.NewRGBA(m.Rect)
	for i := range m.Y {
		out.Pix[4*i], out.Pix[4*i+1], out.Pix[4*i+2], out.Pix[4*i+3] = m.Y[i], m.Cb[i], m.Cr[i], 255
	}
	return out
}

// draw draws a component into a plane of the picture: each sample as large as the component is smaller than the
// picture.
func (d *decoder) draw(c *component, plane []uint8, stride int) {
	across, down := d.h/c.h, d.v/c.v
	for by := range c.covered[1] {
		for bx := range c.covered[0] {
			samples := samplesOf(c.blocks[64*(by*c.wide+bx):][:64], &d.quantizers[c.quantizer])
			top, left := 8*by*down, 8*bx*across
			for y := top; y < min(top+8*down, d.height); y++ {
				row := samples[(y-top)/down*8:][:8]
				for x := left; x < min(left+8*across, d.width); x++ {
					plane[y*stride+x] = row[(x-left)/across]
				}
			}
		}
	}
}

// samplesOf computes the samples of a block: it undoes quantization and cosine transform.
func samplesOf(block []int16, quantizer *[64]int32) (samples [64]uint8) {
	var rows [64]float32 // transformed in one direction
	for v := range 8 {
		var line [8]float32
		none := true
		for u := range 8 {
			if n := block[8*v+u]; n != 0 {
				line[u], none = float32(n)*float32(quantizer[8*v+u]), false
			}
		}
		if none {
			continue
		}
		for x := range 8 {
			sum := float32(0)
			for u, factor := range cosines[x] {
				sum += factor * line[u]
			}
			rows[8*v+x] = sum
		}
	}
	for y := range 8 {
		for x := range 8 {
			sum := float32(128.5)
			for v, factor := range cosines[y] {
				sum += factor * rows[8*v+x]
			}
			samples[8*y+x] = uint8(max(0, min(sum, 255)))
		}
	}
	return samples
}
