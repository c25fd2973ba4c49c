package cluster

import (
	"net"
	"sync"
)

// connections are the connections of Raft. While Raft receives a copy it does nothing else, and when it is shut down it waits for the node at the other end
// of a connection over which it sends or receives one. Both may take for ever. Closing all connections ends that.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{} // nil once all are cut
}

func newConnections() *connections { return &connections{open: map[net.Conn]struct{}{}} }

// add returns a connection that cut closes, given one that was accepted or dialled.
func (c *connections) add(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		_ = conn.Close() // the node is being closed
		return nil, net.ErrClosed
	}
	c.open[conn] = struct{}{}
	return &connection{conn, c}, nil
}

// reset closes all connections. Raft makes others.
func (c *connections) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeAll()
}

// cut closes all connections, and those that are added later.
func (c *connections) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeAll()
	c.open = nil
}

func (c *connections) closeAll() {
	for conn := range c.open {
		_ = conn.Close() // nothing is lost that Raft has taken
	}
}

// A connection is one of connections until it is closed.
type connection struct {
	net.Conn
	of *connections
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
