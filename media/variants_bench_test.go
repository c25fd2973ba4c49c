package media

import (
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"testing"

	"lectern/internal/budget"
)

// BenchmarkVariant makes images of a JPEG photograph of 4000 × 3000 pixels. Beside the time it reports the memory that
// is reserved.
func BenchmarkVariant(b *testing.B) {
	dir, err := openDirectory(b.TempDir(), func(err error) { b.Error(err) })
	if err != nil {
		b.Fatal(err)
	}
	defer dir.close()
	writePhoto(b, filepath.Join(dir.path, "photo.jpg"), 4000, 3000)
	f := &files{dir: dir, local: &local{dir: dir}, settings: DefaultSettings,
		variants: &variants{limits: newImageLimits(1), wait: variantWait}}
	f.storage = f.local
	l := &Library{files: f}
	o, err := l.OpenFile(b.Context(), "photo.jpg")
	if err != nil {
		b.Fatal(err)
	}
	defer o.Close()
	for _, query := range []string{"width=800", "width=800&height=800&fit=cover", "width=800&format=png",
		"width=800&format=webp", "width=64"} {
		b.Run(query, func(b *testing.B) {
			v, _, err := parseVariant(query)
			if err != nil {
				b.Fatal(err)
			}
			f.memory = budget.New(1 << 30)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.renderVariant(b.Context(), origin{"photo.jpg", o.ETag, o.Modified}, v); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(f.memory.Stats().Peak)/1e6, "reserved-MB")
		})
	}
}

// writePhoto writes a JPEG image of colours that change gradually, with some noise.
func writePhoto(b *testing.B, path string, width, height int) {
	b.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			wave := func(period float64) uint8 {
				return uint8(120 + 100*math.Sin(float64(x)/period)*math.Cos(float64(y)/period))
			}
			m.SetRGBA(x, y, color.RGBA{wave(300) + uint8(x*y%13), wave(170), wave(90) + uint8(x*y%7), 255})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := jpeg.Encode(f, m, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
