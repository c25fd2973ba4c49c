package media

import (
	"bytes"
	"testing"

	"lectern/media/images"
)

// FuzzSVG reads the type and the size of random files. A size is not negative, and a file that has one is an SVG image.
func FuzzSVG(f *testing.F) {
	const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"/>`
	for _, text := range []string{svg, "<!-- c -->" + svg, "<!DOCTYPE svg [<!ENTITY a 'b'>]>" + svg, "<!doctype html>",
		"\xff\xfe<\x00s\x00", "<?xml version='1.0' encoding='x'?>" + svg} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r := bytes.NewReader(file)
		svg := images.IsSVG(file[:min(len(file), sniffed)], r)
		p, err := images.Read(r, images.SVG)
		if err != nil {
			t.Fatal(err)
		}
		width, height := p.Size()
		if width < 0 || height < 0 || (width == 0) != (height == 0) {
			t.Errorf("%d×%d", width, height)
		}
		k, err := kindOfFile(r, "")
		if err != nil || svg && k.active && k.content != images.SVG {
			t.Errorf("%+v %v", k, err)
		}
	})
}
