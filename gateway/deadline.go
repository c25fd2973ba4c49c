package gateway

import (
	"net/http"
	"time"

	"lectern/gateway/internal/paced"
)

// deadlineStep is after how many bytes of a file its write deadline is extended.
const deadlineStep = 256 << 10

// A deadlineWriter extends the write deadline of a connection by idle after each deadlineStep bytes. So a large file may take as long as it
// needs if the client keeps reading. The deadline of the server would limit the time of the whole answer.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
	since   int // bytes written since the deadline was extended
}

func (p *deadlineWriter) Write(b []byte) (int, error) {
	if p.since >= deadlineStep {
		p.since = 0
		if err := paced.Supported(p.control.SetWriteDeadline(time.Now().Add(p.idle))); err != nil {
			return 0, err
		}
	}
	n, err := p.ResponseWriter.Write(b)
	p.since += n
	return n, err
}
