package lenient_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"lectern/internal/lenient"
)

func picture() *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, 20, 10), color.Palette{color.White, color.Black})
	for i := range m.Pix {
		m.Pix[i] = uint8(i % 3 / 2)
	}
	return m
}

func encoded(t testing.TB, encode func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func chunk(name, content string, damage uint32) string {
	c := string(binary.BigEndian.AppendUint32(nil, uint32(len(content)))) + name + content
	return c + string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(c[4:]))^damage))
}

// TestPNG decodes PNG files that are damaged. The picture is the same as that of the whole file.
func TestPNG(t *testing.T) {
	whole := encoded(t, func(w io.Writer) error { return png.Encode(w, picture()) })
	data := strings.Index(whole, "IDAT") - 4
	end := len(whole) - 12
	want, err := png.Decode(strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"whole": whole, "no end": whole[:end], "half an end": whole[:end+7], "no checksum": whole[:end-4],
		"half a checksum":                whole[:end-2],
		"wrong checksum of data":         whole[:end-1] + "!" + whole[end:],
		"wrong checksum of the end":      whole[:len(whole)-1] + "!",
		"wrong checksum of text":         whole[:33] + chunk("tEXt", "a\x00b", 1) + whole[33:],
		"wrong checksum of transparency": whole[:data] + chunk("tRNS", "\x00", 1) + whole[data:],
		"text amid the data":             whole[:end] + chunk("tEXt", "a", 0) + chunk("IDAT", "", 0) + whole[end:],
		"more after the end":             whole + "garbage",
	} {
		for _, r := range []io.Reader{strings.NewReader(file), iotest.OneByteReader(strings.NewReader(file)),
			iotest.DataErrReader(strings.NewReader(file))} {
			got, err := png.Decode(lenient.PNG(r))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if !bytes.Equal(got.(*image.Paletted).Pix, want.(*image.Paletted).Pix) || got.At(0, 0) != want.At(0, 0) {
				t.Errorf("%s: another picture", name)
			}
		}
	}
	for name, file := range map[string]string{
		"nothing": "", "no data": whole[:data], "half of the data": whole[:data+20],
		"wrong checksum of the header": whole[:32] + "!" + whole[33:],
		"unknown chunk":                whole[:33] + chunk("ABCD", "", 0) + whole[33:],
	} {
		if _, err := png.Decode(lenient.PNG(strings.NewReader(file))); err == nil {
			t.Errorf("%s: it was decoded", name)
		}
	}
}

// TestGIF reads the sizes with which browsers show GIF files, and decodes the files.
func TestGIF(t *testing.T) {
	whole := encoded(t, func(w io.Writer) error { return gif.Encode(w, picture(), nil) })
	frame := strings.Index(whole, "\x2c\x00\x00\x00\x00\x14\x00\x0a\x00")
	comment := "\x21\xfe\x03abc\x00"
	for name, file := range map[string]string{
		"whole": whole, "no screen": whole[:6] + "\x00\x00\x00\x00" + whole[10:], "small screen": whole[:6] +
			"\x01\x00\x0a\x00" + whole[10:],
		"comment": whole[:frame] + comment + whole[frame:],
	} {
		width, height, err := lenient.GIFSize(strings.NewReader(file))
		if width != 20 || height != 10 || err != nil {
			t.Errorf("%s: %d×%d %v", name, width, height, err)
		}
		if m, err := gif.Decode(lenient.GIF(strings.NewReader(file), width, height)); err != nil ||
			m.Bounds() != image.Rect(0, 0, 20, 10) {
			t.Errorf("%s: %v", name, err)
		}
	}
	moved := whole[:frame+1] + "\x05\x00\x06\x00" + whole[frame+5:]
	if width, height, err := lenient.GIFSize(strings.NewReader(moved)); width != 25 || height != 16 || err != nil {
		t.Errorf("moved: %d×%d %v", width, height, err)
	}
	for name, file := range map[string]string{
		"nothing": "", "no frame": whole[:frame], "half a frame": whole[:frame+4], "unknown block": whole[:frame] +
			"\x11",
		"endless comments": whole[:frame] + strings.Repeat(comment, 1<<18), "an endless comment": whole[:frame] +
			"\x21\xfe" + strings.Repeat("\x01a", 1<<20),
	} {
		if _, _, err := lenient.GIFSize(strings.NewReader(file)); err == nil {
			t.Errorf("%s: it has a size", name)
		}
	}
}

// TestJPEG decodes a JPEG file without its end.
func TestJPEG(t *testing.T) {
	whole := encoded(t, func(w io.Writer) error { return jpeg.Encode(w, picture(), nil) })
	for _, file := range []string{whole, whole[:len(whole)-2]} {
		if _, err := jpeg.Decode(lenient.JPEG(strings.NewReader(file), false)); err != nil {
			t.Error(err)
		}
	}
	if got, err := io.ReadAll(lenient.JPEG(strings.NewReader(whole), true)); err != nil ||
		!strings.Contains(string(got), "Adobe") || string(got[:2]) != "\xff\xd8" {
		t.Errorf("as CMYK: %v", err)
	}
	failed := errors.New("the disk fails")
	if _, err := io.ReadAll(lenient.JPEG(iotest.ErrReader(failed), true)); !errors.Is(err, failed) {
		t.Error(err)
	}
}

// TestWebP compares what comes of the chunks of WebP files.
func TestWebP(t *testing.T) {
	part := func(name, content string) string {
		c := name + string(binary.LittleEndian.AppendUint32(nil, uint32(len(content)))) + content
		return c + strings.Repeat("\x00", len(content)%2)
	}
	head := func(flags string) string { return part("VP8X", flags+"\x00\x00\x00\x09\x00\x00\x09\x00\x00") }
	alpha, lossy, lossless := part("ALPH", "a"), part("VP8 ", "picture"), part("VP8L", "picture")
	exif := part("EXIF", "odd")
	for _, test := range []struct{ name, file, want string }{
		{"bare", lossy, lossy},
		{"lossless", head("\x10") + lossless, lossless},
		{"flag, no alpha", head("\x10") + lossy, lossy},
		{"flag and alpha", head("\x10") + exif + alpha + lossy, head("\x10") + alpha + lossy},
		{"all flags and alpha", head("\x3c") + alpha + lossy, head("\x10") + alpha + lossy},
		{"alpha, no flag", head("\x00") + alpha + lossy, lossy},
		{"two of alpha", head("\x10") + alpha + alpha + lossy, head("\x10") + alpha + lossy},
		{"others", head("\x00") + exif + part("ICCP", "profile") + lossless, lossless},
	} {
		got, err := io.ReadAll(
			lenient.WebP(iotest.OneByteReader(strings.NewReader("RIFF\x00\x00\x00\x00WEBP" + test.file))))
		trimmed := strings.TrimSuffix(test.want, "\x00") // the decoder does not read the last padding
		if string(got) != "RIFF\xf0\xff\xff\xffWEBP"+trimmed || err != io.EOF && err != nil {
			t.Errorf("%s: %q %v, want %q", test.name, got, err, trimmed)
		}
	}
	for _, file := range []string{"", "RIFF", "RIFF\x00\x00\x00\x00WAVE" + lossy} {
		if got, err := io.ReadAll(lenient.WebP(strings.NewReader(file))); err == nil && len(got) > 0 {
			t.Errorf("%q: %q", file, got)
		}
	}
}

// FuzzLenient mends random files. The work ends, and what comes out is not much longer than what goes in.
func FuzzLenient(f *testing.F) {
	f.Add([]byte(encoded(f, func(w io.Writer) error { return png.Encode(w, picture()) })))
	f.Add([]byte(encoded(f, func(w io.Writer) error { return gif.Encode(w, picture(), nil) })))
	f.Add([]byte(encoded(f, func(w io.Writer) error { return jpeg.Encode(w, picture(), nil) })))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10123456789ALPH\x01\x00\x00\x00aaVP8 \x01\x00\x00\x00a"))
	f.Fuzz(func(t *testing.T, file []byte) {
		in := func() io.Reader { return bytes.NewReader(file) }
		width, height, err := lenient.GIFSize(in())
		if err == nil && (width < 0 || height < 0 || width > 2<<16 || height > 2<<16) {
			t.Errorf("%d×%d", width, height)
		}
		for _, r := range []io.Reader{lenient.PNG(in()), lenient.JPEG(in(), true), lenient.GIF(in(), width, height),
			lenient.WebP(in())} {
			n, _ := io.Copy(io.Discard, r)
			if n > int64(len(file))+64 {
				t.Errorf("%d bytes of %d", n, len(file))
			}
		}
	})
}
