package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"lectern/documents/apierror"
)

// A clientBody is the body of a request as it comes from the client. While it is waited for, the request has no place among those
// at work, and the client must send it at the least rate that the limits ask for.
type clientBody struct {
	io.ReadCloser
	ctx    context.Context
	conn   *conn
	limits *requestLimits

	end      time.Time // by when all of it must have come; zero where only the rate counts
	pace     time.Time // by when the next bytes of the rate must have come; zero while no rate is asked for
	missing  int64     // how many of those have not
	waited   time.Time // until when the client was last waited for; zero before the first read
	finished bool
}

// ownTime is how long the server may take between two reads before it no longer counts as the client's.
const ownTime = time.Second

// bodyPeriod is how long a client may take for the bytes that limits.bodyRate asks for in that time. Within it the client may pause.
const bodyPeriod = 20 * time.Second

// newClientBody returns what reads a body from a connection.
func newClientBody(r *http.Request, c *conn, l *requestLimits) *clientBody {
	return &clientBody{ReadCloser: r.Body, ctx: r.Context(), conn: c, limits: l, end: time.Now().Add(l.Read)}
}

// Read implements io.Reader. What net/http writes meanwhile is its leave to send the body (100 Continue), which the client waits
// for.
func (b *clientBody) Read(p []byte) (int, error) {
	gathers := b.conn.gathers
	b.conn.gathers = false
	held := b.conn.waitForClient()
	n, err := b.read(p)
	b.conn.gathers = gathers
	if held {
		if again := b.conn.workAgain(b.ctx); again != nil {
			return n, again
		}
	}
	return n, err
}

func (b *clientBody) read(p []byte) (int, error) {
	if err := b.askForRate(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.missing -= int64(n)
	switch {
	case err == io.EOF && !b.finished: // from here on nothing is read, and nothing is late
		b.finished = true
		if b.pace.IsZero() {
			break
		}
		if failed := b.conn.SetReadDeadline(time.Time{}); failed != nil {
			return n, failed
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, fmt.Errorf("%w: %w", b.tooSlow(), err)
	}
	if !b.finished {
		b.waited = time.Now()
	}
	return n, err
}

// askForRate sees to it that the next bytes come in time. The first read has until timeouts.read, which net/http counts from the head
// of the request: nearly all bodies have come whole by then.
func (b *clientBody) askForRate() error {
	if b.finished || b.waited.IsZero() && !b.end.IsZero() {
		return nil
	}
	own := time.Duration(0)
	if !b.waited.IsZero() {
		own = time.Since(b.waited)
	}
	if own > ownTime && !b.end.IsZero() {
		b.end = b.end.Add(own)
	}
	if b.missing > 0 && own <= ownTime {
		return nil
	}
	return b.nextPeriod()
}

// nextPeriod asks for the bytes of another period.
func (b *clientBody) nextPeriod() error {
	period := min(bodyPeriod, b.limits.Read)
	b.missing = max(1, int64(float64(b.limits.BodyRate)*period.Seconds()))
	b.pace = time.Now().Add(period)
	if b.end.IsZero() { // the time to take the answer begins anew, since it was counted from the head of the request
		if err := b.conn.SetWriteDeadline(b.pace.Add(2 * b.limits.Write)); err != nil {
			return err
		}
		return b.conn.SetReadDeadline(b.pace)
	}
	if b.end.Before(b.pace) {
		return b.conn.SetReadDeadline(b.end)
	}
	return b.conn.SetReadDeadline(b.pace)
}

// tooSlow says which limit was not kept.
func (b *clientBody) tooSlow() *apierror.Error {
	limit := fmt.Sprintf("limits.bodyRate: %d bytes a second", b.limits.BodyRate)
	if !b.end.IsZero() && !time.Now().Before(b.end) {
		limit = fmt.Sprintf("timeouts.read: %s", b.limits.Read)
	}
	return &apierror.Error{Status: http.StatusRequestTimeout, Name: "RequestTimeoutError",
		Message: "the request body came too slowly (" + limit + ")", NoDetails: true}
}

// takeTime lets the body of a request take any time, as long as it comes at the least rate: for files.
func takeTime(r *http.Request) {
	if c := connOf(r); c != nil && c.body != nil {
		c.body.end = time.Time{}
	}
}
