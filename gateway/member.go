package gateway

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
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
	"lectern/gateway/internal/replication"
	"lectern/store"
)

// Cluster says which node of a cluster the server is.
type Cluster struct {
	Name    string   // of the node, which no other node of the cluster has
	Address string   // HOST:PORT at which the other nodes reach it
	Listen  string   // HOST:PORT that it listens on for them; "" is Address
	Join    []string // HOST:PORT of other nodes, of which one that is a member adds this one
	Expect  int      // how many nodes must have found each other before one of them begins the cluster; 0: a node without Join begins it alone
	NoVote  bool     // the node takes part in no majority, and serves reads
	// Certificates is the directory with the files of `lectern cluster init` for this node; "" is the directory cluster in the data directory.
	Certificates string
	// Heartbeat is how long a node hears nothing from the leader before it wants to become the leader; 0: a second.
	Heartbeat time.Duration
	// Trailing is how many transactions the node keeps for others that are behind; 0: 4096. A node that is further behind gets a copy of the content.
	Trailing uint64
}

// clustering returns the options of a server with what config/server.yaml says about a cluster, unless Cluster says that.
func (o Options) clustering(dir string) (Options, error) {
	c, err := config.ReadCluster(dir)
	if err != nil || c.Name == "" && o.Cluster == nil {
		return o, err
	}
	var set Cluster
	if o.Cluster != nil {
		set = *o.Cluster
	}
	set.Name, set.Address = cmp.Or(set.Name, c.Name), cmp.Or(set.Address, c.Address)
	set.Expect, set.Certificates = cmp.Or(set.Expect, c.Expect), cmp.Or(set.Certificates, c.Certificates)
	set.NoVote = set.NoVote || c.NoVote
	if len(set.Join) == 0 {
		set.Join = c.Join
	}
	if set.Certificates != "" && !filepath.IsAbs(set.Certificates) {
		set.Certificates = filepath.Join(dir, set.Certificates)
	}
	o.Cluster = &set
	return o, nil
}

// Names of notes in the store of a node.
const (
	definitionsNote = "cluster/definitions"      // the definition files that all nodes serve
	hashNote        = "cluster/definitions-hash" // of them
	secretNote      = "cluster/jwt-secret"       // sealed
)

// A member is this server as a node of a cluster. It implements consensus.Machine: it applies the transactions of the cluster to the store of the project.
type member struct {
	options     *Cluster
	directory   *admin.Directory
	own         string // the directory of the project that is served, with this node's own files
	dir         string // of the files of the node
	data        string // the data directory
	project     *Project
	credentials *credentials.Credentials
	port        *port.Port
	node        atomic.Pointer[consensus.Raft] // nil until it is started
	belongs     atomic.Bool                    // to a cluster already
	log         *slog.Logger
	extensions  *Extensions
	version     string       // of the program
	client      *http.Client // of other nodes
	via         string       // names this process in the header Via of what it forwards; clients cannot guess it
	nodes       *http.Server // for other nodes; nil until the port is open

	ctx      context.Context // ends when the node is closed
	end      context.CancelFunc
	taking   sync.Mutex                   // held while a copy is written that the project opens
	taken    bool                         // no such copy is written any more; guarded by taking
	restored chan struct{}                // gets a value when such a copy was written
	opened   chan struct{}                // closed once the store is open
	serving  chan struct{}                // closed once the project serves
	commands atomic.Pointer[http.Handler] // of the control socket; nil until it listens

	// halfConverted is content of which other nodes send the rest of a conversion, nil if there is none. It is served once it is converted. The
	// former content is served until then, if there is any.
	halfConverted atomic.Pointer[store.Store]
	converted     chan struct{} // closed when openProject need not wait for that

	removed atomic.Bool                          // from the cluster
	current atomic.Pointer[time.Time]            // when the content was last known to be that of the cluster; nil if it never was
	builds  atomic.Pointer[map[string]nodeState] // of the other nodes that answered last, by name; never nil

	leader  atomic.Pointer[string] // the address that Follow or Led has noted last; never nil, "" if there is no leader
	changed broadcast              // sent when leaderAddress may have changed
	handing sync.Mutex             // held while this node hands the lead over
	writes  writeGate              // of this node as the leader
	sends   outgoing               // to the leader

	reached  atomic.Uint64 // a revision up to which reads show all; they may show more
	advanced broadcast     // sent by each advance

	stop   context.CancelFunc // ends what the leader alone does; nil if the node does not lead
	parts  sync.WaitGroup
	served sync.WaitGroup // of other nodes
	closed sync.Once

	uploads *filesync.Nodes

	deploying sync.Mutex // held while definitions are deployed
	changing  sync.Mutex // held while this node, as the leader, changes who belongs to the cluster
	joins     broadcast  // sent when a node is to get a vote
	unpacking sync.Mutex // held while the definitions of the cluster are read from the store and written to files
}

// waitUntilServed waits until the project serves.
func (m *member) waitUntilServed() error { return m.waitFor(m.serving) }

// waitForStore waits until the project serves, or has half converted content, which it serves once it got the rest.
func (m *member) waitForStore() error {
	if err := m.waitFor(m.opened); err != nil || m.halfConverted.Load() != nil {
		return err
	}
	return m.waitUntilServed()
}

func (m *member) waitFor(closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

// Apply implements consensus.Machine.
func (m *member) Apply(list []store.Transaction) error {
	if err := m.waitForStore(); err != nil {
		return err
	}
	if st := m.halfConverted.Load(); st != nil {
		if _, err := st.ApplyTransactions(m.ctx, list); err != nil {
			return err
		}
		err := m.serveConverted(st, func(ctx context.Context, _ *store.Store, d *config.Definition) (*store.Store, error) {
			return st.Adopt(ctx, d.Model)
		})
		if errors.Is(err, store.ErrOtherDefinitions) { // more transactions follow
			return nil
		}
		return err
	}
	g := m.project.generation.Load()
	behind, err := g.store.ApplyTransactions(m.ctx, list)
	if err != nil {
		return err
	}
	if !behind {
		if behind, err = m.differs(g); err != nil {
			return err
		}
	}
	if behind {
		return m.takeDefinitions(g.store, m.project.redefine)
	}
	if err := g.tokens.Refresh(); err != nil { // before reads that wait for what was written go on
		return err
	}
	m.advance()
	return nil
}

// differs reports whether the cluster has other definitions than a generation serves.
func (m *member) differs(g *generation) (bool, error) {
	var hash string
	err := readNote(g.store, hashNote, &hash)
	return hash != "" && hash != g.files.Hash(), err
}

// readNote reads a note. It changes nothing if there is none.
//
// It does not open a snapshot of the store. During a conversion that can wait until the new definitions are served, and these are served only after
// the node has applied transactions. The code that applies them calls readNote, so both would wait for each other.
func readNote(st *store.Store, name string, to any) error {
	return st.ReadNote(name, func(text []byte) error {
		if text == nil {
			return nil
		}
		return json.Unmarshal(text, to)
	})
}

// takeDefinitions serves the definitions of the cluster, which a store has, with the store that under returns. It changes nothing while the
// content is converted to them.
func (m *member) takeDefinitions(from *store.Store, under redefiner) error {
	err := m.redefine(from, replacement{store: under})
	if errors.Is(err, store.ErrOtherDefinitions) { // more transactions follow
		return nil
	}
	return err
}

// redefine serves the definitions of the cluster, which a store has, with the store of a replacement. It returns store.ErrOtherDefinitions
// while the content is converted to them.
func (m *member) redefine(from *store.Store, r replacement) error {
	served, err := readOwnFiles(m.Files())
	if err != nil {
		return err
	}
	if err := m.unpackStored(from); err != nil {
		return err
	}
	r.load = func() (*Definition, error) { return m.load(m.Files(), served) }
	if err := m.replace(r); err != nil {
		return err
	}
	m.advance()
	return nil
}

// replace serves a replacement. If nothing is served yet, openProject waits for that.
func (m *member) replace(r replacement) error {
	p := m.project
	if p.Store() != nil {
		return p.replace(m.ctx, r)
	}
	d, err := r.load()
	if err != nil {
		return err
	}
	g := p.newGeneration(d)
	if g.store, err = r.store(m.ctx, nil, d.Definition); err != nil {
		return err
	}
	p.generation.Store(g)
	close(m.converted)
	return nil
}

// Lead implements consensus.Machine.
func (m *member) Lead() error {
	if err := m.waitForStore(); err != nil {
		return err
	}
	if err := m.checkReaders(); err != nil {
		return err
	}
	m.endLead()
	p := m.project
	if st := m.halfConverted.Load(); st != nil {
		err := m.serveConverted(st, func(ctx context.Context, _ *store.Store, d *config.Definition) (*store.Store, error) {
			return st.Lead(ctx, d.Model, p.storeOptions(d))
		})
		if err == nil {
			err = m.waitUntilServed()
		}
		if err != nil {
			return err
		}
	}
	err := m.takeDefinitions(p.Store(), func(ctx context.Context, before *store.Store, d *config.Definition) (*store.Store, error) {
		return before.Lead(ctx, d.Model, p.storeOptions(d))
	})
	if err == nil {
		err = m.shareSecret()
	}
	if err != nil {
		return err
	}
	p.log.Info("this node leads the cluster", "node", m.options.Name)
	ctx, stop := context.WithCancel(m.ctx)
	m.stop = stop
	m.parts.Go(func() { p.scheduler.run(ctx) })
	m.parts.Go(func() { p.webhooks.Run(ctx) })
	m.parts.Go(func() { m.giveVotes(ctx) })
	return nil
}

// Led implements consensus.Machine.
func (m *member) Led() { m.setLeader(m.options.Address) }

// Follow implements consensus.Machine.
func (m *member) Follow(leader string) {
	if m.waitForStore() != nil {
		return
	}
	m.endLead()
	before := *m.leader.Load()
	m.setLeader(leader)
	if err := m.store().Follow(m.ctx); err != nil && m.ctx.Err() == nil {
		m.project.log.Error("the node cannot follow the leader of the cluster", "error", err)
	}
	if leader != "" && leader != before {
		m.project.log.Info("this node follows the leader of the cluster", "node", m.options.Name, "leader", leader)
	}
}

// endLead ends what the leader alone does.
func (m *member) endLead() {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
	m.parts.Wait()
}

// setLeader notes the address of the leader, and wakes those that wait for one.
func (m *member) setLeader(address string) {
	m.leader.Store(&address)
	m.changed.send() // also if it is the same one: it may have been without the lead meanwhile
}

// shareSecret gives the other nodes the secret that signs JWTs, if they do not have one. If the one that they have is sealed with a cluster key that is to
// be replaced, shareSecret seals it anew.
func (m *member) shareSecret() error {
	g := m.project.generation.Load()
	var sealed []byte
	err := readNote(g.store, secretNote, &sealed)
	if err != nil {
		return err
	}
	var secret []byte
	var current bool
	switch {
	case sealed != nil:
		secret, current, err = m.credentials.Open(secretNote, sealed)
	case g.Settings.Users.Secret != "" || !g.Settings.Users.Enabled:
		return nil // it is in the configuration of every node
	default:
		secret, err = g.keptSecret()
	}
	if current || err != nil {
		return err
	}
	if err := putNotes(m.ctx, g.store, map[string]any{secretNote: m.credentials.Seal(secretNote, secret)}); err != nil {
		return err
	}
	m.log.Info("the secret of JWTs was sealed with the first key in cluster.key")
	return nil
}

// putNotes stores notes in one transaction.
func putNotes(ctx context.Context, st *store.Store, values map[string]any) error {
	notes, err := encodeNotes(values)
	if err != nil {
		return err
	}
	return st.Write(ctx, func(tx *store.Tx) error {
		for name, text := range notes {
			if err := tx.PutNote(name, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// encodeNotes returns notes as a store keeps them.
func encodeNotes(values map[string]any) (notes map[string][]byte, err error) {
	notes = make(map[string][]byte, len(values))
	for name, value := range values {
		if notes[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// takeSecret writes the secret of the cluster, if there is one, where the server reads it.
func (m *member) takeSecret(sealed []byte) error {
	secret, _, err := m.credentials.Open(secretNote, sealed)
	if err != nil {
		return fmt.Errorf("open the secret for JWTs that the nodes share: %w", err)
	}
	name := filepath.Join(m.data, secretName)
	if there, err := os.ReadFile(name); err == nil && subtle.ConstantTimeCompare(there, append(secret, '\n')) == 1 {
		return nil
	}
	return replication.WriteFile(name, append(secret, '\n'))
}
