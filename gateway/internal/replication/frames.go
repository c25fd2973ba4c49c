// Package replication is what an origin and its replicas say to each other: streams of frames, the definition files of
// a project, and the client of an origin.
//
// An origin answers five questions, all below the path /_replica of its REST API:
//
//	GET log?since=POSITION   the entries of the log after a position, and those to come, until either side ends the connection;
//	                         heartbeat=DURATION asks for a Status more often than every Heartbeat
//	GET copy                 the definition files, and a copy of the store that has their definitions
//	GET position             the position behind the last entry of the log
//	GET definitions          the definition files
//	GET files                the names and checksums of the uploaded files, which are served below /uploads
//
// The parameters of log and copy also say which part a partial replica wants: types=UID,…, locales=CODE,… and
// published=true.
//
// The answers are streams of frames (see Writer). Each frame has a checksum, and a stream that is cut off lacks its
// last frame, so a replica never takes half of anything for the whole.
//
// # A replica
//
// A replica applies the entries of its origin's log in its own store, which takes no other write. It reads ahead, so
// all entries that have arrived share a transaction, and connects anew with growing pauses. All copies that an origin
// sends share a rate, so that reads stay fast while they are sent. It is the replica that checks a copy for damage: at
// the origin the check would compete with reads for the processors and the disk.
//
//   - Changed definitions. When the origin says that it has sent all of a conversion, the replica fetches the
//     definition files, and serves them if the content has come so far.
//   - Kills. Position and content are in one transaction. The definition files are kept twice, as served and as next; a
//     start takes the ones that fit the content. If neither does, because the replica was killed half way through a
//     conversion, it begins anew with a copy.
//   - Beginning anew. When the log does not continue, a copy is made beside the store, and replaces it.
//   - Forwarded writes. A replica may send a request that writes to its origin as it came. It asks the origin for its
//     position after the answer, and answers when its own store has that position. The header Via names each replica on
//     the way, so that a loop ends.
package replication

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"lectern/internal/budget"
	"lectern/store"
)

// A Kind says what a frame holds.
type Kind byte

const (
	StatusFrame      Kind = 'S' // a Status, as JSON
	EntryFrame       Kind = 'E' // an entry of the log: its sequence u64, and the entry
	PartFrame        Kind = 'P' // an entry that was reduced to a part: its sequence u64, the hash of the whole entry, and the entry
	ResetFrame       Kind = 'R' // the replica has to begin anew with a copy; why, as a text
	DefinitionsFrame Kind = 'D' // Definitions, as JSON
	ChunkFrame       Kind = 'C' // the next bytes of a copy
	FilesFrame       Kind = 'F' // a list of Files, as JSON
	EndFrame         Kind = 'Z' // the end of a copy; empty
)

// A Status tells a replica how far the log of its origin goes. An origin sends one whenever it has sent all entries,
// and at least every Heartbeat.
type Status struct {
	Position    string `json:"position"`    // behind the last entry
	Definitions string `json:"definitions"` // the hash of the definition files
}

// Heartbeat is how often an origin sends a Status although nothing has changed, unless a replica wants one more often.
const Heartbeat = 5 * time.Second

// shortestHeartbeat is the shortest interval that a replica may ask for.
const shortestHeartbeat = 100 * time.Millisecond

// HeartbeatWithin returns how often a replica asks for a Status that gives up a connection after a silence; 0: three
// times Heartbeat.
func HeartbeatWithin(silence time.Duration) time.Duration {
	return min(cmp.Or(silence/3, Heartbeat), Heartbeat)
}

// HeartbeatOf returns the interval that a replica asks for, within what an origin allows.
func HeartbeatOf(asked string) time.Duration {
	d, err := time.ParseDuration(asked)
	if err != nil {
		return Heartbeat
	}
	return min(max(d, shortestHeartbeat), Heartbeat)
}

// longest is how many bytes the payload of a frame may have. An entry is about as long as the body of the request that
// wrote it. The list of Files takes about 170 bytes a file.
var longest = map[Kind]int64{
	StatusFrame: 64 << 10, EntryFrame: 256 << 20, PartFrame: 256 << 20, ResetFrame: 64 << 10,
	DefinitionsFrame: 16 << 20, ChunkFrame: chunkSize, FilesFrame: 1 << 30,
	EndFrame: 0,
}

// ErrDamaged: the bytes of a stream are not those that were sent.
var ErrDamaged = errors.New("a frame of the stream is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Writer writes frames: kind u8 · length of the payload u32 · payload · CRC-32C of all of that u32.
type Writer struct {
	to  io.Writer
	buf []byte
}

// NewWriter returns a Writer to to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Frame writes a frame whose payload are the parts.
func (w *Writer) Frame(kind Kind, parts ...[]byte) error {
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	w.buf = binary.BigEndian.AppendUint32(append(w.buf[:0], byte(kind)), uint32(length))
	for _, p := range parts {
		w.buf = append(w.buf, p...)
	}
	w.buf = binary.BigEndian.AppendUint32(w.buf, crc32.Checksum(w.buf, castagnoli))
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
	return w.Frame(EntryFrame, binary.BigEndian.AppendUint64(nil, e.Sequence), e.Raw())
}

// PartEntry writes the frame of an entry that was reduced to a part.
func (w *Writer) PartEntry(e *store.Entry) error {
	whole := e.Whole()
	return w.Frame(PartFrame, binary.BigEndian.AppendUint64(nil, e.Sequence), whole[:], e.Raw())
}

// Chunks returns an io.Writer that writes the bytes of a copy in frames.
func (w *Writer) Chunks() io.Writer { return chunks{w} }

type chunks struct{ *Writer }

func (c chunks) Write(b []byte) (n int, err error) {
	for len(b) > n {
		part := b[n:min(len(b), n+chunkSize)]
		if err := c.Frame(ChunkFrame, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

const chunkSize = 256 << 10

// A Reader reads frames. It trusts no length before the bytes have arrived.
type Reader struct {
	from   io.Reader
	memory budget.Reservation // of the last frame
}

// NewReader returns a Reader from from, which should be buffered. Frames take the memory of a budget, which may be nil;
// Release gives it back.
func NewReader(from io.Reader, memory *budget.Budget) *Reader {
	return &Reader{from: from, memory: memory.Reservation()}
}

// Release gives back the memory of the last frame.
func (r *Reader) Release() { r.memory.Release() }

// Next returns the next frame. At the end of the stream the error is io.EOF, or io.ErrUnexpectedEOF within a frame.
func (r *Reader) Next() (kind Kind, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return 0, nil, err
	}
	length := int64(binary.BigEndian.Uint32(head[1:]))
	switch most, known := longest[Kind(head[0])]; {
	case !known:
		return 0, nil, fmt.Errorf("%w: it is of the kind %q, which this version of Lectern does not know", ErrDamaged,
			head[0])
	case length > most:
		return 0, nil, fmt.Errorf("%w: it is of the kind %q and has %d bytes, of which it may have %d at most",
			ErrDamaged, head[0], length, most)
	}
	buf, err := r.read(int(length) + 4)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	payload = buf[:length]
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, payload)
	if binary.BigEndian.Uint32(buf[length:]) != sum {
		return 0, nil, ErrDamaged
	}
	return Kind(head[0]), payload[:length:length], nil
}

// read reads so many bytes. Its memory grows with what arrives, and is reserved before.
func (r *Reader) read(length int) ([]byte, error) {
	r.memory.Release()
	buf := make([]byte, min(length, chunkSize+4))
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

// ParseEntry returns the entry in the payload of an EntryFrame.
func ParseEntry(payload []byte) (*store.Entry, error) {
	if len(payload) < 8 {
		return nil, ErrDamaged
	}
	return store.ParseEntry(binary.BigEndian.Uint64(payload), payload[8:])
}

// ParsePartEntry returns the entry in the payload of a PartFrame.
func ParsePartEntry(payload []byte) (*store.Entry, error) {
	const head = 8 + len(store.EntryHash{})
	if len(payload) < head {
		return nil, ErrDamaged
	}
	return store.ParsePartEntry(binary.BigEndian.Uint64(payload), store.EntryHash(payload[8:head]), payload[head:])
}
