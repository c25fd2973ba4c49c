package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"lectern/store"
	"lectern/store/frames"
)

// A segment is one object with entries of the log that follow one another. It begins with
//
//	the text segmentMagic · epoch 8 bytes · sequence of the first entry u64 · CRC-32C of all that u32
//
// Then come frames (see store/frames): one for each entry and, once the segment is complete, one of the kind closeFrame
// with the number of entries u64 and the SHA-256 of all bytes before the frame. A segment without that frame is open:
// its last frame may be torn, because the program or the machine that wrote it died.
const (
	segmentMagic  = "lectern segment 1\n"
	segmentHeader = len(segmentMagic) + 8 + 8 + 4
)

// closeFrame is the kind of the frame that closes a segment.
const closeFrame frames.Kind = 'Z'

var (
	crcTable = crc32.MakeTable(crc32.Castagnoli)
	be       = binary.BigEndian
)

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
	return frames.Append(raw, closeFrame, be.AppendUint64(nil, uint64(count)), sum[:])
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
		f, err := frames.Parse(raw[s.whole:])
		if err != nil {
			return s, s.end(raw)
		}
		if f.Kind == closeFrame {
			sum := sha256.Sum256(raw[:s.whole])
			if want := append(be.AppendUint64(nil, uint64(len(s.entries))), sum[:]...); !bytes.Equal(f.Payload, want) {
				return s, fmt.Errorf("%w: its last part does not fit the others", errDamaged)
			}
			s.closed = true
		} else if err := s.add(f); err != nil {
			return s, err
		}
		s.whole += f.Size()
	}
	if s.closed && s.whole < len(raw) {
		return s, fmt.Errorf("%w: something follows its end", errDamaged)
	}
	return s, nil
}

// add adds the entry in a frame.
func (s *segment) add(f frames.Frame) error {
	e, err := f.Entry()
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
	for at := 1; at+frames.Overhead <= len(rest); at++ {
		switch kind := frames.Kind(rest[at]); {
		case kind == frames.Entry && at+frames.Overhead+8 <= len(rest):
			n := be.Uint64(rest[at+frames.Head:])
			if n <= s.last() || n > s.last()+uint64(len(rest)/frames.Overhead) {
				continue
			}
		case kind != closeFrame || be.Uint32(rest[at+1:]) != 8+sha256.Size:
			continue
		}
		if _, err := frames.Parse(rest[at:]); err == nil {
			return fmt.Errorf("%w after entry %d, and others follow", errDamaged, s.last())
		}
	}
	s.torn = len(rest)
	return nil
}
