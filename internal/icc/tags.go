package icc

import (
	"encoding/binary"
	"math"
)

// tags holds the content of each tag of a profile.
type tags map[string][]byte

const (
	headerSize = 128
	maxTags    = 200
)

// readTags reads header and table of tags of a profile.
func readTags(profile []byte) (tags, error) {
	if len(profile) < headerSize+4 || string(profile[36:40]) != "acsp" {
		return nil, errProfile
	}
	count := binary.BigEndian.Uint32(profile[headerSize:])
	table := profile[headerSize+4:]
	if count > maxTags || len(table) < 12*int(count) {
		return nil, errProfile
	}
	all := tags{}
	for i := range int(count) {
		entry := table[12*i:][:12]
		at, size := uint64(binary.BigEndian.Uint32(entry[4:])), uint64(binary.BigEndian.Uint32(entry[8:]))
		if at+size > uint64(len(profile)) {
			return nil, errProfile
		}
		all[string(entry[:4])] = profile[at : at+size]
	}
	return all, nil
}

// fixed reads a signed number with 16 bits after the point.
func fixed(b []byte) float64 { return float64(int32(binary.BigEndian.Uint32(b))) / 65536 }

// xyz reads a tag with a colour of the connection space.
func (t tags) xyz(name string) (v [3]float64, err error) {
	tag := t[name]
	if len(tag) < 20 || string(tag[:4]) != "XYZ " {
		return v, errProfile
	}
	return [3]float64{fixed(tag[8:]), fixed(tag[12:]), fixed(tag[16:])}, nil
}

// curve reads a tag with a curve, and computes its value for each value of a channel.
func (t tags) curve(name string, values *[256]float32) error {
	tag := t[name]
	if len(tag) < 12 {
		return errProfile
	}
	var f func(float64) float64
	switch string(tag[:4]) {
	case "curv":
		f = sampledCurve(tag[8:])
	case "para":
		f = parametricCurve(tag[8:])
	}
	if f == nil {
		return errProfile
	}
	for i := range values {
		values[i] = float32(bounded(f(float64(i) / 255)))
	}
	return nil
}

// bounded returns a number from 0 to 1; 0 for what is no number.
func bounded(v float64) float64 {
	if v >= 0 {
		return min(v, 1)
	}
	return 0
}

// sampledCurve reads a curve that is the identity, a power, or the line through samples. It returns nil if it is
// malformed.
func sampledCurve(b []byte) func(float64) float64 {
	count, samples := int64(binary.BigEndian.Uint32(b)), b[4:]
	switch {
	case int64(len(samples)) < 2*count:
		return nil
	case count == 0:
		return func(x float64) float64 { return x }
	case count == 1:
		gamma := float64(binary.BigEndian.Uint16(samples)) / 256
		return func(x float64) float64 { return math.Pow(x, gamma) }
	}
	at := func(i int) float64 { return float64(binary.BigEndian.Uint16(samples[2*i:])) / 65535 }
	last := int(count) - 1
	return func(x float64) float64 {
		x *= float64(last)
		i := min(int(x), last-1)
		return at(i) + (x-float64(i))*(at(i+1)-at(i))
	}
}

// parametricCurve reads a curve that is a formula with up to seven numbers. It returns nil if it is malformed.
func parametricCurve(b []byte) func(float64) float64 {
	kind := int(binary.BigEndian.Uint16(b))
	counts := []int{1, 3, 4, 5, 7}
	if kind >= len(counts) || len(b) < 4+4*counts[kind] {
		return nil
	}
	p := [7]float64{1, 1} // g, a, b, c, d, e, f
	for i := range counts[kind] {
		p[i] = fixed(b[4+4*i:])
	}
	g, a, off, c, d, e, f := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	power := func(x float64) float64 { return math.Pow(max(a*x+off, 0), g) }
	switch kind {
	case 0:
		return power
	case 1: // 0 below -b/a
		return func(x float64) float64 {
			if a*x+off < 0 {
				return 0
			}
			return power(x)
		}
	case 2: // c is added, and c alone below -b/a
		return func(x float64) float64 {
			if a*x+off < 0 {
				return c
			}
			return power(x) + c
		}
	}
	return func(x float64) float64 { // a line below d
		if x < d {
			return c*x + f
		}
		return power(x) + e
	}
}
