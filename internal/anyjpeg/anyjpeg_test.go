package anyjpeg_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lectern/internal/anyjpeg"
)

// frameOf returns the content of the frame header of a file.
func frameOf(t testing.TB, file []byte) []byte {
	t.Helper()
	for at := 2; at+4 < len(file); {
		size := int(file[at+2])<<8 + int(file[at+3])
		if marker := file[at+1]; marker >= 0xc0 && marker <= 0xc2 {
			return file[at+4 : at+2+size]
		}
		at += 2 + size
	}
	t.Fatal("no frame header")
	return nil
}

// TestSampling decodes files that cjpeg of libjpeg-turbo has written with unusual sampling factors. The picture has
// four colours, clockwise red, green, blue and white; the expected values are those of Chromium and sharp.
func TestSampling(t *testing.T) {
	names, err := filepath.Glob("../../media/testdata/sampling-*.jpg")
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jpeg.Decode(bytes.NewReader(file)); err == nil {
			t.Errorf("%s: image/jpeg decodes it", name)
		}
		frame := frameOf(t, file)
		if !anyjpeg.Unusual(frame) {
			t.Errorf("%s is not unusual", name)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := anyjpeg.Decode(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if took, told := int64(after.TotalAlloc-before.TotalAlloc), anyjpeg.Memory(frame); took > told+64<<10 ||
			told > 3*took {
			t.Errorf("%s: %d bytes were allocated, %d told", name, took, told)
		}
		for at, want := range map[image.Point]color.NRGBA{
			{10, 10}: {254, 0, 0, 255}, {290, 10}: {0, 255, 1, 255}, {290, 190}: {0, 0, 254, 255},
			{10, 190}: {255, 255, 255, 255}, {100, 60}: {254, 0, 0, 255},
		} {
			if got := color.NRGBAModel.Convert(m.At(at.X, at.Y)).(color.NRGBA); m.Bounds() != image.Rect(
				0, 0, 300, 200) || !near(got, want) {
				t.Errorf("%s at %v: %v, want %v", name, at, got, want)
			}
		}
	}
}

func near(a, b color.NRGBA) bool {
	for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
		if max(d, -d) > 16 {
			return false
		}
	}
	return true
}

// TestUsual decodes files that image/jpeg decodes, too. The pictures are the same but for rounding.
func TestUsual(t *testing.T) {
	progressive, err := os.ReadFile("../../media/testdata/progressive.jpg")
	if err != nil {
		t.Fatal(err)
	}
	m := image.NewRGBA(image.Rect(0, 0, 61, 43))
	for i := range m.Pix {
		m.Pix[i] = uint8(i * i / 97)
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"progressive": progressive, "baseline": b.Bytes()} {
		want, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if anyjpeg.Unusual(frameOf(t, file)) {
			t.Errorf("%s is unusual", name)
		}
		got, err := anyjpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w, g := want.(*image.YCbCr), got.(*image.YCbCr)
		for y := range w.Rect.Dy() {
			for x := range w.Rect.Dx() {
				a, b := w.YCbCrAt(x, y), g.YCbCrAt(x, y)
				for _, d := range []int{int(a.Y) - int(b.Y), int(a.Cb) - int(b.Cb), int(a.Cr) - int(b.Cr)} {
					if max(d, -d) > 2 {
						t.Fatalf("%s at %d,%d: %v, want %v", name, x, y, b, a)
					}
				}
			}
		}
	}
}

// TestDamaged decodes files that are cut off, and files of other kinds.
func TestDamaged(t *testing.T) {
	file, err := os.ReadFile("../../media/testdata/sampling-3x1-1x1-1x1.jpg")
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(file) {
		if _, err := anyjpeg.Decode(bytes.NewReader(file[:n])); err == nil {
			t.Errorf("the first %d bytes are a picture", n)
		}
	}
	whole := string(file)
	sof := strings.Index(whole, "\xff\xc0")
	for name, other := range map[string]string{
		"lossless": whole[:sof+1] + "\xc3" + whole[sof+2:], "two frames": whole[:sof] + whole[sof:sof+19] + whole[sof:],
		"12 bits": whole[:sof+4] + "\x0c" + whole[sof+5:], "a fraction of the picture": whole[:sof+14] + "\x21" +
			whole[sof+15:],
		"no width": whole[:sof+7] + "\x00\x00" + whole[sof+9:],
	} {
		if _, err := anyjpeg.Decode(strings.NewReader(other)); err == nil {
			t.Errorf("%s: it was decoded", name)
		}
	}
}

// FuzzDecode decodes random files of at most a million pixels. What image/jpeg decodes has the same size here.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"sampling-3x1-1x1-1x1.jpg", "sampling-2x2-1x1-1x2.jpg", "sampling-progressive.jpg"} {
		file, err := os.ReadFile("../../media/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		file = bytes.Clone(file)
		for at := 0; at+9 < len(file); at++ { // frame headers of large pictures
			if file[at] == 0xff && file[at+1] >= 0xc0 && file[at+1] <= 0xc2 {
				file[at+5], file[at+7] = 0, 0
			}
		}
		m, err := anyjpeg.Decode(bytes.NewReader(file))
		if err != nil {
			return
		}
		if b := m.Bounds(); b.Dx() < 1 || b.Dy() < 1 || b.Dx() > 255 || b.Dy() > 255 {
			t.Errorf("%v", b)
		}
		if want, err := jpeg.Decode(bytes.NewReader(file)); err == nil && want.Bounds() != m.Bounds() {
			t.Errorf("%v, want %v", m.Bounds(), want.Bounds())
		}
	})
}
