package gateway

import (
	"net"
	"syscall"

	"lectern/gateway/internal/paced"
)

// tcpNotSentLowat is TCP_NOTSENT_LOWAT of Linux, which package syscall does not name.
const tcpNotSentLowat = 0x19

// boundUnsent has the system take at most a part of an answer that it cannot send yet. Otherwise it takes several megabytes, and
// then nothing until a third of them has gone: a client that reads slowly but steadily would look like one that does not read
// (see requestLimits.send), and they are memory that nobody has reserved. A system without such an option serves all the same.
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
