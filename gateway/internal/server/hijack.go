package server

import (
	"context"
	"net"
	"net/http"
)

// TakeConn takes the connection of a request from net/http, for an answer 200 that lasts as long as the connection. The
// caller writes the answer, beginning with its head, and must close the connection.
func TakeConn(w http.ResponseWriter, r *http.Request) (net.Conn, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if c := connOf(r); c != nil {
		c.delays = false
	}
	if o := observationOf(w); o != nil {
		o.hijacked, o.status = false, http.StatusOK
	}
	return conn, nil
}

// LeavePlace gives up the place of a request that waits for something else than the processor. back takes it again; it
// is nil if there is none to take.
func LeavePlace(r *http.Request) (back func(context.Context) error) {
	c := connOf(r)
	if c == nil || !c.waitForClient() {
		return nil
	}
	return c.workAgain
}

// IsGone reports whether the client at the other end of a connection that TakeConn has returned has closed it, where
// the system tells that.
func IsGone(c net.Conn) bool { return hungUp(socketOf(c)) }

// ForgetBody frees what was kept of the body of a request, which cannot be read again.
func ForgetBody(r *http.Request) {
	if body := replayableBodyOf(r.Body); body != nil {
		body.forget()
	}
}
