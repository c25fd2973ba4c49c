package consensus

import (
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A rawPort is a Port without TLS.
type rawPort struct{ net.Listener }

func (p rawPort) Raft() net.Listener { return p.Listener }

func (p rawPort) DialRaft(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}

// TestNoPipelines asks the transport for a pipeline to itself. See newTransport for why there must be none.
func TestNoPipelines(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport(rawPort{ln}, newLogger(slog.New(slog.DiscardHandler)))
	defer transport.Close()
	if _, err := transport.AppendEntriesPipeline("n1", transport.LocalAddr()); !errors.Is(
		err, raft.ErrPipelineReplicationNotSupported) {
		t.Errorf("a pipeline: %v", err)
	}
}
