//go:build !linux

package gateway

import "net"

// boundUnsent has no effect: other systems than Linux buffer less of an answer.
func boundUnsent(net.Conn) {}
