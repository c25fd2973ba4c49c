package images

import (
	"encoding/binary"
	"image"
)

// maxEXIF limits how many bytes of an image are read for its orientation.
const maxEXIF = 128 << 10

// orientationOf returns the tag Orientation of the first directory of a TIFF header, 1 if there is none. As in
// browsers, only one that is stored as a single number of 16 bits counts.
func orientationOf(tiff []byte) int {
	var order binary.ByteOrder
	switch {
	case hasMark(tiff, "II*\x00"):
		order = binary.LittleEndian
	case hasMark(tiff, "MM\x00*"):
		order = binary.BigEndian
	}
	if order == nil || len(tiff) < 8 {
		return 1
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	const short = 3 // the type of numbers of 16 bits
	entries := int64(order.Uint16(tiff[at:]))
	for i := range entries {
		entry := at + 2 + 12*i
		if entry+12 > int64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[entry:]) != 0x0112 {
			continue
		}
		o := int(order.Uint16(tiff[entry+8:]))
		if order.Uint16(tiff[entry+2:]) == short && order.Uint32(tiff[entry+4:]) == 1 && 1 <= o && o <= 8 {
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
