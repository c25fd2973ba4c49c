package server

import (
	"net/http"
	"time"

	"lectern/gateway/internal/paced"
)

// deadlineStep is after how many bytes of a file its write deadline is extended.
const deadlineStep = 256 << 10

// A deadlineWriter extends the write deadline of a connection by idle after each deadlineStep bytes. So a large file
// may take as long as it needs if the client keeps reading. The deadline of the server would limit the time of the
// whole answer.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
	since   int // bytes written since the deadline was extended
}

// ExtendDeadlines returns a writer of the answer to a request whose client gets more time as long as it keeps reading:
// idle for each part.
func ExtendDeadlines(w http.ResponseWriter, r *http.Request, idle time.Duration) http.ResponseWriter {
	return &deadlineWriter{ResponseWriter: w, control: Control(r.Context(), w), idle: idle}
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
