package images

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/webp"
)

// TestEncodeWebP encodes images and decodes them again. The result must be the same, pixel by pixel.
func TestEncodeWebP(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	patterns := map[string]func(x, y int) color.NRGBA{
		"flat":     func(x, y int) color.NRGBA { return color.NRGBA{10, 200, 30, 255} },
		"gradient": func(x, y int) color.NRGBA { return color.NRGBA{uint8(x), uint8(y), uint8(x + y), 255} },
		"two":      func(x, y int) color.NRGBA { return color.NRGBA{uint8(x / 7 % 2 * 255), 0, 0, 255} },
		"noise": func(x, y int) color.NRGBA {
			return color.NRGBA{uint8(rand.Int()), uint8(rand.Int()), uint8(rand.Int()), 255}
		},
		"seethrough": func(x,
			y int) color.NRGBA {
			return color.NRGBA{uint8(x * 3), 0, uint8(y), uint8(255 * (x % 2))}
		},
	}
	for name, at := range patterns {
		for _, size := range []image.Point{{1, 1}, {1, 40}, {40, 1}, {16, 16}, {17, 33}, {245, 156}, {500, 333}} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				m := image.NewRGBA(image.Rectangle{Max: size})
				for y := range size.Y {
					for x := range size.X {
						m.Set(x, y, at(x, y))
					}
				}
				var b bytes.Buffer
				if err := encodeWebP(&b, m, nil); err != nil {
					t.Fatal(err)
				}
				got, err := webp.Decode(bytes.NewReader(b.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				for y := range size.Y {
					for x := range size.X {
						if c := color.RGBAModel.Convert(got.At(x, y)); c != m.At(x, y) {
							t.Fatalf("pixel %d,%d: got %v, want %v", x, y, c, m.At(x, y))
						}
					}
				}
				if name == "flat" && b.Len() > 400 {
					t.Errorf("%d bytes for one colour", b.Len())
				}
			})
		}
	}
}
