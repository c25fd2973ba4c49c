// Package icctest makes ICC profiles for tests.
package icctest

import (
	"encoding/binary"
	"math"
)

// Colorants are red, green and blue of a colour space in XYZ, adapted to the white point D50.
type Colorants [3][3]float64

// The colour spaces that pictures have most often.
var (
	SRGB      = Colorants{{0.43607, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}}
	AdobeRGB  = Colorants{{0.60974, 0.31111, 0.01947}, {0.20528, 0.62567, 0.06087}, {0.14919, 0.06322, 0.74457}}
	DisplayP3 = Colorants{{0.51512, 0.24120, -0.00105}, {0.29198, 0.69225, 0.04189}, {0.15710, 0.06657, 0.78407}}
)

// Curve returns the curve of sRGB as a formula.
func Curve() []byte {
	b := []byte("para\x00\x00\x00\x00\x00\x03\x00\x00")
	for _, v := range []float64{2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045} {
		b = append(b, fixed(v)...)
	}
	return b
}

// Gamma returns a curve that is a power.
func Gamma(g float64) []byte {
	return binary.BigEndian.AppendUint16([]byte("curv\x00\x00\x00\x00\x00\x00\x00\x01"), uint16(math.Round(g*256)))
}

// Samples returns the curve of sRGB as n samples.
func Samples(n int) []byte {
	b := binary.BigEndian.AppendUint32([]byte("curv\x00\x00\x00\x00"), uint32(n))
	for i := range n {
		v := float64(i) / float64(n-1)
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		b = binary.BigEndian.AppendUint16(b, uint16(math.Round(v*65535)))
	}
	return b
}

// RGB returns a profile for RGB with a matrix and one curve for all channels. more are further tags: name, content,
// name, content.
func RGB(colorants Colorants, curve []byte, more ...string) []byte {
	tags := more
	for i, name := range []string{"r", "g", "b"} {
		xyz := []byte("XYZ \x00\x00\x00\x00")
		for _, v := range colorants[i] {
			xyz = append(xyz, fixed(v)...)
		}
		tags = append(tags, name+"XYZ", string(xyz), name+"TRC", string(curve))
	}
	return Profile("RGB ", tags...)
}

// Gray returns a profile for gray with a curve.
func Gray(curve []byte) []byte { return Profile("GRAY", "kTRC", string(curve)) }

// Profile returns a profile for a colour space with these tags: name, content, name, content.
func Profile(space string, tags ...string) []byte {
	tags = append([]string{"desc", "desc\x00\x00\x00\x00\x00\x00\x00\x02x\x00" + string(make([]byte, 78)),
		"wtpt", "XYZ \x00\x00\x00\x00" + string(fixed(0.9642)) + string(fixed(1)) + string(fixed(0.8249))}, tags...)
	head := make([]byte, 128)
	copy(head[8:], "\x02\x40\x00\x00mntr"+space+"XYZ ")
	copy(head[36:], "acsp")
	copy(head[68:], string(fixed(0.9642))+string(fixed(1))+string(fixed(0.8249)))
	count := len(tags) / 2
	table := binary.BigEndian.AppendUint32(nil, uint32(count))
	var data []byte
	for i := range count {
		content := tags[2*i+1]
		table = append(table, tags[2*i]...)
		table = binary.BigEndian.AppendUint32(table, uint32(128+4+12*count+len(data)))
		table = binary.BigEndian.AppendUint32(table, uint32(len(content)))
		data = append(data, content...)
		data = append(data, make([]byte, -len(data)&3)...)
	}
	profile := append(append(head, table...), data...)
	binary.BigEndian.PutUint32(profile, uint32(len(profile)))
	return profile
}

func fixed(v float64) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(int32(math.Round(v*65536))))
}
