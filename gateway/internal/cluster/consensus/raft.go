package consensus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"lectern/store"
)

// A Machine is the state machine of a node. It is durable: what Apply, and a transaction of its own, have done is on
// disk.
type Machine interface {
	// Apply applies transactions of other nodes, and skips those that it has applied already. Its error means that the
	// node cannot go on; Apply is then called again with the same transactions.
	Apply([]store.Transaction) error
	// Copy returns a copy of the present state, for another machine's Restore, and its size in bytes.
	Copy() (int64, io.ReadCloser, error)
	// Restore replaces the state by a copy.
	Restore(io.Reader) error
	// Lead is called when the node has become the leader and has applied all transactions. From then on the machine may
	// commit transactions of its own, which it must propose first (Raft.Propose).
	Lead() error
	// Led is called after Lead, once Raft.Leading reports it.
	Led()
	// StopLeading is called when the node does not lead, also if it has not led before, and again for each other
	// leader. leader is the address of the leader, "" if there is none.
	StopLeading(leader string)
}

// A Port connects nodes.
type Port interface {
	// Raft returns the listener of connections that other nodes have opened by DialRaft. Its address is the one that
	// other nodes dial.
	Raft() net.Listener
	DialRaft(address string, timeout time.Duration) (net.Conn, error)
}

// A stream is the raft.StreamLayer of a Port. Its connections are in open.
type stream struct {
	net.Listener
	port Port
	open *connections
}

// Accept implements net.Listener.
func (s stream) Accept() (net.Conn, error) { return s.open.add(s.Listener.Accept()) }

// Dial implements raft.StreamLayer.
func (s stream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.open.add(s.port.DialRaft(string(address), timeout))
}

// Config is the configuration of a Raft.
type Config struct {
	Name    string
	Address string // at which the other nodes reach this one
	Dir     string // of the node's files
	Port    Port
	Machine Machine
	Log     *slog.Logger
	// Heartbeat is how long a node hears nothing from the leader before it wants to become the leader; 0: a second.
	Heartbeat time.Duration
	// Trailing is how many transactions a node keeps for others that are behind; 0: 4096. A node that is further behind
	// gets a copy of the content.
	Trailing uint64
	// Silence is how long nothing may arrive of a copy that another node sends; 0: 10 seconds. Then this node gives the
	// copy up and can vote again, which it cannot while it receives one. The leader sends it another copy.
	Silence time.Duration
}

// A Raft is what this node does in Raft: it agrees with the other nodes, and has its Machine apply what they have
// agreed to. Its methods are safe for concurrent use, except for Propose.
type Raft struct {
	config    Config
	raft      *raft.Raft
	log       *raftLog
	snapshots *snapshots
	transport *transport
	stop      context.CancelFunc
	ended     sync.WaitGroup
	stopped   <-chan struct{}
	woken     chan struct{} // asks for a look at who leads
	running   chan struct{} // closed once raft is set: Raft may receive a copy before
	proposals atomic.Uint64 // see Figures
	failed    atomic.Uint64
	stuck     atomic.Bool
	applied   atomic.Uint64 // the index up to which the machine has applied what Raft has passed to it
	gaveUp    int           // how often the node has passed the lead on since its machine led; only watch uses it

	mu        sync.Mutex
	pending   *proposal // that this node waits for
	latest    *proposal // the last one, which may have ended
	backlog   backlog
	restoring bool   // the machine takes over a copy
	led       uint64 // the term in which the machine leads; 0: it does not
	losses    int    // how often the machine has lost the lead
}

const (
	// transactionSize is about how many bytes a transaction has: a file of Raft's log has as many as are kept, so that
	// older ones go.
	transactionSize    = 4 << 10
	ioTimeout          = 10 * time.Second
	defaultHeartbeat   = time.Second
	defaultTrailing    = 4096
	electionHeartbeats = 3  // within which another node leads, mostly
	snapshotHeartbeats = 10 // between looks whether transactions may go
	// maxAppendEntries bounds the transactions in one message, which is in memory as a whole and must arrive within
	// ioTimeout. Most have at most 8 MiB.
	maxAppendEntries = 8
)

// Heartbeat is that of Config, or its default.
func (n *Raft) Heartbeat() time.Duration { return n.config.heartbeat() }

func (c *Config) heartbeat() time.Duration { return cmp.Or(c.Heartbeat, defaultHeartbeat) }

func (c *Config) trailing() uint64 { return cmp.Or(c.Trailing, defaultTrailing) }

// settings returns Raft's configuration of a node.
func (c *Config) settings() *raft.Config {
	s := raft.DefaultConfig()
	s.LocalID = raft.ServerID(c.Name)
	s.Logger = newLogger(c.Log)
	s.NoSnapshotRestoreOnStart = true // the machine is durable
	s.ShutdownOnRemove = false        // a node that was removed goes on serving reads
	s.NoLegacyTelemetry = true
	beat := c.heartbeat()
	s.HeartbeatTimeout, s.ElectionTimeout, s.LeaderLeaseTimeout = beat, beat, beat/2
	s.CommitTimeout = min(s.CommitTimeout, beat/10)
	s.MaxAppendEntries = maxAppendEntries
	s.TrailingLogs = c.trailing()
	s.SnapshotThreshold, s.SnapshotInterval = s.TrailingLogs/2, snapshotHeartbeats*beat // a snapshot costs nothing
	return s
}

// files opens the files of a node.
func (c *Config) files() (*raftLog, *snapshots, error) {
	dir := filepath.Join(c.Dir, "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	snapshots := newSnapshots(c)
	log, err := openLog(dir, newSegmentFiles(), int(c.trailing())*transactionSize, snapshots, newLogger(c.Log))
	if err != nil {
		return nil, nil, fmt.Errorf("open the log of the cluster in %s: %w", dir, err)
	}
	return log, snapshots, nil
}

// HasState reports whether a directory has the files of a node that has been in a cluster.
func HasState(dir string) (bool, error) {
	c := Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}
	if _, err := os.Stat(filepath.Join(dir, "log")); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	log, snaps, err := c.files()
	if err != nil {
		return false, err
	}
	has, err := raft.HasExistingState(log, log, snaps)
	return has, errors.Join(err, log.Close())
}

// Bootstrap creates the files of a node that begins a cluster, in which it is alone. The machine has the content of the
// cluster.
func Bootstrap(c Config) (err error) {
	log, snaps, err := c.files()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	_, transport := raft.NewInmemTransport(raft.ServerAddress(c.Address))
	alone := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(c.Name),
		Address: raft.ServerAddress(c.Address)}}}
	if err := raft.BootstrapCluster(c.settings(), log, log, snaps, transport, alone); err != nil {
		return fmt.Errorf("begin a cluster: %w", err)
	}
	// A log that begins after a snapshot makes nodes that join begin with a copy of the content.
	if err := raft.RecoverCluster(c.settings(), noopFSM{}, log, log, snaps, transport, alone); err != nil {
		return fmt.Errorf("begin a cluster: %w", err)
	}
	return nil
}

// Start starts a node. The caller must Close it.
func Start(c Config) (*Raft, error) {
	log, snaps, err := c.files()
	if err != nil {
		return nil, err
	}
	n := &Raft{config: c, log: log, snapshots: snaps, woken: make(chan struct{}, 1), running: make(chan struct{})}
	n.backlog.changed.L = &n.mu
	if err := snaps.restoreReceived(c.Machine); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := n.noteSnapshot(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.stopped = stop, ctx.Done()
	settings := c.settings()
	n.transport = newTransport(c.Port, settings.Logger)
	snaps.giveUp, snaps.reached = n.transport.open.reset, n.reached
	if n.raft, err = raft.NewRaft(settings, fsm{n}, log, log, snaps, n.transport); err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("start the node %s: %w", c.Name, err), n.transport.Close(), log.Close())
	}
	close(n.running)
	n.ended.Go(func() { n.watch(ctx) })
	n.ended.Go(n.applyBacklog)
	return n, nil
}

// reached reports whether the node must not go back to a copy up to an index, because it has entries after it that were
// committed or are of the present leader. Entries of an earlier leader may be replaced. Only Raft, when it receives a
// copy, may call reached.
func (n *Raft) reached(index uint64) (bool, error) {
	<-n.running
	if n.raft.AppliedIndex() > index {
		return true, nil
	}
	last, err := n.log.LastIndex()
	if err != nil || last <= index {
		return false, err
	}
	var entry raft.Log
	err = n.log.GetLog(last, &entry)
	return err == nil && entry.Term == n.raft.CurrentTerm(), err
}

// Close stops the node. The machine must still take calls until Close returns.
func (n *Raft) Close() error {
	n.stop()
	n.wakeWaiting()
	n.log.endRetries()
	if n.raft.State() == raft.Leader {
		_ = n.raft.LeadershipTransfer().Error() // best effort: the others find out by themselves that the leader is gone
	}
	ended := n.raft.Shutdown()
	n.transport.open.cut() // Raft may wait for a node that sends or receives a copy
	err := ended.Error()
	n.ended.Wait()
	return errors.Join(err, n.transport.Close(), n.log.Close())
}

// watch calls look whenever another node may lead, until ctx ends.
func (n *Raft) watch(ctx context.Context) {
	changes := make(chan raft.Observation, 1) // one that waits stands for all
	observer := raft.NewObserver(changes, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.RaftState, raft.LeaderObservation:
			return true
		}
		return false
	})
	n.raft.RegisterObserver(observer)
	defer n.raft.DeregisterObserver(observer)
	for {
		n.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-changes:
		case <-n.woken:
		}
	}
}

// look calls Lead or StopLeading of the machine, according to who leads now.
func (n *Raft) look(ctx context.Context) {
	before := n.lost()
	term := n.raft.CurrentTerm() // the lead may be lost and won again meanwhile
	if n.raft.State() != raft.Leader {
		n.setLed(0, before)
		address, _ := n.raft.LeaderWithID()
		n.config.Machine.StopLeading(string(address))
		return
	}
	if n.leadsIn(term) {
		return
	}
	if err := agreed(ctx, n.raft.Barrier(0)); err != nil {
		n.wakeLater(ctx) // Raft takes no barrier while it passes the lead on, which may fail
		return
	}
	// Raft has passed on all transactions of earlier leaders, each of which counts as a loss.
	if before = n.lost(); n.raft.CurrentTerm() != term {
		n.wake()
		return
	}
	// A node whose machine cannot apply them passes the lead on, and Machine.StopLeading must be called then.
	if !n.settleWhile(func() bool { return n.raft.State() == raft.Leader }) {
		return
	}
	if err := n.config.Machine.Lead(); err != nil {
		n.config.Log.Error("the node cannot lead the cluster", "error", err)
		n.giveUp(ctx)
		return
	}
	n.gaveUp = 0
	n.setLed(term, before)
	if n.Leading() {
		n.config.Machine.Led()
	}
}

// giveUp lets another node lead, because this one cannot, and tries again later if there is none. It passes the lead to
// each of the others in turn: Raft would pass it to the same one each time, which may not be able to lead either. Once
// all had their turn, the node waits before it passes the lead on.
func (n *Raft) giveUp(ctx context.Context) {
	others := slices.DeleteFunc(slices.Clone(n.raft.GetConfiguration().Configuration().Servers),
		func(s raft.Server) bool {
			return s.Suffrage != raft.Voter || s.ID == raft.ServerID(n.config.Name)
		})
	if len(others) == 0 {
		n.wakeLater(ctx)
		return
	}
	if n.gaveUp >= len(others) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(n.config.heartbeat()):
		}
	}
	to := others[n.gaveUp%len(others)]
	n.gaveUp++
	if err := agreed(ctx, n.raft.LeadershipTransferToServer(to.ID, to.Address)); err != nil && ctx.Err() == nil {
		n.config.Log.Warn("the lead could not be passed to another node", "to", to.ID, "error", err)
		n.wakeLater(ctx)
	}
}

// wakeLater is wake after a while, unless the node is being closed.
func (n *Raft) wakeLater(ctx context.Context) {
	if ctx.Err() == nil {
		time.AfterFunc(n.config.heartbeat(), n.wake)
	}
}

func (n *Raft) wake() {
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

// lose notes that the machine does not lead any more until Machine.Lead is called again. It must be called with n.mu
// held.
func (n *Raft) lose() {
	n.led = 0
	n.losses++
}

// lost returns how often the machine has lost the lead.
func (n *Raft) lost() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.losses
}

// setLed notes in which term the machine leads, unless it has lost the lead since before was read.
func (n *Raft) setLed(term uint64, before int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.losses == before {
		n.led = term
	}
}

// leadsIn reports whether the machine leads in a term.
func (n *Raft) leadsIn(term uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.led == term
}

// Leading reports whether the machine of this node leads.
func (n *Raft) Leading() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.led != 0 && n.Elected()
}

// Elected reports whether this node is the leader. Its machine may not lead yet.
func (n *Raft) Elected() bool { return n.raft.State() == raft.Leader }
