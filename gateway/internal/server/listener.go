package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"lectern/internal/admission"
)

// A listener accepts connections up to limits.connections, so that file descriptors are left for files, and from one
// client up to limits.connectionsPerAddress. It closes others at once. Connections of trusted proxies count only in
// total.
type listener struct {
	net.Listener
	server *Server
	warned rate.Sometimes // bounds how often the log says that connections are refused
}

// warnEvery is the least interval between warnings about connections.
const warnEvery = 10 * time.Second

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.server.counters.acceptErrors.Add(1)
				l.warn("a connection cannot be accepted", slog.Any("error", err))
			}
			return nil, err
		}
		boundUnsent(accepted)
		c := &conn{Conn: accepted, listener: l}
		addr := remoteAddr(accepted)
		c.client, c.proxied = admission.ClientAt(addr), isTrusted(addr, l.server.proxies)
		counted := c.client
		if c.proxied {
			counted = admission.Client{}
		}
		c.share = l.server.connections.Share(counted)
		if err := c.share.TryAcquire(); err != nil {
			c.share.Close()
			l.refuse(accepted, c.client, err)
			continue
		}
		c.ownPlace.conn, c.ownPlace.share = c, l.server.places.Share(c.client)
		return c, nil
	}
}

// refuse closes a connection that exceeds a limit.
func (l *listener) refuse(c net.Conn, client admission.Client, why error) {
	l.server.counters.refusedConnections.Add(1)
	if limits := l.server.connections.Limits(); errors.Is(why, admission.ErrShare) {
		l.warn("connections of one address are closed, since it has as many as one may have; "+
			"if it is a proxy, name it in trustedProxies",
			slog.String("address", client.String()), slog.Int("limits.connectionsPerAddress", limits.Share))
	} else {
		l.warn("connections are closed, since there are as many as there may be",
			slog.Int("limits.connections", limits.Places))
	}
	_ = c.Close() // nothing has been sent on it
}

// warn logs a warning, unless one was logged within warnEvery.
func (l *listener) warn(message string, attrs ...slog.Attr) {
	l.warned.Do(func() { l.server.log.LogAttrs(context.Background(), slog.LevelWarn, message, attrs...) })
}

// closed releases what a connection holds.
func (l *listener) closed(c *conn) {
	c.share.Release()
	c.share.Close()
	c.ownPlace.share.Close()
}

// remoteAddr returns the address of the client; the zero Addr where there is none.
func remoteAddr(c net.Conn) netip.Addr {
	addr, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return addr.AddrPort().Addr().Unmap()
}
