// Package frames writes and reads streams of frames with checksums: the entries of a store's log, and what is kept or
// sent with them.
//
// A frame is its kind u8, the length of its payload u32, the payload, and the CRC-32C of all of that u32.
package frames

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"lectern/internal/budget"
	"lectern/store"
)

// A Kind says what a frame holds. Each stream has kinds of its own beside Entry.
type Kind byte

// Entry is an entry of the log: its sequence u64, and the entry as store.Entry.Raw returns it.
const Entry Kind = 'E'

const (
	// Head is the length of what precedes the payload of a frame.
	Head = 1 + 4
	// Overhead is how many bytes a frame has beside its payload.
	Overhead = Head + 4
)

// ErrDamaged: the bytes of a stream are not those that were written.
var ErrDamaged = errors.New("a frame of the stream is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Frame is a frame that was read.
type Frame struct {
	Kind    Kind
	Payload []byte
}

// Size returns the length of the whole frame.
func (f Frame) Size() int { return Overhead + len(f.Payload) }

// Entry returns the entry of the log in a frame. It refers to the memory of the payload.
func (f Frame) Entry() (*store.Entry, error) {
	if f.Kind != Entry || len(f.Payload) < 8 {
		return nil, ErrDamaged
	}
	return store.ParseEntry(binary.BigEndian.Uint64(f.Payload), f.Payload[8:])
}

// Append appends to b a frame whose payload are the parts.
func Append(b []byte, kind Kind, parts ...[]byte) []byte {
	at, length := len(b), 0
	for _, p := range parts {
		length += len(p)
	}
	b = binary.BigEndian.AppendUint32(append(b, byte(kind)), uint32(length))
	for _, p := range parts {
		b = append(b, p...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// AppendEntry appends to b the frame of an entry.
func AppendEntry(b []byte, e *store.Entry) []byte {
	return Append(b, Entry, binary.BigEndian.AppendUint64(nil, e.Sequence), e.Raw())
}

// Parse returns the frame at the beginning of b, of whatever kind. It fails if the frame is not whole, or if it was
// changed.
func Parse(b []byte) (Frame, error) {
	if len(b) < Overhead {
		return Frame{}, ErrDamaged
	}
	length := int64(binary.BigEndian.Uint32(b[1:]))
	if length > int64(len(b)-Overhead) {
		return Frame{}, ErrDamaged
	}
	end := Head + int(length)
	if binary.BigEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], castagnoli) {
		return Frame{}, ErrDamaged
	}
	return Frame{Kind(b[0]), b[Head:end:end]}, nil
}

// A Writer writes frames.
type Writer struct {
	to  io.Writer
	buf []byte
}

// NewWriter returns a Writer to to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Frame writes a frame whose payload are the parts.
func (w *Writer) Frame(kind Kind, parts ...[]byte) error {
	w.buf = Append(w.buf[:0], kind, parts...)
	_, err := w.to.Write(w.buf)
	if cap(w.buf) > 1<<20 {
		w.buf = nil
	}
	return err
}

// JSON writes a frame with a value as JSON.
func (w *Writer) JSON(kind Kind, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.Frame(kind, text)
}

// Entry writes the frame of an entry.
func (w *Writer) Entry(e *store.Entry) error {
	return w.Frame(Entry, binary.BigEndian.AppendUint64(nil, e.Sequence), e.Raw())
}

// A Longest says how many bytes the payload of each kind of frame may have. Frames of other kinds are refused.
type Longest map[Kind]int64

// A Reader reads frames. It trusts no length before the bytes have arrived.
type Reader struct {
	from    io.Reader
	longest Longest
	memory  budget.Reservation // of the last frame
}

// NewReader returns a Reader from from, which should be buffered. Frames take the memory of a budget, which may be nil;
// Release gives it back.
func NewReader(from io.Reader, longest Longest, memory *budget.Budget) *Reader {
	return &Reader{from: from, longest: longest, memory: memory.Reservation()}
}

// Release gives back the memory of the last frame.
func (r *Reader) Release() { r.memory.Release() }

// Next returns the next frame, whose memory is its own. At the end of the stream the error is io.EOF, or
// io.ErrUnexpectedEOF within a frame.
func (r *Reader) Next() (Frame, error) {
	var head [Head]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return Frame{}, err
	}
	length := int64(binary.BigEndian.Uint32(head[1:]))
	switch most, known := r.longest[Kind(head[0])]; {
	case !known:
		return Frame{}, fmt.Errorf("%w: it is of the kind %q, which this version of Lectern does not know", ErrDamaged,
			head[0])
	case length > most:
		return Frame{}, fmt.Errorf("%w: it is of the kind %q and has %d bytes, of which it may have %d at most",
			ErrDamaged, head[0], length, most)
	}
	buf, err := r.read(int(length) + Overhead - Head)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Frame{}, err
	}
	payload := buf[:length:length]
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, payload)
	if binary.BigEndian.Uint32(buf[length:]) != sum {
		return Frame{}, ErrDamaged
	}
	return Frame{Kind(head[0]), payload}, nil
}

// allocatedAhead bounds the memory that a frame gets because of the length in its head, which may be wrong. A longer
// frame gets more as it arrives.
const allocatedAhead = 256 << 10

// read reads so many bytes. Its memory grows with what arrives, and is reserved before.
func (r *Reader) read(length int) ([]byte, error) {
	r.memory.Release()
	buf := make([]byte, min(length, allocatedAhead+Overhead-Head))
	for have := 0; ; {
		n, err := io.ReadFull(r.from, buf[have:])
		if have += n; err != nil || have == length {
			return buf, err
		}
		longer := min(2*have, length)
		if err := r.memory.Grow(int64(have + longer)); err != nil {
			return nil, fmt.Errorf("read a frame of %d bytes: %w", length, err)
		}
		buf = append(make([]byte, 0, longer), buf...)[:longer]
	}
}
