package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Files take as long as they take. What is bounded is how long a step of them takes; the limits of a server would otherwise
// hold for all of a request and all of an answer.
const patienceStep = 256 << 10 // bytes

// A patientBody puts off the end of the time to send a body, and to take the answer, with each step of it that has come.
type patientBody struct {
	io.ReadCloser
	kept    *keptBody // may be nil
	control *http.ResponseController
	limits  *Limits
	since   int // bytes since the end was put off
	begun   bool
}

func (p *patientBody) Read(b []byte) (int, error) {
	if !p.begun || p.since >= patienceStep {
		p.begun, p.since = true, 0
		if err := p.putOff(time.Now().Add(p.limits.Read)); err != nil {
			return 0, err
		}
	}
	n, err := p.ReadCloser.Read(b)
	p.since += n
	if err == io.EOF { // from here on nothing is read, and nothing is late
		if failed := p.putOff(time.Time{}); failed != nil {
			return n, failed
		}
	}
	return n, err
}

// putOff sets the end of the time to send; that to take the answer comes later by as much as work and answer may take.
func (p *patientBody) putOff(read time.Time) error {
	return supported(errors.Join(p.control.SetReadDeadline(read), p.control.SetWriteDeadline(time.Now().Add(p.limits.Read+2*p.limits.Write))))
}

// A patientWriter puts off the end of the time to take an answer with each step of it that was taken.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
	since   int
}

func (p *patientWriter) Write(b []byte) (int, error) {
	if p.since >= patienceStep {
		p.since = 0
		if err := supported(p.control.SetWriteDeadline(time.Now().Add(p.idle))); err != nil {
			return 0, err
		}
	}
	n, err := p.ResponseWriter.Write(b)
	p.since += n
	return n, err
}

// supported passes over that a connection knows no deadlines, as those of tests do.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
