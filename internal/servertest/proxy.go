package servertest

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// A Fault is what a network does to the bytes that go in one direction.
type Fault int

const (
	None     Fault = iota
	Slow           // bytes arrive late
	Cutting        // connections are reset after some bytes
	HalfOpen       // connections stay open, and nothing arrives any more
	Away           // connections are closed at once
	Faults         // how many there are of those above, which a test may choose by chance
	Held           // bytes wait until the fault ends, as those of a packet that TCP sends again
)

// A Link is one direction of a network between two parties. Any number of connections go over it. Its zero value has no
// fault.
type Link struct {
	mu      sync.Mutex
	fault   Fault
	changed chan struct{} // closed at the next Set; nil while nobody waits for it
	conns   map[net.Conn]bool
}

// Set changes the fault. Connections that were half open end, as they do when a network comes back.
func (l *Link) Set(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	former := l.fault
	l.fault = f
	if f == Away || former == HalfOpen && f != HalfOpen {
		for c := range l.conns {
			c.Close()
		}
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

func (l *Link) now() (f Fault, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.fault, l.changed
}

// passes waits while bytes are held. It returns the fault of the link, which is not Held.
func (l *Link) passes() Fault {
	for {
		f, changed := l.now()
		if f != Held {
			return f
		}
		<-changed
	}
}

func (l *Link) add(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = map[net.Conn]bool{}
	}
	for _, c := range conns {
		l.conns[c] = true
	}
}

func (l *Link) remove(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}

// A Proxy forwards connections to a server, with the faults of links.
type Proxy struct {
	ln    net.Listener
	to    string
	links func(net.Conn) (forth, back *Link)

	mu     sync.Mutex
	used   map[*Link]bool
	closed bool
	done   sync.WaitGroup
}

// NewProxy returns a proxy before the server at an address, which forwards until the test ends. links returns the links
// to and from the server for a connection of a client.
func NewProxy(t testing.TB, to string, links func(client net.Conn) (forth, back *Link)) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{ln: ln, to: to, links: links, used: map[*Link]bool{}}
	p.done.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns the address of the proxy.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

func (p *Proxy) close() {
	p.ln.Close()
	p.mu.Lock()
	p.closed = true
	for l := range p.used {
		l.Set(Away)
	}
	p.mu.Unlock()
	p.done.Wait()
}

// uses notes the links of a connection. It returns false if the proxy is closed.
func (p *Proxy) uses(links ...*Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range links {
		p.used[l] = true
	}
	return !p.closed
}

func (p *Proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() {
			defer c.Close()
			forth, back := p.links(c)
			if p.uses(forth, back) {
				p.connect(c, forth, back)
			}
		})
	}
}

// connect forwards a connection of a client until it ends.
func (p *Proxy) connect(c net.Conn, forth, back *Link) {
	if forth.passes() == Away || back.passes() == Away {
		return
	}
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	forth.add(c, up)
	back.add(c, up)
	defer forth.remove(c, up)
	defer back.remove(c, up)
	var both sync.WaitGroup
	both.Go(func() { forth.forward(up, c) })
	both.Go(func() { back.forward(c, up) })
	both.Wait()
}

// forward copies from one connection to the other, and closes both at the end.
func (l *Link) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		switch l.passes() {
		case Slow:
			// A slow network holds each piece back.
			time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
		case Cutting:
			if rand.IntN(10) == 0 {
				to.Write(buf[:rand.IntN(n+1)])
				if tcp, ok := to.(*net.TCPConn); ok {
					tcp.SetLinger(0) // a reset
				}
				return
			}
		case HalfOpen:
			io.Copy(io.Discard, from)
			return
		case Away:
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
