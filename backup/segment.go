package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"lectern/store"
)

// A segment is one object with entries of the log that follow one another. It begins with
//
//	the text segmentMagic · epoch 8 bytes · sequence of the first entry u64 · CRC-32C of all that u32
//
// Then come frames (see appendFrame): one for each entry and, once the segment is complete, one of the kind closeFrame
// with the number of entries u64 and the SHA-256 of all bytes before the frame. A segment without that frame is open:
// its last frame may be torn, because the program or the machine that wrote it died.
const (
	segmentMagic  = "lectern segment 1\n"
	segmentHeader = len(segmentMagic) + 8 + 8 + 4
)

// A frameKind says what is in a frame.
type frameKind byte

const (
	entryFrame    frameKind = 1 // sequence u64 · the entry as Entry.Raw returns it
	closeFrame    frameKind = 2
	uploadsFrame  frameKind = 3 // names of uploaded files, as JSON; only in a stream
	positionFrame frameKind = 4 // Heartbeat as JSON; only in a stream
)

var (
	crcTable = crc32.MakeTable(crc32.Castagnoli)
	be       = binary.BigEndian
)

// frameHead is the length of the head of a frame.
const frameHead = 4 + 4 + 1

// maxFrame bounds a frame. No entry is as long: its batch has to fit into memory several times.
const maxFrame = 1 << 30

// appendFrame appends a frame: length of the body u32 · CRC-32C of kind and body u32 · kind u8 · body.
func appendFrame(b []byte, kind frameKind, body ...[]byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(kind))
	for _, part := range body {
		b = append(b, part...)
	}
	be.PutUint32(b[at:], uint32(len(b)-at-frameHead))
	be.PutUint32(b[at+4:], crc32.Checksum(b[at+8:], crcTable))
	return b
}

func appendEntry(b []byte, e *store.Entry) []byte {
	return appendFrame(b, entryFrame, be.AppendUint64(nil, e.Sequence), e.Raw())
}

// A frame is a frame that was read.
type frame struct {
	kind frameKind
	body []byte
	size int // of the whole frame
}

var errFrame = errors.New("a part of it is damaged")

// parseFrame parses the frame at the beginning of b. It fails if there is none, or if its checksum is wrong.
func parseFrame(b []byte) (frame, error) {
	if len(b) < frameHead {
		return frame{}, errFrame
	}
	n := int64(be.Uint32(b))
	if n > maxFrame || n > int64(len(b)-frameHead) {
		return frame{}, errFrame
	}
	whole := b[8 : frameHead+n]
	if crc32.Checksum(whole, crcTable) != be.Uint32(b[4:]) {
		return frame{}, errFrame
	}
	return frame{frameKind(whole[0]), whole[1:len(whole):len(whole)], frameHead + int(n)}, nil
}

// entry parses the entry in a frame.
func (f frame) entry() (*store.Entry, error) {
	if f.kind != entryFrame || len(f.body) < 8 {
		return nil, errFrame
	}
	return store.ParseEntry(be.Uint64(f.body), f.body[8:])
}

// A segment is the contents of a segment.
type segment struct {
	epoch   store.Epoch
	first   uint64
	entries []*store.Entry // they refer to the memory that the segment was parsed from
	closed  bool
	whole   int // length of the header and the frames that are whole
	torn    int // how many bytes follow them, of a frame that is torn
}

// last returns the sequence of the last entry, which is that before first if there is none.
func (s *segment) last() uint64 { return s.first + uint64(len(s.entries)) - 1 }

// errDamaged: a segment is damaged in another way than by the death of the program that wrote it.
var errDamaged = errors.New("the segment is damaged")

// newSegment returns the header of a segment.
func newSegment(epoch store.Epoch, first uint64) []byte {
	b := append([]byte(segmentMagic), epoch[:]...)
	b = be.AppendUint64(b, first)
	return be.AppendUint32(b, crc32.Checksum(b, crcTable))
}

// closeSegment appends the frame that closes a segment of count entries.
func closeSegment(raw []byte, count int) []byte {
	sum := sha256.Sum256(raw)
	return appendFrame(raw, closeFrame, be.AppendUint64(nil, uint64(count)), sum[:])
}

// parseSegment parses a segment and checks all of it. The error wraps errDamaged, unless an entry is of a newer version
// of Lectern.
func parseSegment(raw []byte) (*segment, error) {
	if len(raw) < segmentHeader || string(raw[:len(segmentMagic)]) != segmentMagic ||
		crc32.Checksum(raw[:segmentHeader-4], crcTable) != be.Uint32(raw[segmentHeader-4:]) {
		return nil, fmt.Errorf("%w: it has no header", errDamaged)
	}
	s := &segment{epoch: store.Epoch(raw[len(segmentMagic):]), first: be.Uint64(raw[len(segmentMagic)+8:]),
		whole: segmentHeader}
	for s.whole < len(raw) && !s.closed {
		f, err := parseFrame(raw[s.whole:])
		if err != nil {
			return s, s.end(raw)
		}
		if f.kind == closeFrame {
			sum := sha256.Sum256(raw[:s.whole])
			if want := append(be.AppendUint64(nil, uint64(len(s.entries))), sum[:]...); !bytes.Equal(f.body, want) {
				return s, fmt.Errorf("%w: its last part does not fit the others", errDamaged)
			}
			s.closed = true
		} else if err := s.add(f); err != nil {
			return s, err
		}
		s.whole += f.size
	}
	if s.closed && s.whole < len(raw) {
		return s, fmt.Errorf("%w: something follows its end", errDamaged)
	}
	return s, nil
}

// add adds the entry in a frame.
func (s *segment) add(f frame) error {
	e, err := f.entry()
	switch {
	case err != nil:
		return fmt.Errorf("%w after entry %d: %w", errDamaged, s.last(), err)
	case e.Sequence != s.last()+1 || e.Epoch != s.epoch:
		return fmt.Errorf("%w: after entry %d comes entry %d of the epoch %s", errDamaged, s.last(), e.Sequence,
			e.Epoch)
	}
	s.entries = append(s.entries, e)
	return nil
}

// end decides what it means that the frame after the whole ones cannot be read: the frame is torn, unless a later one
// can be read.
func (s *segment) end(raw []byte) error {
	rest := raw[s.whole:]
	for at := 1; at+frameHead < len(rest); at++ {
		switch kind := frameKind(rest[at+8]); {
		case kind == entryFrame && at+frameHead+8 <= len(rest):
			if n := be.Uint64(rest[at+frameHead:]); n <= s.last() || n > s.last()+uint64(len(rest)/frameHead) {
				continue
			}
		case kind != closeFrame || be.Uint32(rest[at:]) != 8+sha256.Size:
			continue
		}
		if _, err := parseFrame(rest[at:]); err == nil {
			return fmt.Errorf("%w after entry %d, and others follow", errDamaged, s.last())
		}
	}
	s.torn = len(rest)
	return nil
}
