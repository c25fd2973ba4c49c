// Package paced writes long answers in parts and gives the client a bounded time to read each, so that a client that stops
// reading does not hold memory or a snapshot of the store for long.
package paced

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Part is how many bytes are written at a time.
const Part = 256 << 10

// inBuffers allows for the buffers of a connection: the server learns what a client has read in steps of up to a sixteenth of the
// client's receive buffer, so that a part seems to be taken late although the client reads steadily.
const inBuffers = 512 << 10

// PartTime returns how long a client may take for a part if it has to read rate bytes a second.
func PartTime(rate int64) time.Duration {
	return time.Duration(float64(Part+inBuffers) / float64(rate) * float64(time.Second))
}

// A Writer writes an answer in parts, each of which the client must read within PartTime. Otherwise Write fails with an error
// that is os.ErrDeadlineExceeded.
type Writer struct {
	to      io.Writer
	control *http.ResponseController
	time    time.Duration
}

// NewWriter returns a Writer to the connection that control controls, at rate bytes a second.
func NewWriter(to io.Writer, control *http.ResponseController, rate int64) *Writer {
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

// Supported returns err, or nil if it says that the connection has no deadlines, as connections of tests have none.
func Supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
