package images

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"image/color"
	"image/png"
	"io"
	"math"

	"lectern/internal/lenient"
)

// readPNG reads size and kind of a PNG file from the chunks before its picture.
func (p *Picture) readPNG(head func() io.Reader) error {
	var start [8 + 8 + 13]byte // signature, then the chunk IHDR with its length and name
	if _, err := io.ReadFull(head(), start[:]); err != nil {
		return err
	}
	side := func(at int) int { return int(min(binary.BigEndian.Uint32(start[at:]), math.MaxInt32)) }
	p.width, p.height = side(16), side(20)
	c, err := png.DecodeConfig(lenient.PNG(head()))
	if err != nil {
		return err
	}
	white := c.ColorModel.Convert(color.White)
	p.pixelBytes = pngBytes(white, start[28] != 0)
	const colourType, colourUsed = 25, 2
	p.gray = start[colourType]&colourUsed == 0
	if exif := pngChunk(head(), "eXIf", maxEXIF); exif != nil {
		if hasMark(exif, exifMark) {
			exif = exif[len(exifMark):]
		}
		p.orientation = orientationOf(exif)
	}
	profile, _ := findPNGChunk(head(), "iCCP")
	p.profiled = profile != nil
	return nil
}

// pngBytes returns how many bytes decoding takes for each pixel of a PNG file, in which white is a colour of this type.
// An interlaced file takes twice as many, because it is assembled from several smaller images.
func pngBytes(white color.Color, interlaced bool) float64 {
	bytes := 4.0
	switch white.(type) {
	case color.Gray:
		bytes = 1
	case color.Gray16:
		bytes = 2
	case color.RGBA64, color.NRGBA64:
		bytes = 8
	}
	if interlaced {
		bytes *= 2
	}
	return bytes
}

// findPNGChunk reads a PNG file up to the content of the first chunk of a name before the picture. It returns nil if
// there is none.
func findPNGChunk(r io.Reader, name string) (content *bufio.Reader, size int64) {
	in := bufio.NewReaderSize(r, 4<<10)
	if _, err := in.Discard(8); err != nil {
		return nil, 0
	}
	for range 256 {
		head, err := in.Peek(8)
		if err != nil {
			return nil, 0
		}
		size := int64(binary.BigEndian.Uint32(head))
		switch string(head[4:]) {
		case name:
			return in, size
		case "IDAT", "IEND":
			return nil, 0
		}
		if _, err := io.CopyN(io.Discard, in, 8+size+4); err != nil {
			return nil, 0
		}
	}
	return nil, 0
}

// pngChunk returns the content of the first chunk of a name before the picture of a PNG file, if its checksum is right
// and it has at most so many bytes. Otherwise it returns nil.
func pngChunk(r io.Reader, name string, most int64) []byte {
	in, size := findPNGChunk(r, name)
	if in == nil || size > most {
		return nil
	}
	chunk := make([]byte, 8+size+4)
	if _, err := io.ReadFull(in, chunk); err != nil {
		return nil
	}
	named, sum := chunk[4:8+size], chunk[8+size:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(named) {
		return nil
	}
	return named[4:]
}

// pngChunkOf returns a chunk of a PNG file, with length and checksum. named is its name and content.
func pngChunkOf(named []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(named)-4))
	chunk = append(chunk, named...)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(named))
}
