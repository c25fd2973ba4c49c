package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/gateway/internal/cluster/credentials"
	"lectern/gateway/internal/cluster/port"
	"lectern/gateway/internal/filesync"
	"lectern/store"
)

// Settings say which node of a cluster a server is.
type Settings struct {
	Name    string   // of the node, which no other node of the cluster has
	Address string   // HOST:PORT at which the other nodes reach it
	Listen  string   // HOST:PORT that it listens on for them; "" is Address
	Join    []string // HOST:PORT of other nodes, of which one that is in the cluster already adds this one
	// Expect is how many nodes must have found each other before one of them begins the cluster; 0: a node without Join
	// begins it alone.
	Expect int
	NoVote bool // the node takes part in no majority, and serves reads
	// Certificates is the directory with the files of `lectern cluster init` for this node; "" is the directory cluster
	// in the data directory.
	Certificates string
	// Heartbeat is how long a node hears nothing from the leader before it wants to become the leader; 0: a second.
	Heartbeat time.Duration
	// Trailing is how many transactions the node keeps for others that are behind; 0: 4096. A node that is further
	// behind gets a copy of the content.
	Trailing uint64
}

// Names of notes in the store of a node.
const (
	definitionsNote = "cluster/definitions"      // the definition files that all nodes serve
	hashNote        = "cluster/definitions-hash" // of them
	secretNote      = "cluster/jwt-secret"       // sealed
)

// Options are what a Node is made of.
type Options struct {
	*Settings
	Project Project
	Dir     string // of the project that is served, with this node's own files
	Data    string // the data directory
	Secret  string // the file from which the project reads the secret that signs JWTs
	Version string // of the program
	Log     *slog.Logger
}

// A Node is this server as a node of its cluster. It applies the transactions of the cluster to the store of the
// project, as a consensus.Machine. Its exported methods are safe for concurrent use.
type Node struct {
	options     Options
	project     Project
	dir         string // of the files of the node
	credentials *credentials.Credentials
	port        *port.Port
	raft        atomic.Pointer[consensus.Raft] // nil until it is started
	belongs     atomic.Bool                    // to a cluster already
	log         *slog.Logger
	client      *http.Client // of other nodes
	via         string       // names this process in the header Via of what it forwards; clients cannot guess it
	http        *http.Server // for other nodes; nil until the port is open

	ctx    context.Context // ends when the node is closed
	end    context.CancelFunc
	served sync.WaitGroup // of what runs until then
	closed sync.Once

	// How far the node has begun.
	opened  chan struct{} // closed once the store is open
	serving chan struct{} // closed once the project serves

	// Copies of the content that arrive before the project has opened its store.
	taking   sync.Mutex    // held while one is written
	taken    bool          // none is written any more; guarded by taking
	restored chan struct{} // gets a value when one was written

	// halfConverted is a store whose content is to be converted to other definitions, by transactions that are still to
	// come; nil if there is none. The project serves the content before until the node has applied them.
	halfConverted atomic.Pointer[store.Store]
	converted     chan struct{} // closed once the first content that the project serves is converted

	// What the node knows of its cluster.
	removed atomic.Bool                          // the cluster has removed this node
	builds  atomic.Pointer[map[string]nodeState] // of the other nodes that answered last, by name; never nil
	// leader is the address of the node that Raft has named as the leader last, "" if it had none; never nil. Use
	// leaderAddress to learn which node takes the writes.
	leader  atomic.Pointer[string]
	changed broadcast // sent when leaderAddress may have changed

	// How recent the content is.
	current  atomic.Pointer[time.Time] // when it was last known to be that of the cluster; nil if it never was
	reached  atomic.Uint64             // a revision up to which reads show all; they may show more
	advanced broadcast                 // sent by each advance

	// Writes.
	commands atomic.Pointer[http.Handler] // of the control socket; nil until it listens
	handing  sync.Mutex                   // held while this node hands the lead over
	writes   writeGate                    // of this node as the leader
	sends    outgoing                     // to the leader

	// What the leader does.
	stop      context.CancelFunc // ends it; nil if the node does not lead
	parts     sync.WaitGroup     // of what runs until then
	changing  sync.Mutex         // held while it changes who belongs to the cluster
	joins     broadcast          // sent when a node is to get a vote
	deploying sync.Mutex         // held while definitions are deployed

	uploads   *filesync.NodeFiles
	unpacking sync.Mutex // held while the definitions of the cluster are read from the store and written to files
}

// New returns the node of a project, which does nothing yet.
func New(o Options) (*Node, error) {
	leader := ""
	n := &Node{options: o, project: o.Project, dir: filepath.Join(o.Data, admin.ClusterName), log: o.Log,
		via: "1.1 lectern-" + rand.Text(),
		restored: make(chan struct{},
			1), opened: make(chan struct{}), serving: make(chan struct{}), converted: make(chan struct{})}
	n.leader.Store(&leader)
	n.builds.Store(&map[string]nodeState{})
	n.ctx, n.end = context.WithCancel(context.Background())
	var err error
	if n.credentials, err = credentials.Load(cmp.Or(o.Certificates, n.dir), o.Log); err != nil {
		return nil, err
	}
	if name := n.credentials.Name(); o.Name == "" {
		o.Name = name
	} else if name != o.Name {
		return nil, fmt.Errorf("the certificate in %s is that of the node %s, and this node is %s; copy the files "+
			"of %[3]s there",
			cmp.Or(o.Certificates, n.dir), name, o.Name)
	}
	return n, nil
}

// Open opens the store of the project, after Join, and has it served. If its content was half converted to other
// definitions when the node ended, Open waits until the node has got the rest, or a copy in its place.
func (n *Node) Open(ctx context.Context, d *config.Definition) error {
	st, err := n.project.OpenStore(d)
	if err != nil {
		return err
	}
	if st.Model() == d.Model {
		n.project.Use(st)
		close(n.opened)
		return nil
	}
	n.halfConverted.Store(st)
	n.project.Converting()
	n.log.Warn("this node answers requests 503 until the leader has converted the content: the node was stopped " +
		"meanwhile, or is of a newer version than the leader")
	close(n.opened)
	select {
	case <-n.converted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start has the node take part in the cluster from now on, until Close is called. The project must serve.
func (n *Node) Start(context.Context, *sync.WaitGroup) {
	n.advance()
	close(n.serving)
	n.served.Go(func() { n.uploads.Run(n.ctx) })
	n.served.Go(func() { n.uploads.Scrub(n.ctx) })
	n.served.Go(func() { n.watchAge(n.ctx) })
}
