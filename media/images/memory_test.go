package images

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestPictureMemory compares the bytes that are reserved for decoding an image with those that decoding allocates: the
// reservation must not be much smaller.
func TestPictureMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	const width, height = 700, 500
	rect := image.Rect(0, 0, width, height)
	encodePNG := func(m image.Image) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	encodeJPEG := func(m image.Image) []byte {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, nil); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	transparent := image.NewNRGBA(rect)
	transparent.Set(0, 0, color.NRGBA{1, 2, 3, 4})
	deep := image.NewNRGBA64(rect)
	deep.Set(0, 0, color.NRGBA64{1, 2, 3, 4})
	var animated bytes.Buffer
	if err := gif.Encode(&animated, transparent, nil); err != nil {
		t.Fatal(err)
	}
	progressive, err := os.ReadFile("../testdata/progressive.jpg")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, content string
		file          []byte
	}{
		{"png", "image/png", encodePNG(transparent)},
		{"gray png", "image/png", encodePNG(image.NewGray(rect))},
		{"png of 16 bits", "image/png", encodePNG(deep)},
		{"jpeg", "image/jpeg", encodeJPEG(transparent)},
		{"gray jpeg", "image/jpeg", encodeJPEG(image.NewGray(rect))},
		{"progressive jpeg", "image/jpeg", progressive},
		{"gif", "image/gif", animated.Bytes()},
	} {
		path := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(path, test.file, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := Read(f, test.content)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := p.decode(bytes.NewReader(test.file)); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		runtime.ReadMemStats(&after)
		const beside = 300 << 10 // buffers and tables of the decoder, which are not reserved
		if took, reserved := int64(after.TotalAlloc-before.TotalAlloc), p.memory(0, ""); took > reserved*11/10+beside ||
			reserved > 6*took {
			t.Errorf("%s: %d bytes reserved, %d allocated", test.name, reserved, took)
		}
	}
}

// TestResizeMemory compares the bytes that are reserved for scaling an image, beside source and result, with those that
// scaling allocates: the reservation must not be much smaller.
func TestResizeMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for _, test := range []struct{ from, to image.Point }{
		{image.Pt(1200, 900), image.Pt(400, 300)},
		{image.Pt(1200, 900), image.Pt(1200, 900)},
		{image.Pt(4000, 500), image.Pt(16, 2)},
		{image.Pt(500, 4000), image.Pt(2, 16)},
		{image.Pt(30, 20), image.Pt(600, 700)},
	} {
		source := image.NewGray(image.Rectangle{Max: test.from})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := resize(t.Context(), source, test.to.X, test.to.Y); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		const beside = 16 << 10 // the allocator rounds sizes up
		took := int64(after.TotalAlloc-before.TotalAlloc) - 4*int64(test.to.X*test.to.Y)
		if reserved := resizeMemory(test.from, test.to); took > reserved*11/10+beside || reserved > 2*took {
			t.Errorf("%v to %v: %d bytes reserved, %d allocated", test.from, test.to, reserved, took)
		}
	}
}

// TestJPEGBytes checks the memory per pixel that is computed from JPEG headers.
func TestJPEGBytes(t *testing.T) {
	frame := func(marker byte, components ...byte) []byte {
		b := []byte{0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, marker, 0, byte(8 + len(components)), 8, 0, 1, 0, 1,
			byte(len(components) / 3)}
		return append(b, components...)
	}
	for _, test := range []struct {
		name string
		file []byte
		want float64
	}{
		{"gray", frame(0xc0, 1, 0x11, 0), 1},
		{"4:2:0", frame(0xc0, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0), 1.5},
		{"4:4:4", frame(0xc1, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0), 3},
		{"progressive", frame(0xc2, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0), 7.5},
		{"RGB", frame(0xc0, 'R', 0x11, 0, 'G', 0x11, 0, 'B', 0x11, 0), 7},
		{"CMYK", frame(0xc0, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 4, 0x11, 0), 8},
		{"sampled nowhere", frame(0xc0, 1, 0, 0, 2, 0, 0, 3, 0, 0), 0},
		{"cut off", frame(0xc0, 1, 0x11, 0)[:15], 19},
		{"nothing", nil, 19},
		{"no segment", []byte{0xff, 0xd8, 0, 0, 0, 0}, 19},
		{"a segment without length", []byte{0xff, 0xd8, 0xff, 0xe0, 0, 1}, 19},
	} {
		head := readJPEGHead(bytes.NewReader(test.file))
		if got := head.pixelBytes(); got != test.want {
			t.Errorf("%s: %v, not %v", test.name, got, test.want)
		}
	}
}
