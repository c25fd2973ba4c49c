package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/internal/paced"
	"lectern/internal/accept"
	"lectern/internal/admission"
	"lectern/shadowcrud/rest"
)

const linesType = "application/x-ndjson"

// prefersLines reports whether a request asks for JSON Lines, or for the head of such an answer.
func prefersLines(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		accept.Prefers(r.Header["Accept"], linesType, accept.JSON)
}

// lines returns how to send the answer to a request as JSON Lines.
func (s *Server) lines(w http.ResponseWriter, r *http.Request, long *LongAnswer) *rest.Lines {
	l := &lineSender{server: s, w: w, r: r, control: long.Control}
	l.to = paced.NewWriter(w, long, s.limits.AnswerRate)
	return &rest.Lines{
		Time: s.limits.Stream, TooLate: errStreamTime(s.limits.Stream), Open: l.open, Write: l.write, Cut: l.cut,
	}
}

// A lineSender sends an answer in JSON Lines. The client must read it at limits.answerRate.
type lineSender struct {
	server  *Server
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	to      *paced.Writer
}

// open counts the answer among limits.streams.
func (l *lineSender) open() (done func(), err error) {
	if !l.r.ProtoAtLeast(1, 1) { // the end of the connection is the end of the answer, also of one that was cut off
		return nil, BadRequest("BadRequestError", "streams need HTTP/1.1 or later")
	}
	s := l.server
	share := s.streams.Share(admission.ClientOf(l.r.Context()))
	if err := share.TryAcquire(); err != nil {
		share.Close()
		l.w.Header()["Retry-After"] = RetrySoon
		limits := s.streams.Limits()
		message := fmt.Sprintf("too many streams are being sent (limits.streams: %d), try again", limits.Places)
		if errors.Is(err, admission.ErrShare) {
			message = fmt.Sprintf(
				"too many streams are being sent to your address (limits.streamsPerAddress: %d), try again",
				limits.Share)
		}
		return nil, Unavailable(apierror.Places, message)
	}
	if c := connOf(l.r); c != nil {
		c.delays = false // the lines are to arrive at once
	}
	l.w.Header()["Cache-Control"] = NoStore
	VaryByAccept(l.w.Header())
	l.w.Header()["X-Accel-Buffering"] = []string{"no"}
	_ = l.control.SetReadDeadline(time.Time{}) // net/http reads on, to notice that the client is gone
	l.pause()
	return func() {
		_ = l.control.SetWriteDeadline(time.Now().Add(paced.PartTime(s.limits.AnswerRate))) // for the end of the answer
		share.Release()
		share.Close()
	}, nil
}

// pause removes the deadline while nothing is written: over HTTP/2 it would end the answer.
func (l *lineSender) pause() { _ = l.control.SetWriteDeadline(time.Time{}) }

// write sends lines at once.
func (l *lineSender) write(text []byte) error {
	_, err := l.to.Write(text)
	if err == nil {
		err = paced.Supported(l.control.Flush())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errReaderGone, err)
	}
	l.pause()
	return nil
}

// errReaderGone is the error of a stream whose client has gone, or reads too slowly.
var errReaderGone = errors.New("the client does not read")

// cut sends the error as the last line, and closes the connection without the end of the answer.
func (l *lineSender) cut(err error) {
	switch {
	case errors.Is(err, errReaderGone), l.r.Context().Err() != nil:
		slow := errors.Is(err, os.ErrDeadlineExceeded)
		l.server.log.LogAttrs(l.r.Context(), slog.LevelDebug, "a stream ended before its client had all",
			LogAttrs(l.w, l.r, slog.Bool("slow", slow))...)
	default:
		if last := l.server.clientError(l.w, l.r, err); last != nil {
			_ = l.write(append(AppendErrorMember([]byte{'{'}, last), '}', '\n')) // the client sees the cut in any case
		}
	}
	panic(http.ErrAbortHandler)
}

// errStreamTime returns the error of a stream that took too long.
func errStreamTime(most time.Duration) *apierror.Error {
	return Unavailable(apierror.Time, fmt.Sprintf("the stream took longer than %s (timeouts.stream)", most))
}
