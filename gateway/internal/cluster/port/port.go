// Package port is the one TCP port of a cluster's node. Other nodes connect to it by mutual TLS, either for Raft or for
// HTTP requests; the protocol that TLS negotiates (ALPN) tells the two apart.
package port

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"lectern/gateway/internal/cluster/credentials"
	"lectern/internal/admission"
)

// The protocols that nodes speak.
const (
	raftProtocol = "lectern-raft"
	httpProtocol = "http/1.1"
)

// Config is how a port is opened. Only Listen and Credentials are required.
type Config struct {
	Listen      string // HOST:PORT to listen on
	Advertise   string // HOST:PORT at which other nodes reach this one; "" is the address that it listens on
	Credentials *credentials.Credentials
	Log         *slog.Logger // nil is slog.Default

	HandshakeTimeout time.Duration // how long a connection may take until it is accepted, or open; 0 is 10 seconds
	Handshakes       int           // connections in handshakes at once; 0 is 1024. One address may have a quarter of them
}

// A Port accepts connections of other nodes and connects to theirs. Any number of goroutines may use it.
type Port struct {
	config     Config
	listener   net.Listener
	raft, http *listener
	handshakes *admission.Semaphore
	warned     rate.Sometimes // bounds how often refused connections are logged

	ctx   context.Context // ends when the port is closed
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// Listen opens a port.
func Listen(c Config) (*Port, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.HandshakeTimeout == 0 {
		c.HandshakeTimeout = 10 * time.Second
	}
	if c.Handshakes == 0 {
		c.Handshakes = 1024
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for other nodes of the cluster: %w", err)
	}
	if c.Advertise == "" {
		c.Advertise = ln.Addr().String()
	}
	p := &Port{config: c, listener: ln, warned: rate.Sometimes{Interval: warnEvery},
		handshakes: admission.New(admission.Limits{Places: c.Handshakes, Share: (c.Handshakes + 3) / 4})}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.raft, p.http = newListener(c.Advertise), newListener(c.Advertise)
	p.ended.Go(p.accept)
	return p, nil
}

// warnEvery is the least interval between warnings about connections.
const warnEvery = 10 * time.Second

// Raft returns the listener for connections of Raft. Its address is the advertised one.
func (p *Port) Raft() net.Listener { return p.raft }

// AwaitRaft waits until another node connects for Raft, which it closes, and reports false if ctx ends before. It must
// not be called once Raft accepts connections.
func (p *Port) AwaitRaft(ctx context.Context) bool {
	select {
	case c := <-p.raft.accepted:
		_ = c.Close() // the other node tries again
		return true
	case <-ctx.Done():
		return false
	}
}

// HTTP returns the listener for connections of HTTP clients of other nodes. Each connection is a *tls.Conn whose
// handshake is complete, so that credentials.PeerName of a request's TLS state is the name of the node that sends it.
func (p *Port) HTTP() net.Listener { return p.http }

// Addr returns the address that the port listens on.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Close closes the port and both of its listeners, and waits until no handshake is under way. Connections that were
// accepted stay open.
func (p *Port) Close() error {
	p.stop()
	err := p.listener.Close()
	p.raft.Close()
	p.http.Close()
	p.ended.Wait()
	if errors.Is(err, net.ErrClosed) { // it was closed before
		return nil
	}
	return err
}

// acceptAgain is how long the port waits after connections could not be accepted, for instance because there are too
// many open files.
const acceptAgain = 100 * time.Millisecond

// accept accepts connections until the port is closed.
func (p *Port) accept() {
	for {
		c, err := p.listener.Accept()
		switch {
		case err == nil:
			p.admit(c)
		case p.ctx.Err() != nil:
			return
		default:
			p.refused("connections of other nodes cannot be accepted", nil, err)
			select {
			case <-p.ctx.Done():
			case <-time.After(acceptAgain):
			}
		}
	}
}

// admit begins the handshake of a connection, unless there are too many handshakes.
func (p *Port) admit(c net.Conn) {
	client := admission.Client{}
	if addr, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		client = admission.ClientAt(addr.AddrPort().Addr().Unmap())
	}
	share := p.handshakes.Share(client)
	if err := share.TryAcquire(); err != nil {
		share.Close()
		_ = c.Close() // nothing has been sent on it
		p.refused("a connection to the cluster's port is closed: there are too many handshakes", c.RemoteAddr(), err)
		return
	}
	p.ended.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, p.config.HandshakeTimeout)
		defer cancel()
		over := tls.Server(c, p.config.Credentials.Server(p.protocols()...))
		err := over.HandshakeContext(ctx)
		share.Release()
		share.Close()
		if err == nil {
			err = p.deliver(ctx, over)
		}
		if err != nil {
			_ = c.Close() // the peer is refused
			if p.ctx.Err() == nil {
				p.refused("a connection to the cluster's port is refused", c.RemoteAddr(), err)
			}
		}
	})
}

// protocols returns what the port speaks now. A client that is refused in the handshake knows that nothing it wanted to
// send has arrived.
func (p *Port) protocols() (list []string) {
	if !p.raft.isClosed() {
		list = append(list, raftProtocol)
	}
	if !p.http.isClosed() {
		list = append(list, httpProtocol)
	}
	return list
}

// deliver gives a connection to the listener of its protocol. It waits until the listener's owner accepts it, or ctx
// ends.
func (p *Port) deliver(ctx context.Context, c *tls.Conn) error {
	to := p.http
	switch protocol := c.ConnectionState().NegotiatedProtocol; protocol {
	case raftProtocol:
		to = p.raft
	case httpProtocol:
	default:
		return fmt.Errorf("%s speaks neither of the protocols %s and %s", credentials.PeerName(c.ConnectionState()),
			raftProtocol, httpProtocol)
	}
	select {
	case to.accepted <- c:
		return nil
	case <-to.closed:
		return net.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("this node did not accept the connection in %v", p.config.HandshakeTimeout)
	}
}

// refused logs that a connection was refused: as a warning, unless one was logged within warnEvery or the client only
// looked whether the port is open.
func (p *Port) refused(message string, from net.Addr, err error) {
	level := slog.LevelDebug
	if !errors.Is(err, io.EOF) {
		p.warned.Do(func() { level = slog.LevelWarn })
	}
	attrs := []slog.Attr{slog.Any("error", explain(err))}
	if from != nil {
		attrs = append(attrs, slog.String("address", from.String()))
	}
	p.config.Log.LogAttrs(p.ctx, level, message, attrs...)
}
