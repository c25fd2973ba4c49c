package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"lectern/gateway/internal/paced"
)

// An eventStream answers a request with server-sent events for as long as its client listens. Events are collected until flush sends them.
// The request gives up its place when it sends or rests; resume takes it back.
type eventStream struct {
	to      io.Writer
	control *http.ResponseController
	conn    *conn // nil if the request did not come through Serve
	text    []byte
	failed  error // why nothing can be sent any more: the client is gone, or does not read
}

const eventStreamType = "text/event-stream"

var (
	typeEventStream = []string{eventStreamType + "; charset=utf-8"}
	notBuffered     = []string{"no"}
)

// maxEventText is how many bytes of events are collected before they are sent.
const maxEventText = 32 << 10

// beginEvents sends the head of an answer with events. Some clients see the head only when a byte follows, so an empty comment does.
func (l *requestLimits) beginEvents(w http.ResponseWriter, r *http.Request) *eventStream {
	control := controlOf(r.Context(), w)
	s := &eventStream{to: paced.NewWriter(w, control, l.AnswerRate), control: control, conn: connOf(r)}
	if s.conn != nil {
		s.conn.delays = false
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = typeEventStream, noStoreValue
	h["X-Accel-Buffering"] = notBuffered                             // nginx would collect the events otherwise
	s.failed = paced.Supported(control.SetReadDeadline(time.Time{})) // net/http reads on to notice that the client is gone
	w.WriteHeader(http.StatusOK)
	s.comment()
	_ = s.flush() // the next flush fails as well
	return s
}

// event adds an event. Clients that connect again send its id, unless that is empty, in the header Last-Event-ID.
func (s *eventStream) event(name, id string, data []byte) {
	s.text = append(append(append(s.text, "event: "...), name...), '\n')
	if id != "" {
		s.id(id)
	}
	for more := true; more; {
		var line []byte
		line, data, more = bytes.Cut(data, []byte{'\n'})
		s.text = append(s.text, "data: "...)
		if len(line) > maxEventText {
			s.send(line)
		} else {
			s.text = append(s.text, line...)
		}
		s.text = append(s.text, '\n')
	}
	s.text = append(s.text, '\n')
	if len(s.text) > maxEventText {
		s.send(nil)
	}
}

// id adds the id that clients send when they connect again.
func (s *eventStream) id(id string) {
	s.text = append(append(append(s.text, "id: "...), id...), '\n')
}

// comment adds an empty comment, which shows that the connection is alive.
func (s *eventStream) comment() { s.text = append(s.text, ":\n\n"...) }

// send writes what was collected, and then more.
func (s *eventStream) send(more []byte) {
	for _, part := range [][]byte{s.text, more} {
		if s.failed == nil {
			_, s.failed = s.to.Write(part)
		}
	}
	s.text = s.text[:0]
}

// flush sends what was collected. It returns an error if the client no longer reads.
func (s *eventStream) flush() error {
	if len(s.text) == 0 {
		return s.failed
	}
	s.send(nil)
	if s.failed == nil {
		s.failed = paced.Supported(s.control.Flush())
	}
	return s.failed
}

// rest gives up the place of the request, and keeps no memory while nothing happens.
func (s *eventStream) rest() {
	s.text = nil
	if s.conn != nil {
		s.conn.waitForClient()
	}
}

// resume takes the place back. It fails if the server is busy.
func (s *eventStream) resume(ctx context.Context) error {
	if s.conn == nil {
		return nil
	}
	return s.conn.workAgain(ctx)
}
