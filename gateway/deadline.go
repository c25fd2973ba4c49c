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

func (w *deadlineWriter) Write(p []byte) (int, error) {
	if w.since >= deadlineStep {
		w.since = 0
		if err := paced.Supported(w.control.SetWriteDeadline(time.Now().Add(w.idle))); err != nil {
			return 0, err
		}
	}
	n, err := w.ResponseWriter.Write(p)
	w.since += n
	return n, err
}
