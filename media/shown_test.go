package media_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"os"
	"strings"
	"testing"

	"lectern/internal/icc/icctest"
)

// The files of these tests are made of pictures of 300×200 pixels whose corners are red, green, blue and white,
// clockwise. Their sizes and colours are those that Chromium shows. testdata/sampling-*.jpg were written by cjpeg of
// libjpeg-turbo with the sampling factors in their names (sampling-progressive.jpg has 3x2, 1x1, 1x2); cmyk.jpg and
// lossy-alpha.webp by sharp.

var (
	red, green, blue, white = color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}, color.NRGBA{0, 0, 255, 255},
		color.NRGBA{255, 255, 255, 255}
	transparent = color.NRGBA{}
	upright     = []color.NRGBA{red, green, blue, white}
	onRightSide = []color.NRGBA{white, red, green, blue} // turned clockwise
)

// corners fetches an image and returns the colours near its corners, clockwise.
func (s *server) corners(url string) []color.NRGBA {
	s.Helper()
	m, _, err := image.Decode(bytes.NewReader(s.get(url).body))
	if err != nil {
		s.Fatalf("%s: %v", url, err)
	}
	b := m.Bounds().Inset(5)
	var colors []color.NRGBA
	for _, at := range []image.Point{b.Min, {b.Max.X, b.Min.Y}, b.Max, {b.Min.X, b.Max.Y}} {
		colors = append(colors, color.NRGBAModel.Convert(m.At(at.X, at.Y)).(color.NRGBA))
	}
	return colors
}

// alike reports whether colours differ by no more than a number of steps.
func alike(a, b []color.NRGBA, most int) bool {
	for i := range a {
		for _, d := range []int{int(a[i].R) - int(b[i].R), int(a[i].G) - int(b[i].G), int(a[i].B) - int(b[i].B),
			int(a[i].A) - int(b[i].A)} {
			if max(d, -d) > most {
				return false
			}
		}
	}
	return len(a) == len(b)
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestImagesHaveTheSizeThatBrowsersShow uploads images that image decoders refuse and browsers show. They have the size
// and the colours that browsers show.
func TestImagesHaveTheSizeThatBrowsersShow(t *testing.T) {
	s := serve(t, "")
	still := pngOf(picture(300, 200))
	gif := gifOf(picture(300, 200))
	photo := jpegOf(picture(300, 200), 0)
	palette := image.NewPaletted(image.Rect(0, 0, 300, 200), color.Palette{color.White})
	lossy := testdata(t, "lossy-alpha.webp")
	alpha, vp8 := riffChunk(lossy, "ALPH"), riffChunk(lossy, "VP8 ")
	flagged := "\x10" + vp8x(300, 200)[1:]
	half := func(list []color.NRGBA) (halves []color.NRGBA) {
		for _, c := range list {
			c.A = 128
			halves = append(halves, c)
		}
		return halves
	}
	inks := []color.NRGBA{{255, 0, 0, 255}, {195, 255, 0, 255}, {17, 60, 255, 255}, white}
	cmyk := testdata(t, "cmyk.jpg")
	for _, test := range []struct {
		name, data string
		size       string
		corners    []color.NRGBA // of the thumbnail
	}{
		{"checksum of text.png", still[:33] + wrongChunk("tEXt", "a\x00b") + still[33:], "300x200", upright},
		{"checksum of data.png", still[:len(still)-13] + "x" + still[len(still)-12:], "300x200", upright},
		{"checksum of transparency.png", withChunk(pngOf(palette), wrongChunk("tRNS", "\x00"), "IDAT"), "300x200",
			[]color.NRGBA{white, white, white, white}},
		{"transparency.png", withChunk(pngOf(palette), pngChunk("tRNS", "\x00"), "IDAT"), "300x200",
			[]color.NRGBA{transparent, transparent, transparent, transparent}},
		{"no end.png", still[:len(still)-12], "300x200", upright},
		{"half an end.png", still[:len(still)-6], "300x200", upright},
		{"cut off after its data.png", still[:len(still)-12] + "\x00\x00\x00\x09tEXtab", "300x200", upright},
		{"no end.jpg", photo[:len(photo)-2], "300x200", upright},
		{"cmyk.jpg", cmyk, "300x200", inks},
		{"cmyk without Adobe.jpg", withoutSegment(cmyk, 0xee), "300x200", inks},
		{"3x1.jpg", testdata(t, "sampling-3x1-1x1-1x1.jpg"), "300x200", upright},
		{"1x4.jpg", testdata(t, "sampling-1x4-1x1-1x1.jpg"), "300x200", upright},
		{"uneven chroma.jpg", testdata(t, "sampling-2x2-1x1-1x2.jpg"), "300x200", upright},
		{"uneven chroma, progressive.jpg", testdata(t, "sampling-progressive.jpg"), "300x200", upright},
		{"no screen.gif", gif[:6] + "\x00\x00\x00\x00" + gif[10:], "300x200", upright},
		{"small screen.gif", gif[:6] + "\x64\x00\x32\x00" + gif[10:], "300x200", upright},
		{"no end.gif", gif[:len(gif)-1], "300x200", upright},
		{"flag without alpha.webp", riff("VP8X", flagged, "VP8 ", vp8), "300x200", upright},
		{"alpha without flag.webp", riff("VP8X", vp8x(300, 200), "ALPH", alpha, "VP8 ", vp8), "300x200", upright},
		{"lossy.webp", riff("VP8 ", vp8), "300x200", upright},
		{"alpha.webp", lossy, "300x200", half(upright)},
		{"flag of lossless.webp", riff("VP8X", flagged, "VP8L", webpFlat(300, 200)[20:]), "300x200", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{T: t, base: s.base, dir: s.dir}
			f := s.upload(file(test.name, "image/png", test.data))[0]
			if got := shape(f); got != test.size+" thumbnail 234x156" {
				t.Fatal(got)
			}
			if got := s.corners(f.Formats["thumbnail"].URL); test.corners != nil && !alike(got, test.corners, 4) {
				t.Errorf("%v, want %v", got, test.corners)
			}
		})
	}
}

// TestUncoveredCanvasOfGIFIsTransparent uploads GIF files whose first frame does not fill their screen, or leaves it.
// What the frame does not cover is transparent, also if all colours of the palette are opaque, and if there is no room
// in it.
func TestUncoveredCanvasOfGIFIsTransparent(t *testing.T) {
	s := serve(t, "")
	full := image.NewPaletted(image.Rect(0, 0, 200, 100), nil)
	for i := range 256 {
		full.Palette = append(full.Palette, color.RGBA{uint8(i), uint8(i % 2 * 250), 255, 255})
	}
	for i := range full.Pix {
		full.Pix[i] = uint8(i % 200)
	}
	two := image.NewPaletted(image.Rect(0, 0, 200, 100), color.Palette{red, blue})
	for name, frame := range map[string]*image.Paletted{"full palette": full, "palette of two": two} {
		data := gifOf(frame)
		descriptor := strings.Index(data, "\x2c\x00\x00\x00\x00\xc8\x00\x64\x00")
		moved := data[:descriptor] + "\x2c\x64\x00\x32\x00" + data[descriptor+5:] // to 100, 50
		for _, screen := range []string{"\x2c\x01\x96\x00", "\xc8\x00\x64\x00", "\x00\x00\x00\x00"} {
			f := s.upload(file("a.gif", "image/gif", moved[:6]+screen+moved[10:]))[0]
			if got := shape(f); got != "300x150 thumbnail 245x123" {
				t.Errorf("%s, screen %x: %s", name, screen, got)
				continue
			}
			got := s.corners(f.Formats["thumbnail"].URL)
			if got[0] != transparent || got[1] != transparent || got[3] != transparent || got[2].A != 255 {
				t.Errorf("%s, screen %x: %v", name, screen, got)
			}
		}
	}
}

// TestFormatsOfThinImagesShowTheirStripes uploads images that are one pixel wide or high, in stripes of 20 pixels. Each
// format shows the stripes, as those of sharp do: none is enlarged from a smaller one, such as the thumbnail, where
// they are gray.
func TestFormatsOfThinImagesShowTheirStripes(t *testing.T) {
	s := serve(t, "")
	for _, size := range []image.Point{{1, 2000}, {2000, 1}} {
		m := image.NewGray(image.Rectangle{Max: size})
		for i := range m.Pix {
			m.Pix[i] = uint8(i / 20 % 2 * 255)
		}
		f := s.upload(file("thin.png", "image/png", pngOf(m)))[0]
		if len(f.Formats) != 4 {
			t.Fatalf("%s", shape(f))
		}
		for name, x := range f.Formats {
			if name == "thumbnail" {
				continue
			}
			got, _, err := image.Decode(bytes.NewReader(s.get(x.URL).body))
			if err != nil {
				t.Fatal(err)
			}
			long := max(x.Width, x.Height)
			for stripe := range 100 {
				at := (2*stripe + 1) * long / 200
				want := color.Gray{uint8(stripe % 2 * 255)}
				if c := got.At(min(at, x.Width-1), min(at, x.Height-1)); !near(c, want) {
					t.Errorf("%s of %v: stripe %d is %v", name, size, stripe, c)
				}
			}
		}
	}
}

// TestOrientationCountsWhereChromiumAppliesIt uploads images with EXIF in various forms. The orientation counts where
// Chromium applies it.
func TestOrientationCountsWhereChromiumAppliesIt(t *testing.T) {
	s := serve(t, "")
	m := picture(300, 200)
	photo, still := jpegOf(m, 0), pngOf(m)
	const exif = "Exif\x00\x00"
	tag := func(kind, count, value string) string {
		return "MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12" + kind + count + value
	}
	short := tag("\x00\x03", "\x00\x00\x00\x01", "\x00\x06\x00\x00\x00\x00\x00\x00")
	little := "II\x2a\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
	littleLong := "II\x2a\x00\x08\x00\x00\x00\x01\x00\x12\x01\x04\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
	long := tag("\x00\x04", "\x00\x00\x00\x01", "\x00\x00\x00\x06\x00\x00\x00\x00")
	jpeg := func(between string, segments ...string) string {
		data := photo[:2] + between
		for _, content := range segments {
			data += "\xff\xe1" + string(binary.BigEndian.AppendUint16(nil, uint16(2+len(content)))) + content
		}
		return data + photo[2:]
	}
	for _, test := range []struct {
		name, data string
		turned     bool
	}{
		{"short.jpg", jpeg("", exif+short), true},
		{"low byte first.jpg", jpeg("", exif+little), true},
		{"fill bytes.jpg", jpeg("\xff\xff\xff", exif+short), true},
		{"after XMP.jpg", jpeg("", "http://ns.adobe.com/xap/1.0/\x00<x/>", exif+short), true},
		{"long.jpg", jpeg("", exif+long), false},
		{"long, low byte first.jpg", jpeg("", exif+littleLong), false},
		{"byte.jpg", jpeg("", exif+tag("\x00\x01", "\x00\x00\x00\x01", "\x06\x00\x00\x00\x00\x00\x00\x00")), false},
		{"two values.jpg", jpeg("", exif+tag("\x00\x03", "\x00\x00\x00\x02", "\x00\x06\x00\x00\x00\x00\x00\x00")),
			false},
		{"no byte order.jpg", jpeg("", exif+"XX"+short[2:]), false},
		{"wrong version.jpg", jpeg("", exif+"MM\x00\x2b"+short[4:]), false},
		{"the first counts.jpg", jpeg("", exif+tag("\x00\x03", "\x00\x00\x00\x01", "\x00\x01\x00\x00\x00\x00\x00\x00"),
			exif+short), false},
		{"before the data.png", withChunk(still, pngChunk("eXIf", short), "IDAT"), true},
		{"after the data.png", withChunk(still, pngChunk("eXIf", short), "IEND"), false},
		{"wrong checksum.png", withChunk(still, wrongChunk("eXIf", short), "IDAT"), false},
		{"after.webp", riff("VP8X", "\x08"+vp8x(300, 200)[1:], "VP8L", webpFlat(300, 200)[20:], "EXIF", short), false},
		{"before.webp", riff("VP8X", "\x08"+vp8x(300, 200)[1:], "EXIF", short, "VP8L", webpFlat(300, 200)[20:]), false},
	} {
		f := s.upload(file(test.name, "image/png", test.data))[0]
		want, corners := "300x200 thumbnail 234x156", upright
		if test.turned {
			want, corners = "200x300 thumbnail 104x156", onRightSide
		}
		if got := shape(f); got != want {
			t.Errorf("%s: %s, want %s", test.name, got, want)
			continue
		}
		if got := s.corners(f.Formats["thumbnail"].URL); !strings.HasSuffix(test.name, ".webp") &&
			!alike(got, corners, 20) {
			t.Errorf("%s: %v, want %v", test.name, got, corners)
		}
	}
}

// TestColourProfiles uploads images with colour profiles. Their formats, and images made on request, show the colours
// that Chromium shows: they are sRGB or have the profile. sharp makes the same but for one step.
func TestColourProfiles(t *testing.T) {
	s := serve(t, imageConfig(""))
	p3 := icctest.RGB(icctest.DisplayP3, icctest.Gamma(2.2))
	adobe := icctest.RGB(icctest.AdobeRGB, icctest.Gamma(2.19921875))
	gray := icctest.Gray(icctest.Gamma(1))
	tables := icctest.Profile("RGB ", "A2B0", "mft2"+strings.Repeat("tables", 12_000))
	for _, test := range []struct {
		name       string
		profile    []byte
		shown, was color.Color
		keeps      bool
	}{
		{"Adobe RGB", adobe, color.NRGBA{0, 201, 44, 255}, color.NRGBA{64, 200, 64, 255}, false},
		{"Display P3", p3, color.NRGBA{251, 25, 0, 255}, color.NRGBA{230, 60, 40, 255}, false},
		{"sRGB", icctest.RGB(icctest.SRGB, icctest.Curve()), color.NRGBA{230, 60, 40, 255},
			color.NRGBA{230, 60, 40, 255}, false},
		{"gray", gray, color.NRGBA{128, 128, 128, 255}, color.Gray{55}, false},
		{"gray for colours", gray, color.NRGBA{64, 200, 64, 255}, color.NRGBA{64, 200, 64, 255}, false},
		{"colours for gray", p3, color.NRGBA{55, 55, 55, 255}, color.Gray{55}, false},
		{"damaged", adobe[:200], color.NRGBA{64, 200, 64, 255}, color.NRGBA{64, 200, 64, 255}, false},
		{"tables", tables, color.NRGBA{64, 200, 64, 255}, color.NRGBA{64, 200, 64, 255}, true},
	} {
		files := map[string]string{"a.png": withProfile(pngOf(flat(test.was)), test.profile),
			"a.jpg": jpegWithProfile(jpegOf(flat(test.was), 0), test.profile, 100)}
		if _, isGray := test.was.(color.Gray); !isGray {
			opaque := webpOf(test.was.(color.NRGBA))
			files["a.webp"] = riff("VP8X", "\x20"+vp8x(300, 200)[1:], "ICCP", string(test.profile), "VP8L", opaque)
		}
		if test.name == "gray" {
			files["transparency.png"] = withProfile(grayWithAlpha(55), test.profile)
		}
		for name, data := range files {
			f := s.upload(file(name, "image/png", data))[0]
			for _, url := range []string{f.Formats["thumbnail"].URL, f.URL + "?width=40",
				s.signed(f.URL, "width=30&format=png"), s.signed(f.URL, "width=30&format=jpeg"),
				s.signed(f.URL, "width=30&format=webp")} {
				want := test.shown.(color.NRGBA)
				if got := s.corners(url); !alike(got, []color.NRGBA{want, want, want, want}, 3) {
					t.Errorf("%s, %s: %s shows %v, want %v", test.name, name, url, got, want)
				}
				if got := profileIn(string(s.get(url).body)); test.keeps != (got == string(test.profile)) ||
					got != "" && !test.keeps {
					t.Errorf("%s, %s: %s has a profile of %d bytes", test.name, name, url, len(got))
				}
			}
		}
	}
}

// flat returns an image of one colour.
func flat(c color.Color) image.Image {
	if g, ok := c.(color.Gray); ok {
		m := image.NewGray(image.Rect(0, 0, 300, 200))
		for i := range m.Pix {
			m.Pix[i] = g.Y
		}
		return m
	}
	m := image.NewNRGBA(image.Rect(0, 0, 300, 200))
	for y := range 200 {
		for x := range 300 {
			m.Set(x, y, c)
		}
	}
	return m
}

func pngChunk(name, content string) string {
	chunk := string(binary.BigEndian.AppendUint32(nil, uint32(len(content)))) + name + content
	return chunk + string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(chunk[4:]))))
}

// wrongChunk returns a chunk of a PNG file with a wrong checksum.
func wrongChunk(name, content string) string {
	chunk := pngChunk(name, content)
	last := len(chunk) - 1
	return chunk[:last] + string(rune(chunk[last]&0x3f^0x01))
}

// withChunk puts a chunk into a PNG file, before the first one of a name.
func withChunk(file, chunk, before string) string {
	at := strings.Index(file, before) - 4
	return file[:at] + chunk + file[at:]
}
