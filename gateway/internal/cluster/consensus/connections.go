package consensus

import (
	"net"
	"sync"
)

// connections are the connections of Raft that are open. Closing them ends the wait for a node that does not go on to
// send or receive a copy: Raft does nothing else while it receives one, however long that takes, and its shutdown waits
// until all copies are sent or received.
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

// reset closes the connections that are open now. Raft connects again.
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

// closeAll must be called with c.mu held.
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
