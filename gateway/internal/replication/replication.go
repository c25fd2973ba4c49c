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
// The answers are streams of frames (see store/frames). Each frame has a checksum, and a stream that is cut off lacks
// its last frame, so a replica never takes half of anything for the whole.
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
	"io"
	"time"

	"lectern/store"
	"lectern/store/frames"
)

// The kinds of frames, beside frames.Entry.
const (
	StatusFrame      frames.Kind = 'S' // a Status, as JSON
	PartFrame        frames.Kind = 'P' // an entry that was reduced to a part: its sequence u64, the hash of the whole entry, and the entry
	ResetFrame       frames.Kind = 'R' // the replica has to begin anew with a copy; why, as a text
	DefinitionsFrame frames.Kind = 'D' // Definitions, as JSON
	ChunkFrame       frames.Kind = 'C' // the next bytes of a copy
	FilesFrame       frames.Kind = 'F' // a list of Files, as JSON
	EndFrame         frames.Kind = 'Z' // the end of a copy; empty
)

const chunkSize = 256 << 10

// longest bounds the frames that an origin may send. An entry is about as long as the body of the request that wrote
// it. The list of Files takes about 170 bytes a file.
var longest = frames.Longest{
	StatusFrame: 64 << 10, frames.Entry: 256 << 20, PartFrame: 256 << 20, ResetFrame: 64 << 10,
	DefinitionsFrame: 16 << 20, ChunkFrame: chunkSize, FilesFrame: 1 << 30,
	EndFrame: 0,
}

// ErrDamaged: what an origin sends is not what it has.
var ErrDamaged = frames.ErrDamaged

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

// A Writer writes the frames of an origin.
type Writer struct{ *frames.Writer }

// NewWriter returns a Writer to to.
func NewWriter(to io.Writer) Writer { return Writer{frames.NewWriter(to)} }

// PartEntry writes the frame of an entry that was reduced to a part.
func (w Writer) PartEntry(e *store.Entry) error {
	whole := e.Whole()
	return w.Frame(PartFrame, binary.BigEndian.AppendUint64(nil, e.Sequence), whole[:], e.Raw())
}

// Chunks returns an io.Writer that writes the bytes of a copy in frames.
func (w Writer) Chunks() io.Writer { return chunks{w} }

type chunks struct{ Writer }

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

// ParsePartEntry returns the entry in the payload of a PartFrame.
func ParsePartEntry(payload []byte) (*store.Entry, error) {
	const head = 8 + len(store.EntryHash{})
	if len(payload) < head {
		return nil, ErrDamaged
	}
	return store.ParsePartEntry(binary.BigEndian.Uint64(payload), store.EntryHash(payload[8:head]), payload[head:])
}
