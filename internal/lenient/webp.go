package lenient

import (
	"encoding/binary"
	"errors"
	"io"
)

var errNoWebP = errors.New("webp: not a WebP file")

// WebP returns a WebP file with the chunks of its picture only. Its header says that there is transparency if, and only
// if, a chunk with it follows. Transparency that the header of the file does not announce is left out.
func WebP(r io.Reader) io.Reader {
	p := &webpPipe{}
	p.pipe = pipe{source: r, next: p.start}
	return &p.pipe
}

type webpPipe struct {
	pipe
	announced bool // the header announces transparency
	canvas    [6]byte
	padding   int64
}

func (p *webpPipe) start() error {
	var head [12]byte
	if _, err := io.ReadFull(p.source, head[:]); err != nil {
		return err
	}
	if string(head[:4]) != "RIFF" || string(head[8:]) != "WEBP" {
		return errNoWebP
	}
	p.head = []byte("RIFF\xf0\xff\xff\xffWEBP") // its length is unknown, and the decoder stops at the end of the picture
	p.next = p.chunk
	return nil
}

func (p *webpPipe) chunk() error {
	if err := skip(p.source, p.padding); err != nil {
		return err
	}
	p.padding = 0
	var head [8]byte
	if _, err := io.ReadFull(p.source, head[:]); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(head[4:]))
	switch name := string(head[:4]); {
	case name == "VP8X" && size == 10:
		var header [10]byte
		if _, err := io.ReadFull(p.source, header[:]); err != nil {
			return err
		}
		p.announced = header[0]&0x10 != 0
		copy(p.canvas[:], header[4:])
	case name == "ALPH" && p.announced:
		p.announced = false
		p.head = append([]byte("VP8X\x0a\x00\x00\x00\x10\x00\x00\x00"), p.canvas[:]...)
		p.head, p.copied = append(p.head, head[:]...), size+size&1
	case name == "VP8 " || name == "VP8L":
		p.head, p.copied, p.padding = head[:], size, size&1
	default:
		return skip(p.source, size+size&1)
	}
	return nil
}
