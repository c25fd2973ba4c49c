package server

import (
	"encoding/binary"
	"net"
	"syscall"

	"lectern/gateway/internal/paced"
)

// tcpNotSentLowat is TCP_NOTSENT_LOWAT of Linux, which package syscall does not name.
const tcpNotSentLowat = 0x19

// boundUnsent limits how much of an answer the system buffers before it can send it. Without the limit, the system
// takes several megabytes at once, and then nothing until a third of them has been sent. A client that reads slowly but
// steadily would then look like one that does not read (see Limits.send), and the buffered bytes would be memory that
// no budget counts. If the system has no such option, the server works without the limit.
func boundUnsent(c net.Conn) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return // it is closed already
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, paced.Part)
	})
}

// States of a connection whose client has closed it, as the first byte of Linux' struct tcp_info tells them.
const (
	tcpClose     = 7
	tcpCloseWait = 8
)

// hungUp reports whether the client has closed a connection. It reads nothing from the connection, and finds that out
// behind unread data, too.
func hungUp(c net.Conn) (gone bool) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true // it is closed already
	}
	err = raw.Control(func(fd uintptr) {
		info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		if err != nil {
			return // not a connection of TCP
		}
		var state [4]byte
		binary.NativeEndian.PutUint32(state[:], uint32(info))
		gone = state[0] == tcpClose || state[0] == tcpCloseWait
	})
	return gone || err != nil
}
