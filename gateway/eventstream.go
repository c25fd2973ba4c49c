package gateway

import (
	"bytes"
	"net/http"

	"lectern/gateway/internal/accept"
)

var (
	typeEventStream = []string{accept.Events + "; charset=utf-8"}
	notBuffered     = []string{"no"}
)

// emptyComment is a comment of an event stream. It shows that the connection is alive. Streams begin with one, since some clients see the head
// of an answer only when a byte follows.
var emptyComment = []byte(":\n\n")

// setEventHeaders sets the headers of an event stream.
func setEventHeaders(h http.Header) {
	h["Content-Type"], h["Cache-Control"] = typeEventStream, noStoreValue
	h["X-Accel-Buffering"] = notBuffered // nginx would collect the events otherwise
}

// maxEventText is how many bytes of events are collected before they are sent.
const maxEventText = 32 << 10

// An eventWriter writes server-sent events. It collects them until flush, or until they are long.
type eventWriter struct {
	to     func([]byte) error
	text   []byte
	failed error // of the first write that failed
}

// event adds an event. Clients that connect again send its id, unless that is empty, in the header Last-Event-ID.
func (e *eventWriter) event(name, id string, data []byte) {
	e.text = append(append(append(e.text, "event: "...), name...), '\n')
	if id != "" {
		e.text = append(append(append(e.text, "id: "...), id...), '\n')
	}
	for more := true; more; {
		var line []byte
		line, data, more = bytes.Cut(data, []byte{'\n'})
		e.text = append(e.text, "data: "...)
		if len(line) > maxEventText {
			e.send(e.text)
			e.send(line)
			e.text = e.text[:0]
		} else {
			e.text = append(e.text, line...)
		}
		e.text = append(e.text, '\n')
	}
	e.text = append(e.text, '\n')
	if len(e.text) > maxEventText {
		_ = e.flush() // the next flush returns the error
	}
}

func (e *eventWriter) send(text []byte) {
	if e.failed == nil && len(text) > 0 {
		e.failed = e.to(text)
	}
}

// flush sends what was collected. It returns an error if the client no longer reads.
func (e *eventWriter) flush() error {
	e.send(e.text)
	e.text = e.text[:0]
	return e.failed
}
