// Package paced writes long answers in parts, each of which the client must read in time. A client that stops reading
// then does not keep memory or a snapshot of the store in use for long. A Pace limits how fast long answers are
// written, all together.
package paced

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Part is how many bytes are written at a time.
const Part = 256 << 10

// bufferAllowance is added to each part when its time is computed. A client's system tells the server what the client
// has read only when a sixteenth of its receive buffer is free again, so that a part seems to be read late although the
// client reads steadily.
const bufferAllowance = 512 << 10

// PartTime returns how long a client may take to read a part, if it must read rate bytes a second.
func PartTime(rate int64) time.Duration {
	return time.Duration(float64(Part+bufferAllowance) / float64(rate) * float64(time.Second))
}

// A Deadline sets the time by which a client must have read what is written. An http.ResponseController and a net.Conn
// are one.
type Deadline interface {
	SetWriteDeadline(time.Time) error
}

// A Writer writes an answer in parts. If the client does not read a part within PartTime, Write fails with
// os.ErrDeadlineExceeded.
type Writer struct {
	to      io.Writer
	control Deadline
	time    time.Duration
}

// NewWriter returns a Writer that writes an answer to to. The client must read it at rate bytes a second. control sets
// the deadlines.
func NewWriter(to io.Writer, control Deadline, rate int64) *Writer {
	return &Writer{to: to, control: control, time: PartTime(rate)}
}

// Write implements io.Writer.
func (p *Writer) Write(b []byte) (written int, err error) {
	for len(b) > 0 {
		if err := Supported(p.control.SetWriteDeadline(time.Now().Add(p.time))); err != nil {
			return written, err
		}
		n, err := p.to.Write(b[:min(len(b), Part)])
		written += n
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}

// Supported returns err, or nil if err says that the connection does not support deadlines. Connections in tests do
// not.
func Supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
