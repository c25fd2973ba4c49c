package servertest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// FreeAddress returns an address of this machine at which nothing listens, as FreePorts says.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return loopback(FreePorts(t, 1))
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// Ports are taken from blocks. A block belongs to the program that listens at its first port, which is for as long as
// it runs: several programs of tests run at the same time. Systems do not give these ports to outgoing connections, so
// that a server that is stopped and started again finds its port still free.
const (
	firstBlock = 16000
	blockSize  = 200
	blockCount = 80
)

// ports are those of the block that was taken last.
var ports struct {
	mu        sync.Mutex
	next, end int // no port is returned twice
	taken     []net.Listener
}

// FreePorts returns the first of n ports in a row at which nothing listens; n is less than 200. No other call returns
// any of them, in this program or in another one that runs at the same time.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	ports.mu.Lock()
	defer ports.mu.Unlock()
	for {
		for ports.next+n > ports.end {
			if !takeBlock() {
				t.Fatalf("no %d free ports in a row are left", n)
			}
		}
		first := ports.next
		ports.next += n
		if portsAreFree(first, n) {
			return first
		}
	}
}

// takeBlock makes ports those of a block that no program has. It reports whether there is one.
func takeBlock() bool {
	at := rand.IntN(blockCount)
	for i := range blockCount {
		first := firstBlock + (at+i)%blockCount*blockSize
		if ln, err := net.Listen("tcp", loopback(first)); err == nil {
			ports.taken = append(ports.taken, ln)
			ports.next, ports.end = first+1, first+blockSize
			return true
		}
	}
	return false
}

func portsAreFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		ln, err := net.Listen("tcp", loopback(port))
		if err != nil || ln.Close() != nil {
			return false
		}
	}
	return true
}
