package server

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

// A clientBody reads the body of a request from its connection. While a read waits for the client, the request gives up
// its place. The client must send the body at the rate of limits.bodyRate or faster.
type clientBody struct {
	io.ReadCloser
	ctx    context.Context
	conn   *conn
	limits *Limits

	end      time.Time // the deadline for the whole body; zero if only the rate limits it
	pace     time.Time // when the current period ends; zero before the first period
	missing  int64     // the bytes that must still arrive in the current period
	waited   time.Time // when the last read returned; zero before the first read
	finished bool      // the end of the body has been read
}

// serverTime is how long the server may take between two reads before the client gets more time to send the body.
const serverTime = time.Second

// bodyPeriod is the time over which limits.bodyRate is measured. Within one period a client may pause.
const bodyPeriod = 20 * time.Second

// newClientBody returns a reader of the body of a request that arrives over a connection.
func newClientBody(r *http.Request, c *conn, l *Limits) clientBody {
	return clientBody{ReadCloser: r.Body, ctx: r.Context(), conn: c, limits: l, end: time.Now().Add(l.Read)}
}

// Read implements io.Reader. The connection delays no write during a read: net/http may write "100 Continue" then, and
// the client waits for that.
func (b *clientBody) Read(p []byte) (int, error) {
	delays := b.conn.delays
	b.conn.delays = false
	held := b.conn.waitForClient()
	n, err := b.read(p)
	b.conn.delays = delays
	if held {
		if failed := b.conn.workAgain(b.ctx); failed != nil {
			return n, failed
		}
	}
	return n, err
}

func (b *clientBody) read(p []byte) (int, error) {
	if err := b.setDeadline(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.missing -= int64(n)
	switch {
	case err == io.EOF && !b.finished: // nothing can be late any more
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

// setDeadline sets the deadline of the next read if it needs one of its own. The first read keeps the deadline of
// net/http, timeouts.read after the head of the request: nearly all bodies need no other.
func (b *clientBody) setDeadline() error {
	if b.finished || b.waited.IsZero() && !b.end.IsZero() {
		return nil
	}
	worked := time.Duration(0)
	if !b.waited.IsZero() {
		worked = time.Since(b.waited)
	}
	if worked > serverTime && !b.end.IsZero() {
		b.end = b.end.Add(worked)
	}
	if b.missing > 0 && worked <= serverTime {
		return nil
	}
	return b.nextPeriod()
}

// nextPeriod begins another period: it sets the deadline by which the bytes of the period must have arrived.
func (b *clientBody) nextPeriod() error {
	period := min(bodyPeriod, b.limits.Read)
	b.missing = max(1, int64(float64(b.limits.BodyRate)*period.Seconds()))
	b.pace = time.Now().Add(period)
	if b.end.IsZero() { // extend the time to send the answer too: net/http counts it from the head of the request
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

// tooSlow returns the answer to a client that was too slow: it names the limit.
func (b *clientBody) tooSlow() *apierror.Error {
	limit := fmt.Sprintf("limits.bodyRate: %d bytes a second", b.limits.BodyRate)
	if !b.end.IsZero() && !time.Now().Before(b.end) {
		limit = fmt.Sprintf("timeouts.read: %s", b.limits.Read)
	}
	return &apierror.Error{Status: http.StatusRequestTimeout, Name: "RequestTimeoutError",
		Message: "the request body came too slowly (" + limit + ")", NoDetails: true}
}
