package gateway

import (
	"net"
	"syscall"

	"lectern/gateway/internal/paced"
)

// tcpNotSentLowat is TCP_NOTSENT_LOWAT of Linux, which package syscall does not name.
const tcpNotSentLowat = 0x19

// boundUnsent limits how much of an answer the system buffers before it can send it. Without the limit, the system takes several megabytes
// at once, and then nothing until a third of them has been sent. A client that reads slowly but steadily would then look like one that does
// not read (see requestLimits.send), and the buffered bytes would be memory that no budget counts. If the system has no such option, the
// server works without the limit.
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
