// Package anyjpeg decodes JPEG files whose components are sampled in ways that image/jpeg refuses, such as 3x1,1x1,1x1
// or with two chroma components of different sizes. Like browsers it wants that each component is as large as the
// picture or smaller by a whole number. It decodes baseline and progressive files with three components of eight bits,
// and refuses what is damaged.
package anyjpeg

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image"
	"io"
)

var (
	errFormat      = errors.New("anyjpeg: malformed file")
	errUnsupported = errors.New("anyjpeg: unsupported kind of file")
)

// maxScans is how many passes over the picture a progressive file may have.
const maxScans = 64

// A component is one of the three planes of a picture.
type component struct {
	id         byte
	h, v       int // sampling factors
	quantizer  byte
	wide, high int     // blocks of 8×8 samples, whole MCUs
	covered    [2]int  // blocks across and down that cover the picture
	blocks     []int16 // coefficients: 64 for each block, in natural order
	dc         int     // DC coefficient of the block before
}

type decoder struct {
	bits
	width, height int
	components    [3]component
	h, v          int // greatest sampling factors
	across, down  int // MCUs
	quantizers    [4][64]int32
	tables        [2][4]*huffman // for DC and for AC
	restart       int            // MCUs between two restart markers; 0 for none
	progressive   bool
	jfif          bool
	adobe         int // how components are to be read, -1 if that is not stated
	zeros         int // blocks that follow without coefficients in this scan
}

// Unusual reports whether a file with this frame header is for this package: it has three components, and their
// sampling is none that image/jpeg decodes.
func Unusual(frame []byte) bool {
	var d decoder
	if d.readFrame(frame) != nil {
		return false
	}
	y, cb, cr := &d.components[0], &d.components[1], &d.components[2]
	for _, c := range d.components {
		if c.h == 3 || c.v == 3 {
			return true
		}
	}
	return y.v == 4 || y.h%cb.h != 0 || y.v%cb.v != 0 || cb.h != cr.h || cb.v != cr.v
}

// Memory returns how many bytes Decode allocates for a file with this frame header, beside a few kilobytes.
func Memory(frame []byte) int64 {
	var d decoder
	if d.readFrame(frame) != nil {
		return 0
	}
	samples := int64(0)
	for _, c := range d.components {
		samples += 64 * int64(c.wide) * int64(c.high)
	}
	return 2*samples + (3+4)*int64(d.width)*int64(
		d.height) // coefficients, and the picture: as planes and then, if it is RGB, as pixels
}

// Decode decodes a file.
func Decode(r io.Reader) (image.Image, error) {
	d := decoder{bits: bits{in: bufio.NewReader(r)}, adobe: -1}
	m, err := d.decode()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return m, err
}

func (d *decoder) decode() (image.Image, error) {
	var start [2]byte
	if _, err := io.ReadFull(d.in, start[:]); err != nil {
		return nil, err
	}
	if start != [2]byte{0xff, 0xd8} {
		return nil, errFormat
	}
	for scans := 0; ; {
		marker, err := d.marker()
		if err != nil {
			return nil, err
		}
		if marker == 0xd9 {
			if scans == 0 {
				return nil, errFormat
			}
			return d.picture(), nil
		}
		content, err := d.segment()
		if err != nil {
			return nil, err
		}
		if marker == 0xda {
			if scans++; scans > maxScans {
				return nil, errUnsupported
			}
		}
		if err := d.process(marker, content); err != nil {
			return nil, err
		}
	}
}

// marker reads the next marker.
func (d *decoder) marker() (byte, error) {
	b, err := d.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if b != 0xff {
		return 0, errFormat
	}
	for b == 0xff {
		if b, err = d.in.ReadByte(); err != nil {
			return 0, err
		}
	}
	return b, nil
}

// segment reads the content of a segment.
func (d *decoder) segment() ([]byte, error) {
	var size [2]byte
	if _, err := io.ReadFull(d.in, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(size[:])) - 2
	if n < 0 {
		return nil, errFormat
	}
	content := make([]byte, n)
	_, err := io.ReadFull(d.in, content)
	return content, err
}

// process does what a segment says.
func (d *decoder) process(marker byte, content []byte) error {
	switch marker {
	case 0xc0, 0xc1, 0xc2:
		if d.width > 0 {
			return errFormat
		}
		d.progressive = marker == 0xc2
		if err := d.readFrame(content); err != nil {
			return err
		}
		for i := range d.components {
			c := &d.components[i]
			c.blocks = make([]int16, 64*c.wide*c.high)
		}
	case 0xc3, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf:
		return errUnsupported
	case 0xc4:
		return d.readTables(content)
	case 0xdb:
		return d.readQuantizers(content)
	case 0xdd:
		if len(content) != 2 {
			return errFormat
		}
		d.restart = int(binary.BigEndian.Uint16(content))
	case 0xda:
		return d.scan(content)
	case 0xe0:
		d.jfif = d.jfif || len(content) >= 5 && string(content[:5]) == "JFIF\x00"
	case 0xee:
		if len(content) >= 12 && string(content[:5]) == "Adobe" {
			d.adobe = int(content[11])
		}
	}
	return nil
}

// readFrame reads the frame header.
func (d *decoder) readFrame(frame []byte) error {
	if len(frame) != 6+3*3 || frame[0] != 8 || frame[5] != 3 {
		return errUnsupported
	}
	d.height, d.width = int(binary.BigEndian.Uint16(frame[1:])), int(binary.BigEndian.Uint16(frame[3:]))
	if d.height == 0 || d.width == 0 {
		return errUnsupported
	}
	d.h, d.v = 1, 1
	for i := range d.components {
		c := &d.components[i]
		c.id, c.h, c.v, c.quantizer = frame[6+3*i], int(frame[7+3*i]>>4), int(frame[7+3*i]&15), frame[8+3*i]
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.quantizer > 3 {
			return errFormat
		}
		for _, other := range d.components[:i] {
			if other.id == c.id {
				return errFormat
			}
		}
		d.h, d.v = max(d.h, c.h), max(d.v, c.v)
	}
	d.across, d.down = ceil(d.width, 8*d.h), ceil(d.height, 8*d.v)
	for i := range d.components {
		c := &d.components[i]
		if d.h%c.h != 0 || d.v%c.v != 0 {
			return errUnsupported
		}
		c.wide, c.high = d.across*c.h, d.down*c.v
		c.covered = [2]int{ceil(ceil(d.width*c.h, d.h), 8), ceil(ceil(d.height*c.v, d.v), 8)}
	}
	return nil
}

// ceil returns n/by, rounded up.
func ceil(n, by int) int { return (n + by - 1) / by }

// readQuantizers reads quantization tables.
func (d *decoder) readQuantizers(content []byte) error {
	for len(content) > 0 {
		number, wide := content[0]&15, int(content[0]>>4)
		size := 64 * (1 + wide)
		if number > 3 || wide > 1 || len(content) < 1+size {
			return errFormat
		}
		for i, at := range zigzag {
			if wide == 1 {
				d.quantizers[number][at] = int32(binary.BigEndian.Uint16(content[1+2*i:]))
			} else {
				d.quantizers[number][at] = int32(content[1+i])
			}
		}
		content = content[1+size:]
	}
	return nil
}

// zigzag maps the order of coefficients in a file to their natural order.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10,
	17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34,
	27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36,
	29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46,
	53, 60, 61, 54, 47, 55, 62, 63,
}
