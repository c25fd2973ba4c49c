// Package silentnet is a network in memory for tests: its connections can fall silent, so that neither end learns that
// the other one is gone.
package silentnet

import (
	"context"
	"io"
	"net"
	"sync"
)

// A Network connects clients to a server through a proxy, which can fall silent. No time passes on it, so that a test
// has a clock of its own.
type Network struct {
	accepted chan net.Conn
	closed   chan struct{}
	mu       sync.Mutex
	swallows bool // a silent connection takes bytes, as the buffers of a system do
	most     int  // a connection falls silent when the server has sent so many bytes; 0: it does not
	silent   bool
	links    []*link
}

// A link is one connection.
type link struct {
	silent   chan struct{} // closed when it falls silent
	swallows bool
	most     int
}

// New returns a Network without connections.
func New() *Network {
	return &Network{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the server.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, near := net.Pipe()
	far, server := net.Pipe()
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &link{silent: make(chan struct{}), swallows: n.swallows, most: n.most}
	if n.silent {
		close(l.silent)
	}
	n.links = append(n.links, l)
	select {
	case n.accepted <- server:
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	go l.forward(far, near, 0)
	go l.forward(near, far, l.most)
	return client, nil
}

// forward copies from one end to the other, most bytes if that is not 0. Once the link is silent it copies nothing, and
// neither end is told when the other one is closed.
func (l *link) forward(to, from net.Conn, most int) {
	buf := make([]byte, 4<<10)
	for sent := 0; most == 0 || sent < most; sent += len(buf) {
		n, err := from.Read(buf)
		select {
		case <-l.silent:
			if l.swallows {
				_, _ = io.Copy(io.Discard, from) // until the end is closed
			}
			return
		default:
		}
		if err != nil {
			to.Close()
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// FallSilent makes all connections silent for ever, and those to come. If swallows is set, these take bytes, as the
// buffers of a system do.
func (n *Network) FallSilent(swallows bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent, n.swallows = true, swallows
	for _, l := range n.links {
		close(l.silent)
	}
}

// BreakOff makes connections to come fall silent when the server has sent so many bytes.
func (n *Network) BreakOff(most int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.most = most
}

// ComeBack lets new connections carry bytes. Those that fell silent stay so.
func (n *Network) ComeBack() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent, n.links = false, nil
}

// Accept implements net.Listener.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (n *Network) Close() error {
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}

// Addr implements net.Listener.
func (n *Network) Addr() net.Addr { return &net.TCPAddr{} }
