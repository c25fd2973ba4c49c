package images

import (
	"context"
	"image"
	"math"

	"golang.org/x/image/draw"
)

// resize scales an image with the Catmull-Rom kernel. It works row by row: beside source and result it needs memory
// only for the few source rows that contribute to one row of the result.
func resize(ctx context.Context, src image.Image, width, height int) (*image.RGBA, error) {
	dst := image.NewRGBA(image.Rect(0, 0, width, height))
	b := src.Bounds()
	across, down := newTaps(b.Dx(), width), newTaps(b.Dy(), height)
	rows := newRows(src, down.most)
	sum := make([]float32, 4*b.Dx())
	for y := range height {
		if y%16 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		clear(sum)
		first, weights := down.of(y)
		for i, w := range weights {
			addRow(sum, rows.row(first+i), w)
		}
		scaleRow(dst.Pix[y*dst.Stride:][:4*width], sum, across)
	}
	return dst, nil
}

// resizeMemory returns how many bytes resize takes beside source and result.
func resizeMemory(from, to image.Point) int64 {
	taps := func(from, to int) int64 { return int64(to) * (2*8 + 4*int64(mostTaps(from, to))) }
	rows := int64(mostTaps(from.Y, to.Y))
	return taps(from.X, to.X) + taps(from.Y, to.Y) + (4*rows+4*4)*int64(from.X)
}

// addRow adds a row of pixels, multiplied by weight, to sum.
func addRow(sum []float32, row []uint8, weight float32) {
	row = row[:len(sum)]
	for i := range sum {
		sum[i] += weight * float32(row[i])
	}
}

// scaleRow scales one row of pixels to the width of dst.
func scaleRow(dst []uint8, src []float32, across *taps) {
	for x := range len(dst) / 4 {
		first, weights := across.of(x)
		var r, g, b, a float32
		for i, w := range weights {
			p := src[4*(first+i):][:4:4]
			r += w * p[0]
			g += w * p[1]
			b += w * p[2]
			a += w * p[3]
		}
		alpha := clamped(a, 255)
		pixel := dst[4*x:][:4:4]
		pixel[0], pixel[1], pixel[2], pixel[3] = clamped(r, alpha), clamped(g, alpha), clamped(b, alpha), alpha
	}
}

// clamped rounds f to an integer from 0 to most. Sums may leave that range because the kernel has negative weights.
func clamped(f float32, most uint8) uint8 {
	f += 0.5
	if f < 0 {
		return 0
	}
	if f > float32(most) {
		return most
	}
	return uint8(f)
}

// taps holds, for each position of the result, the first position of the source that contributes to it, and the weights
// of that one and the ones after it.
type taps struct {
	first   []int
	start   []int // index of each position's first weight; one more entry than positions
	weights []float32
	most    int // greatest number of weights of one position
}

func newTaps(from, to int) *taps {
	scale := float64(from) / float64(to)
	wide := max(scale, 1)
	t := &taps{first: make([]int, 0, to), start: make([]int, 1, to+1),
		weights: make([]float32, 0, to*mostTaps(from, to))}
	for i := range to {
		center := (float64(i) + 0.5) * scale
		lo := max(int(math.Floor(center-draw.CatmullRom.Support*wide)), 0)
		hi := min(int(math.Ceil(center+draw.CatmullRom.Support*wide)), from)
		begin, total := len(t.weights), 0.0
		for j := lo; j < hi; j++ {
			w := 0.0
			if d := math.Abs(float64(j)+0.5-center) / wide; d < draw.CatmullRom.Support {
				w = draw.CatmullRom.At(d)
			}
			total += w
			t.weights = append(t.weights, float32(w))
		}
		for k := begin; k < len(t.weights); k++ {
			t.weights[k] /= float32(total)
		}
		t.first = append(t.first, lo)
		t.start = append(t.start, len(t.weights))
		t.most = max(t.most, hi-lo)
	}
	return t
}

// mostTaps returns the maximum number of source pixels, in one direction, that contribute to a pixel of the result.
func mostTaps(from, to int) int {
	return min(int(math.Ceil(2*draw.CatmullRom.Support*max(float64(from)/float64(to), 1)))+1, from)
}

func (t *taps) of(i int) (first int, weights []float32) {
	return t.first[i], t.weights[t.start[i]:t.start[i+1]]
}

// rows converts the rows of an image to 8-bit RGBA and caches the last few.
type rows struct {
	src    image.Image
	cached []int // number of the row in each slot of ring, or -1
	ring   *image.RGBA
}

func newRows(src image.Image, keep int) *rows {
	r := &rows{src: src, cached: make([]int, keep), ring: image.NewRGBA(image.Rect(0, 0, src.Bounds().Dx(), keep))}
	for i := range r.cached {
		r.cached[i] = -1
	}
	return r
}

func (r *rows) row(y int) []uint8 {
	slot, b := y%len(r.cached), r.src.Bounds()
	if r.cached[slot] != y {
		at := image.Rect(0, slot, b.Dx(), slot+1)
		draw.Draw(r.ring, at, r.src, image.Pt(b.Min.X, b.Min.Y+y), draw.Src)
		r.cached[slot] = y
	}
	return r.ring.Pix[slot*r.ring.Stride:][:4*b.Dx()]
}
