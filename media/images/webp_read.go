package images

import (
	"encoding/binary"
	"image"
	"io"
	"math"
)

// maxWebPChunks is how many chunks of a WebP file are read.
const maxWebPChunks = 1024

// readWebP reads size and kind from the chunks of a WebP file. An extended file whose picture has another size than the
// file states, or that has several pictures, is undecodable; otherwise a small file could hide a huge picture. EXIF
// does not count: browsers ignore it in WebP.
func (p *Picture) readWebP(f io.ReaderAt) (err error) {
	var head [12]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return err
	}
	end := int64(binary.LittleEndian.Uint32(head[4:])) + 8
	extended, pictures := false, 0
	p.pixelBytes = 1.5 + 1 // lossy: YCbCr and transparency
	for at, chunks := int64(12), 0; at+8 <= end && chunks < maxWebPChunks; chunks++ {
		var chunk [8 + 10]byte
		n, failed := f.ReadAt(chunk[:], at)
		if n < 8 {
			return failed
		}
		size := int64(binary.LittleEndian.Uint32(chunk[4:]))
		switch name := string(chunk[:4]); name {
		case "VP8X":
			if n < len(chunk) || extended || pictures > 0 {
				err = ErrUndecodable
				break
			}
			extended, p.animated = true, chunk[8]&2 != 0
			p.width, p.height = 1+uint24(chunk[12:]), 1+uint24(chunk[15:])
			if p.animated {
				return nil
			}
		case "VP8 ", "VP8L":
			pictures++
			w, h := p.webpPicture(name, chunk[8:n])
			if w == 0 || pictures > 1 || extended && (w != p.width || h != p.height) {
				err = ErrUndecodable
			}
			p.width, p.height = max(p.width, w), max(p.height, h)
			if !extended {
				return err
			}
		case "ICCP":
			if !p.profiled {
				p.profiled, p.icc.at, p.icc.size = true, at+8, size
			}
		}
		at += 8 + size + size&1
	}
	if pictures == 0 {
		err = ErrUndecodable
	}
	return err
}

// webpPicture returns the size that a picture states in its first bytes, 0 if it states none.
func (p *Picture) webpPicture(name string, data []byte) (width, height int) {
	if name == "VP8L" && len(data) >= 5 {
		p.pixelBytes = 2 * 4 // lossless: the transformed pixels and the result
		bits := binary.LittleEndian.Uint32(data[1:])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff)
	}
	if name == "VP8 " && len(data) >= 10 {
		return int(binary.LittleEndian.Uint16(data[6:])) & 0x3fff, int(binary.LittleEndian.Uint16(data[8:])) & 0x3fff
	}
	return 0, 0
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// fullRange converts the samples of lossy WebP to those of image.YCbCr, which have all values: in WebP, black is 16 and
// white 235, and colours go from 16 to 240.
func fullRange(m *image.YCbCr) {
	for i, v := range m.Y {
		m.Y[i] = fullY[v]
	}
	for _, plane := range [][]uint8{m.Cb, m.Cr} {
		for i, v := range plane {
			plane[i] = fullC[v]
		}
	}
}

// fullY and fullC hold the values of fullRange for brightness and colours.
var fullY, fullC = stretched(16, 0, 219), stretched(128, 128, 224)

// stretched maps the value from to the value to, and what is so many steps away from it to what is 255 steps away.
func stretched(from, to, steps float64) (table [256]uint8) {
	for i := range table {
		table[i] = uint8(math.Round(max(0, min((float64(i)-from)*255/steps+to, 255))))
	}
	return table
}
