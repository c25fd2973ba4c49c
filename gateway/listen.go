package gateway

import "net"

// A boundedListener's connections hold little of an answer that cannot be sent yet.
type boundedListener struct{ net.Listener }

func (l boundedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		boundUnsent(c)
	}
	return c, err
}
