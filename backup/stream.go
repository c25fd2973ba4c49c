package backup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"lectern/store"
)

// A running server sends its log as a stream of updates. Each is some frames with entries, which may be none, perhaps
// one with names of uploaded files, and one that ends the update.

// An Update says what happened to a store since the last one.
type Update struct {
	Entries []*store.Entry
	Uploads map[string]uint64 // the uploaded files that the entries name, and which entry names each
	Now     Heartbeat
}

// A Heartbeat ends an update. A server without anything to tell sends one each second.
type Heartbeat struct {
	Position string    `json:"position"` // of the store, which may be further on than the entries
	Time     time.Time `json:"time"`
}

// AppendEntry appends an entry to an update in b.
func AppendEntry(b []byte, e *store.Entry) []byte { return appendEntry(b, e) }

// AppendEnd ends an update.
func AppendEnd(b []byte, uploads map[string]uint64, h Heartbeat) ([]byte, error) {
	if len(uploads) > 0 {
		text, err := json.Marshal(uploads)
		if err != nil {
			return nil, err
		}
		b = appendFrame(b, uploadsFrame, text)
	}
	text, err := json.Marshal(h)
	return appendFrame(b, positionFrame, text), err
}

// An UpdateReader reads a stream of updates.
type UpdateReader struct{ r *bufio.Reader }

// NewUpdateReader returns an UpdateReader that reads r.
func NewUpdateReader(r io.Reader) *UpdateReader { return &UpdateReader{bufio.NewReaderSize(r, 64<<10)} }

// Next reads an update. It returns io.EOF at the end of the stream.
func (u *UpdateReader) Next() (up Update, err error) {
	for first := true; ; first = false {
		f, err := u.frame()
		if errors.Is(err, io.EOF) && !first {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return Update{}, err
		}
		switch f.kind {
		case entryFrame:
			e, err := f.entry()
			if err != nil {
				return Update{}, err
			}
			up.Entries = append(up.Entries, e)
		case uploadsFrame:
			err = json.Unmarshal(f.body, &up.Uploads)
		case positionFrame:
			return up, json.Unmarshal(f.body, &up.Now)
		default:
			err = fmt.Errorf("the stream has a part of the unknown kind %d", f.kind)
		}
		if err != nil {
			return Update{}, err
		}
	}
}

// allocatedAhead bounds the memory that a frame gets because of the length in its head. A longer frame gets more as it
// is read, since the length may be wrong.
const allocatedAhead = 1 << 20

// frame reads one frame, whose memory is its own.
func (u *UpdateReader) frame() (frame, error) {
	head, err := u.r.Peek(frameHead)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	n := be.Uint32(head)
	if n > maxFrame {
		return frame{}, errFrame
	}
	size := frameHead + int(n)
	var raw bytes.Buffer
	raw.Grow(min(size, allocatedAhead) + bytes.MinRead)
	if _, err := io.CopyN(&raw, u.r, int64(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return parseFrame(raw.Bytes())
}
