package media

import (
	"encoding/binary"
	"image"
	"io"
)

// maxEXIF limits how many bytes of an image are searched for its orientation.
const maxEXIF = 128 << 10

// jpegOrientation returns the EXIF orientation of a JPEG file, 1 if it states none.
func jpegOrientation(r io.Reader) int {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return 1
	}
	for range 64 { // segments
		if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0xff || head[1] == 0xda {
			return 1
		}
		size := int64(binary.BigEndian.Uint16(head[2:])) - 2
		if size < 0 {
			return 1
		}
		if head[1] != 0xe1 {
			if _, err := io.CopyN(io.Discard, r, size); err != nil {
				return 1
			}
			continue
		}
		segment := make([]byte, size)
		if _, err := io.ReadFull(r, segment); err != nil {
			return 1
		}
		if len(segment) > 6 && string(segment[:6]) == "Exif\x00\x00" {
			return orientationOf(segment[6:])
		}
	}
	return 1
}

// pngOrientation returns the EXIF orientation of a PNG file, from its chunk eXIf, 1 if it states none.
func pngOrientation(r io.Reader) int {
	if _, err := io.CopyN(io.Discard, r, 8); err != nil {
		return 1
	}
	for range 256 { // chunks
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return 1
		}
		size := int64(binary.BigEndian.Uint32(head[:]))
		switch string(head[4:]) {
		case "eXIf":
			return tiffOrientation(io.LimitReader(r, min(size, maxEXIF)))
		case "IDAT", "IEND":
			return 1
		}
		if _, err := io.CopyN(io.Discard, r, size+4); err != nil {
			return 1
		}
	}
	return 1
}

func tiffOrientation(r io.Reader) int {
	text, err := io.ReadAll(r)
	if err != nil {
		return 1
	}
	if len(text) > 6 && string(text[:6]) == "Exif\x00\x00" {
		text = text[6:]
	}
	return orientationOf(text)
}

// orientationOf returns the tag Orientation of the first directory of a TIFF header, 1 if there is none.
func orientationOf(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	entries := int64(order.Uint16(tiff[at:]))
	for i := range entries {
		entry := at + 2 + 12*i
		if entry+12 > int64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[entry:]) != 0x0112 {
			continue
		}
		if o := int(order.Uint16(tiff[entry+8:])); 1 <= o && o <= 8 {
			return o
		}
		return 1
	}
	return 1
}

// turned returns an image rotated and mirrored as its EXIF orientation demands.
func turned(m *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 {
		return m
	}
	w, h := m.Rect.Dx(), m.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(out.Pix[ty*out.Stride+4*tx:][:4], m.Pix[y*m.Stride+4*x:][:4])
		}
	}
	return out
}
