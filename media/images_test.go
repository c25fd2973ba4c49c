package media_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
)

// picture returns an image whose corners are red, green, blue and white, clockwise.
func picture(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{255, 0, 0, 255}
			switch {
			case x >= w/2 && y < h/2:
				c = color.RGBA{0, 255, 0, 255}
			case x >= w/2:
				c = color.RGBA{0, 0, 255, 255}
			case y >= h/2:
				c = color.RGBA{255, 255, 255, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func pngOf(m image.Image) string {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.String()
}

func gifOf(m image.Image) string {
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
		panic(err)
	}
	return b.String()
}

// jpegOf encodes an image as JPEG with an EXIF orientation; 0 means none.
func jpegOf(m image.Image, orientation int) string {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic(err)
	}
	if orientation == 0 {
		return b.String()
	}
	tiff := "Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" +
		string(rune(orientation)) + "\x00\x00\x00\x00\x00\x00"
	head := []byte{0xff, 0xe1, 0, byte(len(tiff) + 2)}
	return b.String()[:2] + string(head) + tiff + b.String()[2:]
}

// pngHead returns a PNG file that states a size and ends after its header.
func pngHead(w, h uint32) string {
	ihdr := binary.BigEndian.AppendUint32([]byte("IHDR"), w)
	ihdr = binary.BigEndian.AppendUint32(ihdr, h)
	ihdr = append(ihdr, 8, 6, 0, 0, 0)
	return "\x89PNG\r\n\x1a\n\x00\x00\x00\r" + string(binary.BigEndian.AppendUint32(ihdr, crc32.ChecksumIEEE(ihdr))) +
		"\x00\x00\x00\x00IEND\xaeB`\x82"
}

// webpFlat returns a lossless WebP file of one colour: a few bytes for any size.
func webpFlat(w, h int) string {
	var stream bitStream
	put := stream.put
	put(0x2f, 8)
	put(uint64(w-1), 14)
	put(uint64(h-1), 14)
	put(0, 1+3+1+1+1) // opaque, version, no transform, no cache, no meta codes
	for _, symbol := range []uint64{0x40, 0x80, 0xc0, 0xff, 0} {
		put(1, 1) // simple code
		put(0, 1) // one symbol
		put(1, 1) // of eight bits
		put(symbol, 8)
	}
	put(0, 8)
	return riff("VP8L", string(stream.data))
}

// A bitStream writes the bits of a lossless WebP file; each byte is filled from its lowest bit.
type bitStream struct {
	data []byte
	bits uint64 // bits of the byte that is not full yet
	n    int    // number of bits in it
}

func (s *bitStream) put(v uint64, count int) {
	s.bits |= v << s.n
	for s.n += count; s.n >= 8; s.n -= 8 {
		s.data = append(s.data, byte(s.bits))
		s.bits >>= 8
	}
}

// riff returns a WebP file made of these chunks.
func riff(chunks ...string) string {
	var b strings.Builder
	for i := 0; i < len(chunks); i += 2 {
		data := chunks[i+1]
		b.WriteString(chunks[i] + string(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) + data)
		if len(data)%2 == 1 {
			b.WriteByte(0)
		}
	}
	return "RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(4+b.Len()))) + "WEBP" + b.String()
}
