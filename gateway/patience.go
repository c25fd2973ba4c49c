package gateway

import (
	"errors"
	"net/http"
	"time"
)

// Files take as long as they take. What is bounded is how long a step of them takes; the limit of a server would otherwise hold
// for all of an answer.
const patienceStep = 256 << 10 // bytes

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
