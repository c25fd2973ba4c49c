package lenient

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

var errNoFrame = errors.New("gif: no picture")

// maxExtensions is how many bytes of extensions may come before the first picture of a GIF file.
const maxExtensions = 1 << 20

// GIFSize returns the size with which browsers show a GIF file: that of its screen, enlarged so that the first picture
// is within it.
func GIFSize(r io.Reader) (width, height int, err error) {
	in := bufio.NewReader(r)
	var screen [13]byte
	if _, err := io.ReadFull(in, screen[:]); err != nil {
		return 0, 0, err
	}
	width, height = int(binary.LittleEndian.Uint16(screen[6:])), int(binary.LittleEndian.Uint16(screen[8:]))
	if screen[10]&0x80 != 0 {
		if err := skip(in, 3<<(1+screen[10]&7)); err != nil {
			return 0, 0, err
		}
	}
	for room := maxExtensions; room > 0; {
		kind, err := in.ReadByte()
		if err != nil {
			return 0, 0, err
		}
		switch kind {
		case 0x2c:
			var frame [8]byte
			if _, err := io.ReadFull(in, frame[:]); err != nil {
				return 0, 0, err
			}
			side := func(at int) int { return int(binary.LittleEndian.Uint16(frame[at:])) }
			return max(width, side(0)+side(4)), max(height, side(2)+side(6)), nil
		case 0x21:
			if _, err := in.ReadByte(); err != nil { // label
				return 0, 0, err
			}
			n, err := skipBlocks(in)
			if err != nil {
				return 0, 0, err
			}
			room -= n + 2
		default:
			return 0, 0, errNoFrame
		}
	}
	return 0, 0, errNoFrame
}

// skipBlocks discards the blocks of an extension, and returns how many bytes they have, at most about maxExtensions.
func skipBlocks(in *bufio.Reader) (n int, err error) {
	for n < maxExtensions {
		size, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		n += 1 + int(size)
		if size == 0 {
			break
		}
		if _, err := in.Discard(int(size)); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// GIF returns a GIF file with a screen of this size.
func GIF(r io.Reader, width, height int) io.Reader {
	var head [10]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return failed{err}
	}
	binary.LittleEndian.PutUint16(head[6:], uint16(min(width, 0xffff)))
	binary.LittleEndian.PutUint16(head[8:], uint16(min(height, 0xffff)))
	return io.MultiReader(bytes.NewReader(head[:]), r)
}
