package replicas

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// A fault is what a proxy does to its connections.
type fault int

const (
	none     fault = iota
	slow           // bytes arrive late
	cutting        // connections are reset after some bytes
	halfOpen       // connections stay open, and nothing arrives any more
	away           // connections are closed at once
	faults
)

// A proxy forwards connections to a server, with faults.
type proxy struct {
	ln net.Listener
	to string

	mu    sync.Mutex
	fault fault
	conns map[net.Conn]bool
	done  sync.WaitGroup
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ln: ln, to: to, conns: map[net.Conn]bool{}}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		ln.Close()
		p.set(away)
		p.done.Wait()
	})
	return p
}

// set changes the fault. Connections that were half open end, as they do when a network comes back.
func (p *proxy) set(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	former := p.fault
	p.fault = f
	if f == away || former == halfOpen && f != halfOpen {
		for c := range p.conns {
			c.Close()
		}
	}
}

func (p *proxy) now() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

func (p *proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		if p.now() == away {
			c.Close()
			continue
		}
		up, err := net.Dial("tcp", p.to)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		p.conns[c], p.conns[up] = true, true
		p.mu.Unlock()
		var both sync.WaitGroup
		both.Go(func() { p.forward(up, c) })
		both.Go(func() { p.forward(c, up) })
		p.done.Go(func() {
			both.Wait()
			p.mu.Lock()
			delete(p.conns, c)
			delete(p.conns, up)
			p.mu.Unlock()
		})
	}
}

// forward copies from one connection to the other, and closes both at the end.
func (p *proxy) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		switch p.now() {
		case slow:
			time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
		case cutting:
			if rand.IntN(10) == 0 {
				to.Write(buf[:rand.IntN(n+1)])
				if tcp, ok := to.(*net.TCPConn); ok {
					tcp.SetLinger(0) // a reset
				}
				return
			}
		case halfOpen:
			io.Copy(io.Discard, from)
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// freePort returns a port on which nothing listens.
func freePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}
