package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/store"
)

// Errors that the server itself answers with.
var (
	// ErrInternal is the answer to a request that failed for a reason that is not meant for clients.
	ErrInternal = &apierror.Error{
		Status: http.StatusInternalServerError, Name: "InternalServerError", NoDetails: true,
		Message: "Internal Server Error",
	}
	errStarting = Unavailable(apierror.Starting, "the server is starting, try again")
	// ErrStopping is the answer to a request that waits for something when the server stops.
	ErrStopping  = Unavailable(apierror.Stopping, "the server is stopping")
	errChanged   = Unavailable(apierror.Definitions, "the definitions changed during the request, try again")
	errDecode    = BadRequest("BadRequestError", "failed to decode")
	errMalicious = BadRequest("BadRequestError", "Malicious Path")
)

// Unavailable returns an answer 503, without details.
func Unavailable(reason apierror.Reason, message string) *apierror.Error {
	return &apierror.Error{
		Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", NoDetails: true,
		Message: message, Reason: reason,
	}
}

// BadRequest returns an answer 400, without details.
func BadRequest(name, message string) *apierror.Error {
	return &apierror.Error{Status: http.StatusBadRequest, Name: name, Message: message, NoDetails: true}
}

// errTooLong returns the answer to a request that took too long.
func errTooLong(most time.Duration) *apierror.Error {
	return Unavailable(apierror.Time, fmt.Sprintf("the request took longer than %s (timeouts.request)", most))
}

// fail answers a request with an error. An error that is not meant for clients is logged and answered with 500; its log
// line has the id of the request.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	answer := s.clientError(w, r, err)
	if answer == nil {
		return
	}
	if answer.Status == http.StatusTooManyRequests && w.Header()["Retry-After"] == nil {
		w.Header()["Retry-After"] = RetrySoon
	}
	if answer.Reason == apierror.Encoding {
		w.Header()["Accept-Encoding"] = acceptedEncodings
	}
	WriteError(w, r, answer)
}

// clientError returns the error that a client gets, and logs an error that is not meant for clients. It returns nil if
// the client is gone.
func (s *Server) clientError(w http.ResponseWriter, r *http.Request, err error) (answer *apierror.Error) {
	switch {
	case errors.As(err, &answer):
	case documents.Unavailable(err) != nil:
		answer = documents.Unavailable(err) // the change of the state of the store was logged
	case errors.Is(err, context.DeadlineExceeded):
		answer = errTooLong(s.limits.Handle)
	case errors.Is(err, context.Canceled):
		answer = errTooLong(s.limits.Handle) // the client is gone and reads nothing
	case errors.Is(err, budget.ErrExhausted):
		answer = ErrNoMemory(s.memory)
		w.Header()["Retry-After"] = []string{"1"}
	case errors.Is(err, budget.ErrNever):
		answer = ErrNeverMemory(s.memory)
	case errors.Is(err, store.ErrClosed):
		answer = ErrStopping
	case errors.Is(err, store.ErrRedefined):
		answer = errChanged
		w.Header()["Retry-After"] = RetrySoon
	case isReaderGone(r, err):
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "the client closed the connection before it had the answer",
			LogAttrs(w, r, slog.Any("error", err))...)
		return nil
	default:
		answer = ErrInternal
		s.log.LogAttrs(r.Context(), slog.LevelError, "request failed", LogAttrs(w, r, slog.Any("error", err))...)
	}
	if confirm := s.serving.Load().api.Steps.Confirm; confirm != nil {
		return confirm(r, answer)
	}
	return answer
}

// RetrySoon is the header Retry-After of errors whose cause may end within a second.
var RetrySoon = []string{"1"}

// isReaderGone reports whether err is a failed write to the client of r, which closed the connection or stopped
// reading.
func isReaderGone(r *http.Request, err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "write" && op.Addr != nil && op.Addr.String() == r.RemoteAddr
}

// LogAttrs returns the attributes that identify a request in the log. They never contain its query, body or credential.
func LogAttrs(w http.ResponseWriter, r *http.Request, more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{
		slog.String("id", w.Header().Get(RequestID)),
		slog.String("method", r.Method),
		slog.String("path", r.URL.EscapedPath()),
	}, more...)
}

// WriteError answers a request with an error: with problem details if the client prefers them, otherwise with the
// envelope. Writing fails only if the client is gone.
func WriteError(w http.ResponseWriter, r *http.Request, e *apierror.Error) {
	observationOf(w).refused(e)
	VaryByAccept(w.Header())
	if h := w.Header(); e.Status == http.StatusUnauthorized && h["Www-Authenticate"] == nil {
		h["Www-Authenticate"] = challenge(r, e) // unless code of a program has set its own
	}
	if prefersProblem(r) {
		_ = SendBody(w, typeProblem, e.Status, appendProblem(nil, e, w.Header().Get(RequestID)))
		return
	}
	_ = SendJSON(w, e.Status, appendError(nil, e))
}

var (
	wantsBearer  = []string{"Bearer"}
	refusesToken = []string{`Bearer error="invalid_token"`}
)

// challenge returns the header WWW-Authenticate of an answer 401, which must have one (RFC 9110, section 15.5.2; RFC
// 6750, section 3).
func challenge(r *http.Request, e *apierror.Error) []string {
	if r.Header["Authorization"] == nil || e.Reason == apierror.Anonymous {
		return wantsBearer
	}
	return refusesToken
}

// appendError appends the envelope of an error.
func appendError(dst []byte, e *apierror.Error) []byte {
	return append(AppendErrorMember(append(dst, `{"data":null,`...), e), '}')
}

// AppendErrorMember appends an error as the member of an object.
func AppendErrorMember(dst []byte, e *apierror.Error) []byte {
	dst = append(dst, `"error":{"status":`...)
	dst = strconv.AppendInt(dst, int64(e.Status), 10)
	dst = append(dst, `,"name":`...)
	dst = jsontree.AppendString(dst, e.Name)
	dst = append(dst, `,"message":`...)
	dst = jsontree.AppendString(dst, e.Message)
	switch {
	case e.NoDetails:
	case e.Details == nil:
		dst = append(dst, `,"details":{}`...)
	default:
		dst = append(dst, `,"details":`...)
		dst = jsontree.Append(dst, e.Details)
	}
	return append(dst, '}')
}

// NotAllowed answers a request whose method the path does not have.
func NotAllowed(w http.ResponseWriter, r *http.Request, allow []string) {
	w.Header()["Allow"] = allow
	if prefersProblem(r) {
		WriteError(w, r, errNotAllowed)
		return
	}
	VaryByAccept(w.Header())
	_ = SendBody(w, Text, http.StatusMethodNotAllowed, []byte("Method Not Allowed")) // fails only if the client is gone
}
