package servertest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// FreeAddress returns an address of this machine at which nothing listens, as FreePorts says.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return "127.0.0.1:" + strconv.Itoa(FreePorts(t, 1))
}

const firstPort, lastPort = 16000, 32000 // less than a hundred ports in a row may begin at the last one

// ports counts the ports that were returned, so that none is returned again before somebody listens at it. It begins at a random number, since several
// programs of tests run at the same time.
var ports atomic.Uint32

func init() { ports.Store(rand.Uint32N(lastPort - firstPort)) }

// FreePorts returns the first of n ports in a row at which nothing listens. Systems do not give them to outgoing connections, so that a server that is
// stopped and started again finds its port still free.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	for range 100 {
		first := firstPort + int(ports.Add(uint32(n))-uint32(n))%(lastPort-firstPort)
		if portsAreFree(first, n) {
			return first
		}
	}
	t.Fatalf("there are no %d free ports in a row", n)
	return 0
}

func portsAreFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil || ln.Close() != nil {
			return false
		}
	}
	return true
}
