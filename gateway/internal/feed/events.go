package feed

import (
	"bytes"
	"net/http"

	"lectern/gateway/internal/server"
	"lectern/internal/accept"
)

var (
	typeEventStream = []string{accept.Events + "; charset=utf-8"}
	notBuffered     = []string{"no"}
)

// emptyComment is a comment of an event stream. It shows that the connection is alive. Streams begin with one, since
// some clients see the head of an answer only when a byte follows.
var emptyComment = []byte(":\n\n")

// SetEventHeaders sets the headers of an event stream.
func SetEventHeaders(h http.Header) {
	h["Content-Type"], h["Cache-Control"] = typeEventStream, server.NoStore
	h["X-Accel-Buffering"] = notBuffered // nginx would collect the events otherwise
}

// maxEventText is how many bytes of events are collected before they are sent.
const maxEventText = 32 << 10

// NewEventWriter returns a writer that sends what it has collected by to, which must not keep the text.
func NewEventWriter(to func([]byte) error) *EventWriter { return &EventWriter{to: to} }

// An EventWriter writes server-sent events. It collects them until Flush, or until they are long.
type EventWriter struct {
	to     func([]byte) error
	text   []byte
	failed error // of the first write that failed
}

// Comment adds an emptyComment.
func (e *EventWriter) Comment() { e.text = append(e.text, emptyComment...) }

// Event adds an event. Clients that connect again send its id, unless that is empty, in the header Last-Event-ID.
func (e *EventWriter) Event(name, id string, data []byte) {
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
		_ = e.Flush() // the next Flush returns the error
	}
}

func (e *EventWriter) send(text []byte) {
	if e.failed == nil && len(text) > 0 {
		e.failed = e.to(text)
	}
}

// Flush sends what was collected. It returns an error if the client no longer reads.
func (e *EventWriter) Flush() error {
	e.send(e.text)
	e.text = e.text[:0]
	return e.failed
}
