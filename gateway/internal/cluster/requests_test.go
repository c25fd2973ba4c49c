package cluster

import (
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"lectern/internal/silentnet"
)

// TestNodeConnectionsAreClosedByClients opens connections to a node, over which it gets no request, or none any more.
// It must keep them longer than other nodes do, which would otherwise send a write just when the connection is closed.
func TestNodeConnectionsAreClosedByClients(t *testing.T) {
	for _, request := range []string{"", "GET / HTTP/1.1\r\nHost: node\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			over := silentnet.New()
			srv := newNodeServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
			go srv.Serve(over)
			defer srv.Close()
			c, err := over.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write([]byte(request)); err != nil {
				t.Fatal(err)
			}
			opened := time.Now()
			for b := make([]byte, 4<<10); err == nil; {
				_, err = c.Read(b)
			}
			if open, kept := time.Since(opened), newTransport(over.Dial).IdleConnTimeout; open < kept+10*time.Second {
				t.Errorf("after %q the node closes the connection in %v; other nodes keep it for %v", request, open,
					kept)
			}
		})
	}
}

// TestNodeServerEndsAtOnce shuts the server of a node down while there is a connection that another node has opened and
// not used yet.
func TestNodeServerEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := silentnet.New()
		srv := newNodeServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
		go srv.Serve(over)
		c, err := over.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		synctest.Wait()
		began := time.Now()
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}
