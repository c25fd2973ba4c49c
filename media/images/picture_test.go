package images

import (
	"bytes"
	"errors"
	"image"
	"os"
	"path/filepath"
	"testing"
)

// FuzzPicture reads and decodes random images of at most a million pixels. What is decoded has the size that the header
// states, because limits are checked against that.
func FuzzPicture(f *testing.F) {
	names, err := filepath.Glob("../testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x01\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Add([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0aIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"))
	f.Fuzz(func(t *testing.T, file []byte) {
		for content := range pictureFormats {
			if content != SVG {
				checkPicture(t, content, bytes.NewReader(file))
			}
		}
	})
}

func checkPicture(t *testing.T, content string, file *bytes.Reader) {
	t.Helper()
	p, err := Read(file, content)
	if err != nil || p.animated {
		if err != nil && !errors.Is(err, ErrUndecodable) {
			t.Fatal(err)
		}
		return
	}
	p.coloursOf(file)
	if width, height := p.Size(); width < 1 || height < 1 {
		t.Fatalf("%d×%d", width, height)
	}
	if p.Pixels() > 1<<20 || p.memory(0, "") > 64<<20 {
		return
	}
	m, err := p.Decode(t.Context(), file)
	if err != nil {
		if !errors.Is(err, ErrUndecodable) {
			t.Fatal(err)
		}
		return
	}
	stated := image.Rect(0, 0, p.width, p.height)
	if b := m.pixels.Bounds(); b != stated && (p.format != "gif" || !b.In(stated)) {
		t.Fatalf("%s: %v is decoded, and %v stated", content, b, stated)
	}
}
