package command

import (
	"fmt"
	"net"
)

// notifyReady tells the service manager that started the process that it is ready, as sd_notify of systemd does. socket
// is the value of NOTIFY_SOCKET: a path, or "@" and a name in the abstract namespace. Without one there is nobody to
// tell.
func notifyReady(socket string) error {
	if socket == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("READY=1")); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}
