// Package icc converts pixels from the colours of an embedded ICC profile to sRGB. It knows profiles for RGB that have
// a matrix and curves, which cameras and programs embed (sRGB, Display P3, Adobe RGB, ProPhoto), and profiles for gray
// that have a curve. Of a profile that describes its colours by tables it tells so. It reads profiles of any origin: a
// malformed one is an error.
package icc

import (
	"errors"
	"image"
	"math"
)

// A Transform converts colours to sRGB.
type Transform struct {
	gray   bool
	tables bool
	curves [3][256]float32 // linear light of the values of red, green and blue; of a gray profile only the first
	matrix [3][3]float32   // to linear sRGB
}

// ErrTables means that a profile for RGB describes its colours only by tables, which this package does not know.
var ErrTables = errors.New("icc: colours are described by tables")

var errProfile = errors.New("icc: malformed or unknown profile")

// toSRGB is the matrix from the connection space of profiles, XYZ with the white point D50, to linear sRGB.
var toSRGB = [3][3]float64{
	{3.1338561, -1.6168667, -0.4906146},
	{-0.9787684, 1.9161415, 0.0334540},
	{0.0719453, -0.2289914, 1.4052427},
}

// New reads a profile.
func New(profile []byte) (*Transform, error) {
	tags, err := readTags(profile)
	if err != nil {
		return nil, err
	}
	switch space, connection := string(profile[16:20]), string(profile[20:24]); {
	case space == "GRAY" && connection == "XYZ ":
		t := &Transform{gray: true}
		return t, tags.curve("kTRC", &t.curves[0])
	case space == "RGB ":
		t := &Transform{tables: tags["A2B0"] != nil}
		err := t.readMatrix(tags)
		if t.tables && (err != nil || connection != "XYZ ") {
			return nil, ErrTables
		}
		if connection != "XYZ " {
			return nil, errProfile
		}
		return t, err
	}
	return nil, errProfile
}

// readMatrix reads the curves and the matrix of an RGB profile.
func (t *Transform) readMatrix(tags tags) error {
	var columns [3][3]float64
	for i, name := range []string{"r", "g", "b"} {
		if err := tags.curve(name+"TRC", &t.curves[i]); err != nil {
			return err
		}
		var err error
		if columns[i], err = tags.xyz(name + "XYZ"); err != nil {
			return err
		}
	}
	for row := range 3 {
		for column := range 3 {
			sum := 0.0
			for i := range 3 {
				sum += toSRGB[row][i] * columns[column][i]
			}
			t.matrix[row][column] = float32(sum)
		}
	}
	return nil
}

// Gray reports whether the profile is for gray pixels. One for gray is not meant for colours, nor the other way round.
func (t *Transform) Gray() bool { return t.gray }

// Tables reports whether the profile has tables, too, which are more exact than the matrix.
func (t *Transform) Tables() bool { return t.tables }

// Identity reports whether no colour changes by more than one step, as for sRGB itself.
func (t *Transform) Identity() bool {
	const step = 15
	for r := 0; r < 256; r += step {
		for g := 0; g < 256; g += step {
			for b := 0; b < 256; b += step {
				if !t.leaves(uint8(r), uint8(g), uint8(b)) {
					return false
				}
			}
		}
	}
	return true
}

// leaves reports whether a colour changes by no more than one step. For a gray profile, red alone counts.
func (t *Transform) leaves(r, g, b uint8) bool {
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) <= 1 }
	x, y, z := t.convert(r, g, b)
	return near(x, r) && (t.gray || near(y, g) && near(z, b))
}

// Convert converts the pixels of an image. It leaves their transparency.
func (t *Transform) Convert(m *image.RGBA) {
	width := m.Rect.Dx()
	for y := range m.Rect.Dy() {
		row := m.Pix[y*m.Stride:][:4*width]
		for x := 0; x < len(row); x += 4 {
			p := row[x:][:4:4]
			switch a := uint32(p[3]); a {
			case 0:
			case 255:
				p[0], p[1], p[2] = t.convert(p[0], p[1], p[2])
			default: // colours are multiplied by alpha
				whole := func(v uint8) uint8 { return uint8(min((uint32(v)*255+a/2)/a, 255)) }
				part := func(v uint8) uint8 { return uint8((uint32(v)*a + 127) / 255) }
				r, g, b := t.convert(whole(p[0]), whole(p[1]), whole(p[2]))
				p[0], p[1], p[2] = part(r), part(g), part(b)
			}
		}
	}
}

func (t *Transform) convert(r, g, b uint8) (uint8, uint8, uint8) {
	if t.gray {
		v := encoded(t.curves[0][r])
		return v, v, v
	}
	x, y, z := t.curves[0][r], t.curves[1][g], t.curves[2][b]
	row := func(m *[3]float32) uint8 { return encoded(m[0]*x + m[1]*y + m[2]*z) }
	return row(&t.matrix[0]), row(&t.matrix[1]), row(&t.matrix[2])
}

const steps = 1 << 14

// encodings holds the sRGB values of linear light from 0 to 1.
var encodings = func() (table [steps + 1]uint8) {
	for i := range table {
		v := float64(i) / steps
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		table[i] = uint8(math.Round(v * 255))
	}
	return table
}()

func encoded(linear float32) uint8 {
	switch {
	case linear >= 1:
		return 255
	case linear > 0:
		return encodings[int(linear*steps+0.5)]
	}
	return 0
}
