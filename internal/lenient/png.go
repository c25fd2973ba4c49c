package lenient

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
)

// maxTransparency is the length of the longest chunk tRNS: an alpha value for each of 256 colours.
const maxTransparency = 256

var errUnknownChunk = errors.New("png: a chunk that is needed and unknown")

// PNG returns a PNG file with the chunks of its first picture only: header, palette, transparency and data. Data gets a
// right checksum; a transparency with a wrong one is left out. A file whose end is missing gets one.
func PNG(r io.Reader) io.Reader {
	p := &pngPipe{sum: crc32.NewIEEE()}
	p.pipe = pipe{source: r, copied: 8, next: p.chunk}
	return &p.pipe
}

type pngPipe struct {
	pipe
	sum     hash.Hash32 // of the chunk of data that is being copied
	data    bool        // there was a chunk of data
	summing bool        // the checksum of a chunk of data comes next
}

func (p *pngPipe) chunk() error {
	if p.summing {
		p.summing, p.passed = false, nil
		p.head = binary.BigEndian.AppendUint32(nil, p.sum.Sum32())
		if err := skip(p.source, 4); err != nil {
			p.head = append(p.head, iend...)
			return p.ended(err)
		}
		return nil
	}
	var head [8]byte
	if _, err := io.ReadFull(p.source, head[:]); err != nil {
		if p.data {
			p.head = iend
		}
		return p.ended(err)
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	switch name := string(head[4:]); {
	case name == "IDAT":
		p.data, p.summing = true, true
		p.sum.Reset()
		p.sum.Write(head[4:])
		p.passed = func(b []byte) { p.sum.Write(b) }
		p.head, p.copied = head[:], size
	case name == "IEND":
		p.head = iend
		return io.EOF
	case name == "IHDR" || name == "PLTE":
		p.head, p.copied = head[:], size+4
	case name == "tRNS" && size <= maxTransparency:
		return p.transparency(head[:], size)
	case head[4]&0x20 == 0: // upper case
		return errUnknownChunk
	default:
		if err := skip(p.source, size+4); err != nil {
			if p.data {
				p.head = iend
			}
			return p.ended(err)
		}
	}
	return nil
}

var iend = []byte("\x00\x00\x00\x00IEND\xaeB`\x82")

// ended returns how the stream ends when its source did with err.
func (p *pngPipe) ended(err error) error {
	if p.data && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// transparency copies the chunk tRNS if its checksum is right.
func (p *pngPipe) transparency(head []byte, size int64) error {
	chunk := make([]byte, size+4)
	if _, err := io.ReadFull(p.source, chunk); err != nil {
		return p.ended(err)
	}
	sum := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, chunk[:size])
	if binary.BigEndian.Uint32(chunk[size:]) == sum {
		p.head = bytes.Join([][]byte{head, chunk}, nil)
	}
	return nil
}
