package media_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"math/rand/v2"
	"strings"
	"testing"

	_ "golang.org/x/image/webp"
)

// TestImagesGetFormatsOfTheirPixels uploads images and checks their sizes, their formats and the pixels of those.
func TestImagesGetFormatsOfTheirPixels(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	s := serve(t, "")
	gray := func(w, h int) image.Image { return image.NewGray(image.Rect(0, 0, w, h)) }
	for _, test := range []struct {
		name, mime, data string
		want             string // width x height of the file, then of its formats
	}{
		{"tiny.png", "image/png", pngOf(picture(3, 2)), "3x2"},
		{"edge.png", "image/png", pngOf(picture(245, 156)), "245x156"},
		{"big.png", "image/png", pngOf(picture(1200, 800)),
			"1200x800 thumbnail 234x156 large 1000x667 medium 750x500 small 500x333"},
		{"mid.png", "image/png", pngOf(picture(600, 400)), "600x400 thumbnail 234x156 small 500x333"},
		{"tall.png", "image/png", pngOf(picture(300, 900)), "300x900 thumbnail 52x156 medium 250x750 small 167x500"},
		{"thin.png", "image/png", pngOf(picture(1, 1500)),
			"1x1500 thumbnail 1x156 large 1x1000 medium 1x750 small 1x500"},
		{"wide.png", "image/png", pngOf(picture(1001, 3)),
			"1001x3 thumbnail 245x1 large 1000x3 medium 750x2 small 500x1"},
		{"odd.png", "image/png", pngOf(picture(777, 333)), "777x333 thumbnail 245x105 medium 750x321 small 500x214"},
		{"gray.png", "image/png", pngOf(gray(300, 300)), "300x300 thumbnail 156x156"},
		{"photo.jpg", "image/jpeg", jpegOf(picture(600, 400), 0), "600x400 thumbnail 234x156 small 500x333"},
		{"anim.gif", "image/gif", gifOf(picture(300, 200)), "300x200 thumbnail 234x156"},
		{"flat.webp", "image/webp", webpFlat(260, 200), "260x200 thumbnail 203x156"},
		{"called.txt", "text/plain", pngOf(picture(600, 400)), "600x400 thumbnail 234x156 small 500x333"},
		{"fake.png", "image/png", "hello", "-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{T: t, base: s.base, dir: s.dir}
			f := s.upload(file(test.name, test.mime, test.data))[0]
			if got := shape(f); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			for name, x := range f.Formats {
				s.checkFormat(f, name, x)
			}
		})
	}
}

// shape returns the size of a file and those of its formats as text.
func shape(f fileAnswer) string {
	if f.Width == nil {
		return "-"
	}
	out := fmt.Sprintf("%dx%d", *f.Width, *f.Height)
	for _, name := range []string{"thumbnail", "large", "medium", "small"} {
		if x, ok := f.Formats[name]; ok {
			out += fmt.Sprintf(" %s %dx%d", name, x.Width, x.Height)
		}
	}
	return out
}

// checkFormat fetches a format, decodes it and compares its size with the document's.
func (s *server) checkFormat(f fileAnswer, name string, x formatAnswer) {
	s.Helper()
	a := s.get(x.URL)
	if a.status != 200 || int64(len(a.body)) != x.SizeInBytes {
		s.Errorf("%s: %d, %d bytes, told %d", x.URL, a.status, len(a.body), x.SizeInBytes)
		return
	}
	m, _, err := image.Decode(bytes.NewReader(a.body))
	if err != nil {
		s.Errorf("%s: %v", x.URL, err)
		return
	}
	if m.Bounds().Dx() != x.Width || m.Bounds().Dy() != x.Height {
		s.Errorf("%s is %v", x.URL, m.Bounds())
	}
	if x.Name != name+"_"+f.Name || x.Hash != name+"_"+f.Hash || x.Ext != f.Ext || x.Mime != f.Mime ||
		x.URL != "/uploads/"+x.Hash+x.Ext {
		s.Errorf("%+v", x)
	}
}

// TestFormatsStandUprightInAllOrientations uploads the same picture in all eight EXIF orientations. Their thumbnails
// must be the same.
func TestFormatsStandUprightInAllOrientations(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	s := serve(t, "")
	const w, h = 600, 400
	for orientation := 1; orientation <= 8; orientation++ {
		storedW, storedH := w, h
		if orientation >= 5 {
			storedW, storedH = h, w
		}
		m := image.NewRGBA(image.Rect(0, 0, storedW, storedH))
		shown := picture(w, h)
		for y := range storedH {
			for x := range storedW {
				var sx, sy int
				switch orientation { // EXIF: where the first stored row and column are shown
				case 1:
					sx, sy = x, y
				case 2:
					sx, sy = w-1-x, y
				case 3:
					sx, sy = w-1-x, h-1-y
				case 4:
					sx, sy = x, h-1-y
				case 5:
					sx, sy = y, x
				case 6:
					sx, sy = w-1-y, x
				case 7:
					sx, sy = w-1-y, h-1-x
				case 8:
					sx, sy = y, h-1-x
				}
				m.Set(x, y, shown.At(sx, sy))
			}
		}
		f := s.upload(file("photo.jpg", "image/jpeg", jpegOf(m, orientation)))[0]
		if got := shape(f); got != "600x400 thumbnail 234x156 small 500x333" {
			t.Errorf("orientation %d: %s", orientation, got)
		}
		small, _, err := image.Decode(bytes.NewReader(s.get(f.Formats["small"].URL).body))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []image.Point{{100, 80}, {400, 80}, {400, 250}, {100, 250}} {
			if want := shown.At(at.X*6/5, at.Y*6/5); !near(small.At(at.X, at.Y), want) {
				t.Errorf("orientation %d at %v: %v, want %v", orientation, at, small.At(at.X, at.Y), want)
			}
		}
	}
}

func near(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb)} {
		if d > 20<<8 || d < -20<<8 {
			return false
		}
	}
	return true
}

// TestFormatsOfAWebPPhotographAreJPEG uploads a photograph as WebP. Its formats must be JPEG, because lossless WebP
// would be larger than the photograph itself.
func TestFormatsOfAWebPPhotographAreJPEG(t *testing.T) {
	s := serve(t, "")
	m := image.NewNRGBA(image.Rect(0, 0, 300, 300))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = uint8(rng.Int())
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	noise := losslessWebP(m)
	f := s.upload(file("noise.webp", "image/webp", noise))[0]
	x := f.Formats["thumbnail"]
	if x.Ext != ".jpg" || x.Mime != "image/jpeg" || !strings.HasSuffix(x.URL, ".jpg") {
		t.Errorf("%+v", x)
	}
	if a := s.get(x.URL); a.header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("served as %s", a.header.Get("Content-Type"))
	}
}

// losslessWebP encodes pixels without compression: eight bits for each colour.
func losslessWebP(m *image.NRGBA) string {
	var stream bitStream
	put := stream.put
	w, h := m.Rect.Dx(), m.Rect.Dy()
	put(0x2f, 8)
	put(uint64(w-1), 14)
	put(uint64(h-1), 14)
	put(0, 1+3+1+1+1)
	for _, symbols := range []int{280, 256,
		256} { // green, red, blue: a code in which each of 256 symbols has eight bits
		put(0, 1)
		put(12-4, 4) // lengths of the code for lengths, in the format's order: 17 18 0 1 2 3 4 5 16 6 7 8
		for _, l := range []uint64{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1} {
			put(l, 3)
		}
		put(0, 1)
		for range 256 { // symbol 8 is the first of two: 0
			put(0, 1)
		}
		if symbols > 256 {
			put(1, 1) // 18: zeros
			put(24-11, 7)
		}
	}
	put(1, 1) // alpha: one symbol
	put(0, 1)
	put(1, 1)
	put(255, 8)
	put(1, 1) // distances: one symbol
	put(0, 1)
	put(0, 1)
	put(0, 1)
	reversed := func(v uint8) (r uint64) {
		for i := range 8 {
			r |= uint64(v>>i&1) << (7 - i)
		}
		return r
	}
	for i := 0; i < len(m.Pix); i += 4 {
		put(reversed(m.Pix[i+1]), 8)
		put(reversed(m.Pix[i]), 8)
		put(reversed(m.Pix[i+2]), 8)
	}
	put(0, 8)
	return riff("VP8L", string(stream.data))
}

// TestSizeOfSVGIsRead checks the sizes that are read from SVG files.
func TestSizeOfSVGIsRead(t *testing.T) {
	s := serve(t, "")
	const ns = `xmlns="http://www.w3.org/2000/svg"`
	for svg, want := range map[string]string{
		`<svg ` + ns + ` width="64" height="32"/>`:                                     "64x32",
		`<svg ` + ns + ` viewBox="0 0 80 40"/>`:                                        "80x40",
		`<svg ` + ns + ` width="100%" height="100%" viewBox="0,0,80,40"/>`:             "80x40",
		`<svg ` + ns + ` width="40" viewBox="0 0 80 40"/>`:                             "40x20",
		`<svg ` + ns + ` width="10mm" height="20pt"/>`:                                 "28x20",
		`<?xml version="1.0"?><!-- c --><svg ` + ns + ` width="10.6px" height="600"/>`: "11x600",
		`<svg ` + ns + ` width="1000" height="600"/>`:                                  "1000x600",
		`<svg ` + ns + `/>`:                                            "-",
		`<svg ` + ns + ` width="1e999" height="-5"/>`:                  "-",
		`<svg ` + ns + ` width="NaN" height="Inf" viewBox="0 0 0 0"/>`: "-",
		`<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg ` + ns + ` width="7" height="8">&b;</svg>`: "7x8",
	} {
		f := s.upload(file("a.svg", "image/svg+xml", svg))[0]
		if got := shape(f); got != want || f.Formats != nil {
			t.Errorf("%s: %s, want %s", svg, got, want)
		}
	}
}
