//go:build !linux

package server

import "net"

// boundUnsent has no effect: other systems than Linux buffer less of an answer.
func boundUnsent(net.Conn) {}

// hungUp always returns false: other systems do not tell. A heartbeat finds out later that the client is gone.
func hungUp(net.Conn) bool { return false }
