//go:build !linux

package gateway

import "net"

// boundUnsent is for Linux: elsewhere systems take less of an answer at a time.
func boundUnsent(net.Conn) {}
