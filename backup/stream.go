package backup

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"time"

	"lectern/store"
	"lectern/store/frames"
)

// A running server sends its log as a stream of updates. Each is some frames with entries, which may be none, perhaps
// one with names of uploaded files, and one that ends the update.
const (
	uploadsFrame   frames.Kind = 'F' // which entry names each of some uploaded files, as JSON
	heartbeatFrame frames.Kind = 'H' // a Heartbeat, as JSON
)

// longest bounds the frames of a stream. No entry is as long: its batch has to fit into memory several times.
var longest = frames.Longest{frames.Entry: 1 << 30, uploadsFrame: 1 << 30, heartbeatFrame: 64 << 10}

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

// AppendEnd appends to b, which has the frames of the entries of an update, what ends the update.
func AppendEnd(b []byte, uploads map[string]uint64, h Heartbeat) ([]byte, error) {
	if len(uploads) > 0 {
		text, err := json.Marshal(uploads)
		if err != nil {
			return nil, err
		}
		b = frames.Append(b, uploadsFrame, text)
	}
	text, err := json.Marshal(h)
	return frames.Append(b, heartbeatFrame, text), err
}

// An UpdateReader reads a stream of updates.
type UpdateReader struct{ r *frames.Reader }

// NewUpdateReader returns an UpdateReader that reads r.
func NewUpdateReader(r io.Reader) *UpdateReader {
	return &UpdateReader{frames.NewReader(bufio.NewReaderSize(r, 64<<10), longest, nil)}
}

// Next reads an update. It returns io.EOF at the end of the stream.
func (u *UpdateReader) Next() (up Update, err error) {
	for first := true; ; first = false {
		f, err := u.r.Next()
		if errors.Is(err, io.EOF) && !first {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return Update{}, err
		}
		switch f.Kind {
		case frames.Entry:
			var e *store.Entry
			e, err = f.Entry()
			up.Entries = append(up.Entries, e)
		case uploadsFrame:
			err = json.Unmarshal(f.Payload, &up.Uploads)
		case heartbeatFrame:
			return up, json.Unmarshal(f.Payload, &up.Now)
		}
		if err != nil {
			return Update{}, err
		}
	}
}
