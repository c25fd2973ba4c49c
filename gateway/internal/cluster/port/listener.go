package port

import (
	"crypto/tls"
	"net"
	"sync"
)

// A listener gives out the connections of one protocol.
type listener struct {
	addr     address
	accepted chan *tls.Conn
	closed   chan struct{}
	close    sync.Once
}

func newListener(advertised string) *listener {
	return &listener{addr: address(advertised), accepted: make(chan *tls.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The port goes on with the other protocol.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// Addr implements net.Listener. It returns the address at which other nodes reach this one.
func (l *listener) Addr() net.Addr { return l.addr }

// An address is HOST:PORT, as it was written in the settings: Raft compares addresses as texts.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
