package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/gateway/internal/cluster/credentials"
	"lectern/gateway/internal/filesync"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// A newNode is a node that is to be added or changed. Only its name counts where it is to be removed, or to lead.
type newNode struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"`
	build          // zero if another node has it added
}

// nodePaths is what the paths of requests begin with that nodes make themselves. Other requests were forwarded.
const nodePaths = "/cluster/"

// Paths of requests of other nodes. Those that change the cluster are for the leader.
const (
	statePath    = "/cluster/state"
	nodesPath    = "/cluster/nodes"
	addPath      = "/cluster/add"
	removePath   = "/cluster/remove"
	transferPath = "/cluster/transfer"
	revisionPath = "/cluster/revision"
)

// nodeRoutes returns the handler of the other nodes' requests: what they ask of this node, and the requests that they
// forward.
func (n *Node) nodeRoutes() http.Handler {
	routes := http.NewServeMux()
	handle := func(pattern string, answer func(*http.Request) (any, error)) {
		routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			value, err := answer(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusConflict)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(value) // it fails only if the other node is gone
		})
	}
	handle("GET "+statePath, func(*http.Request) (any, error) { return n.state(), nil })
	handle("GET "+nodesPath, func(*http.Request) (any, error) { return n.peers() })
	change := func(pattern string, change peerChange) {
		handle("POST "+pattern, func(r *http.Request) (any, error) {
			var to newNode
			if err := readNodeJSON(r, &to); err != nil {
				return nil, err
			}
			return nil, change(n, r.Context(), to)
		})
	}
	change(addPath, func(n *Node, ctx context.Context, to newNode) error {
		if to.Protocol != 0 {
			if err := to.reads(n.build()); err != nil {
				return err
			}
		}
		return n.addNode(ctx, to)
	})
	change(removePath, (*Node).removeNode)
	change(transferPath, (*Node).transferLead)
	handle("GET "+revisionPath, func(r *http.Request) (any, error) {
		if err := n.waitUntilServed(); err != nil {
			return nil, err
		}
		if err := n.raft.Load().Verify(r.Context()); err != nil {
			return nil, err
		}
		return n.shown()
	})
	routes.Handle(filesync.NodesPath, n.uploads)
	routes.HandleFunc(commandPath+"/", n.serveCommand)
	routes.HandleFunc("/", n.serveForwarded)
	return n.nodesOnly(routes)
}

// serveNodes answers the other nodes until endNodes is called.
func (n *Node) serveNodes() {
	if err := n.http.Serve(n.port.HTTP()); !errors.Is(err, http.ErrServerClosed) {
		n.log.Error("the node does not answer the other nodes any more", "error", err)
	}
}

// endNodes ends serveNodes. If the project is served already, endNodes first waits for the requests that are under way,
// for maxElection at most.
func (n *Node) endNodes() {
	select {
	case <-n.serving:
		ctx, cancel := context.WithTimeout(context.Background(), n.maxElection())
		defer cancel()
		if n.http.Shutdown(ctx) == nil {
			return
		}
	default:
	}
	_ = n.http.Close() // what fails to close is gone
}

// maxNodeConns bounds the connections to another node. A new one costs milliseconds of TLS.
const maxNodeConns = 200

// nodeIdle is how long a node keeps a connection to another one without a request.
const nodeIdle = 30 * time.Second

// newNodeServer returns a server for the requests of other nodes. It keeps connections longer than nodes do that open
// them: what is sent over a connection just when the other end closes it has an unknown outcome. ReadHeaderTimeout is
// also how long net/http waits for the first request. Nodes may open a connection and keep it for a later request,
// because another one was free earlier.
func newNodeServer(h http.Handler, log *slog.Logger) *http.Server {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 2 * nodeIdle, IdleTimeout: 2 * nodeIdle,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	unused := &unusedConns{open: map[net.Conn]bool{}}
	srv.ConnState = unused.note
	srv.RegisterOnShutdown(unused.close)
	return srv
}

// unusedConns are the connections of a server over which no request has come yet. When the server shuts down they are
// closed: net/http would wait for a request on them for 5 seconds.
type unusedConns struct {
	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// note is the ConnState of the server.
func (u *unusedConns) note(c net.Conn, s http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case s != http.StateNew:
		delete(u.open, c)
	case u.closed:
		_ = c.Close() // nothing was sent on it
	default:
		u.open[c] = true
	}
}

func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.open {
		_ = c.Close() // nothing was sent on it
	}
}

// newTransport returns a transport for requests to other nodes.
func newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{DialContext: dial, MaxIdleConnsPerHost: maxNodeConns, MaxConnsPerHost: maxNodeConns,
		IdleConnTimeout: nodeIdle, DisableCompression: true}
}

// errRemoved is the answer to a request that a node has forwarded which was removed from the cluster.
var errRemoved = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Reason:  apierror.Origin,
	Message: "this node was removed from its cluster; nothing was written", Details: jsontree.ObjectOf("outcome",
		"refused")}

// nodesOnly wraps the handler of other nodes' requests. A node that was removed from the cluster still has a
// certificate; it is refused all but what a node asks before it is one of the cluster.
func (n *Node) nodesOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case statePath, addPath, nodesPath: // a node learns from the others that it was removed while it was down
		default:
			name := credentials.PeerName(*r.TLS)
			if raft := n.raft.Load(); raft == nil || raft.Has(name) {
				break
			}
			if strings.HasPrefix(r.URL.Path, nodePaths) {
				http.Error(w, name+" is no node of the cluster", http.StatusForbidden)
			} else {
				server.WriteError(w, r, errRemoved)
			}
			return
		}
		h.ServeHTTP(w, r)
	})
}

// running returns the Raft of this node, or an error if it has not begun.
func (n *Node) running() (*consensus.Raft, error) {
	if raft := n.raft.Load(); raft != nil {
		return raft, nil
	}
	return nil, errors.New("this node does not belong to the cluster yet")
}

func (n *Node) peers() ([]consensus.Peer, error) {
	raft, err := n.running()
	if err != nil {
		return nil, err
	}
	return raft.Peers()
}

func readNodeJSON(r *http.Request, to any) error {
	text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// serveForwarded answers a request that another node has forwarded, as if the client had sent it here.
func (n *Node) serveForwarded(w http.ResponseWriter, r *http.Request) {
	if n.waitUntilServed() != nil {
		server.WriteError(w, r, errNoLeader)
		return
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	r.RemoteAddr = net.JoinHostPort(strings.TrimSpace(hops[len(hops)-1]), "0")
	r.Header["X-Forwarded-For"] = []string{strings.Join(hops[:len(hops)-1], ",")}
	n.project.Handler().ServeHTTP(w, r)
}
