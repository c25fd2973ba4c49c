package cluster_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"lectern/gateway/internal/cluster"
	"lectern/internal/servertest"
	"lectern/store"
)

const (
	heartbeat = 100 * time.Millisecond
	patience  = 20 * time.Second // a test that has to wait longer fails
)

// A list is a Machine that is a list of texts in a file.
type list struct {
	mu      sync.Mutex
	path    string
	state   listState
	leads   bool
	led     int                                  // how often Lead succeeded
	broken  bool                                 // Apply fails
	gate    chan struct{}                        // Apply gives and takes a value, unless it is nil
	leading chan struct{}                        // Lead gives and takes a value, and fails, unless it is nil
	follows chan struct{}                        // Follow waits until it is closed, unless it is nil
	copied  func(text []byte) (int64, io.Reader) // what Copy returns of the state, unless it is nil

	applied chan struct{} // gets a value after Apply, Restore, Lead and Follow, if there is room
}

type listState struct {
	Index uint64
	Texts []string
	Moved int // how often the state was restored from another
}

func openList(t *testing.T, path string) *list {
	t.Helper()
	l := &list{path: path, applied: make(chan struct{}, 1)}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &l.state)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// changed tells those who wait, and must be called with l.mu held.
func (l *list) changed() {
	select {
	case l.applied <- struct{}{}:
	default:
	}
}

func (l *list) save() error {
	text, err := json.Marshal(l.state)
	if err != nil {
		return err
	}
	return os.WriteFile(l.path, text, 0o600)
}

func (l *list) setBroken(broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = broken
}

func (l *list) Apply(all []store.Transaction) error {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate != nil {
		gate <- struct{}{}
		<-gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	if l.broken {
		return errors.New("the disk is full")
	}
	l.leads = false
	for _, tx := range all {
		if tx.Index > l.state.Index {
			l.state.Index, l.state.Texts = tx.Index, append(l.state.Texts, string(tx.Data))
		}
	}
	return l.save()
}

func (l *list) Copy() (int64, io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := json.Marshal(l.state)
	if l.copied != nil {
		size, from := l.copied(text)
		return size, io.NopCloser(from), err
	}
	return int64(len(text)), io.NopCloser(bytes.NewReader(text)), err
}

func (l *list) Restore(from io.Reader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	moved := l.state.Moved + 1
	if err := json.Unmarshal(text, &l.state); err != nil {
		return err
	}
	l.state.Moved = moved
	return l.save()
}

func (l *list) Lead() error {
	if l.leading != nil {
		l.leading <- struct{}{}
		<-l.leading
		return errors.New("the disk is full")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	l.leads = true
	l.led++
	return nil
}

func (l *list) Led() {}

func (l *list) Follow(string) {
	if l.follows != nil {
		<-l.follows
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	l.leads = false
}

// wait waits until is holds for the list.
func (l *list) wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		l.mu.Lock()
		done := is()
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-l.applied:
		case <-time.After(heartbeat): // Node.Leading changes after Lead
		case <-late:
			t.Fatalf("%s: not after %s: %+v", what, patience, l.state)
		}
	}
}

// A plainPort is a cluster.Port without TLS.
type plainPort struct{ net.Listener }

func (p plainPort) Raft() net.Listener { return p.Listener }

func (p plainPort) DialRaft(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}

// A testNode is a node with its machine.
type testNode struct {
	*cluster.Node
	*list
	t                  *testing.T
	name               string
	dir                string
	address            string                          // "" before the first start
	leading, follows   chan struct{}                   // of the list
	port               func(net.Listener) cluster.Port // nil: a plainPort
	heartbeat, silence time.Duration                   // see cluster.Config; no heartbeat: the usual one
	log                io.Writer                       // nil: nothing is logged
}

func (n *testNode) config() cluster.Config {
	log := slog.New(slog.NewTextHandler(cmp.Or(n.log, io.Discard), &slog.HandlerOptions{Level: slog.LevelDebug}))
	return cluster.Config{Name: n.name, Address: n.address, Dir: n.dir, Machine: n.list, Log: log, Heartbeat: cmp.Or(n.heartbeat, heartbeat), Silence: n.silence}
}

// start starts the node at the address that it had before, if any.
func (n *testNode) start() {
	n.t.Helper()
	first := n.address == ""
	if first {
		n.address = servertest.FreeAddress(n.t)
	}
	ln, err := net.Listen("tcp", n.address)
	if err != nil {
		n.t.Fatal(err)
	}
	n.list = openList(n.t, filepath.Join(n.dir, "list.json"))
	n.list.leading, n.list.follows = n.leading, n.follows
	if first && n.name == "n1" {
		if err := cluster.Bootstrap(n.config()); err != nil {
			n.t.Fatal(err)
		}
	}
	c := n.config()
	c.Port = plainPort{ln}
	if n.port != nil {
		c.Port = n.port(ln)
	}
	if n.Node, err = cluster.Start(c); err != nil {
		n.t.Fatal(err)
	}
}

func (n *testNode) stop() {
	n.t.Helper()
	if err := n.Close(); err != nil {
		n.t.Error(err)
	}
	n.Node = nil
}

// propose has the machine propose and commit a transaction, as a store does.
func (n *testNode) propose(text string) error {
	agreed, err := n.Propose([]byte(text))
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.state.Index, n.state.Texts = agreed.Index, append(n.state.Texts, text)
	err = n.save()
	n.mu.Unlock()
	agreed.Committed(err)
	return err
}

// newNodes starts a cluster. The first node begins it, and adds the others.
func newNodes(t *testing.T, count int) []*testNode {
	t.Helper()
	var nodes []*testNode
	for i := range count {
		n := &testNode{t: t, name: fmt.Sprintf("n%d", i+1), dir: t.TempDir()}
		n.start()
		t.Cleanup(func() {
			if n.Node != nil {
				n.stop()
			}
		})
		if i > 0 {
			somehow(t, nodes, func(leader *testNode) error { return leader.Add(t.Context(), n.name, n.address, true) })
			n.wait(t, "the first copy", func() bool { return n.state.Moved > 0 })
		} else {
			n.wait(t, "the first leader", n.Leading)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// leaderOf waits until one of the nodes that run leads, and returns it.
func leaderOf(t *testing.T, nodes []*testNode) (leader *testNode) {
	t.Helper()
	nodes[slices.IndexFunc(nodes, func(n *testNode) bool { return n.Node != nil })].wait(t, "a leader", func() bool {
		i := slices.IndexFunc(nodes, func(n *testNode) bool { return n.Node != nil && n.Leading() })
		if i >= 0 {
			leader = nodes[i]
		}
		return i >= 0
	})
	return leader
}

// somehow has the leader do something until that succeeds: the lead may pass on meanwhile.
func somehow(t *testing.T, nodes []*testNode, do func(leader *testNode) error) {
	t.Helper()
	for late := time.Now().Add(patience); ; {
		err := do(leaderOf(t, nodes))
		if err == nil {
			return
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
}

// proposeSomehow proposes texts, each once, until the nodes agree to one, which it returns.
func proposeSomehow(t *testing.T, nodes []*testNode) (text string) {
	t.Helper()
	somehow(t, nodes, func(leader *testNode) error {
		text = rand.Text()
		err := leader.propose(text)
		if err != nil && !errors.Is(err, store.ErrNotLeader) && !errors.Is(err, store.ErrOutcome) {
			t.Fatal(err)
		}
		return err
	})
	return text
}

// textsUpTo waits until all nodes have a text, and returns the texts up to it, which must be the same ones at all nodes.
func textsUpTo(t *testing.T, nodes []*testNode, last string) (all []string) {
	t.Helper()
	for _, n := range nodes {
		n.wait(t, last+" at "+n.name, func() bool { return slices.Contains(n.state.Texts, last) })
		texts := n.texts()
		texts = texts[:slices.Index(texts, last)+1]
		if all == nil {
			all = texts
		}
		if !slices.Equal(texts, all) {
			t.Errorf("%s has %q, another node %q", n.name, texts, all)
		}
	}
	return all
}

func has(n *testNode, texts ...string) func() bool {
	return func() bool { return slices.Equal(n.state.Texts, texts) }
}

// TestNodes has three nodes agree, and go on without the leader, which then comes back.
func TestNodes(t *testing.T) {
	nodes := newNodes(t, 3)
	a := proposeSomehow(t, nodes)
	textsUpTo(t, nodes, a)
	first := checkOneLeads(t, nodes)
	first.stop()
	c := proposeSomehow(t, nodes)
	first.start()
	texts := slices.DeleteFunc(textsUpTo(t, nodes, c), func(text string) bool { return text != a && text != c }) // what nobody knew the outcome of
	if !slices.Equal(texts, []string{a, c}) {
		t.Errorf("of %q and %q, the nodes have %q", a, c, texts)
	}
	for _, n := range nodes {
		n.wait(t, n.name+" knows three members, and which of them leads", func() bool {
			members, err := n.Members()
			return err == nil && len(members) == 3 && slices.ContainsFunc(members, func(m cluster.Member) bool {
				return m.Leader && slices.ContainsFunc(nodes, func(n *testNode) bool { return n.name == m.Name && n.Leading() })
			})
		})
	}
}

// checkOneLeads checks that the leader says that it leads, and that the other nodes neither say that nor propose anything. It returns the leader.
func checkOneLeads(t *testing.T, nodes []*testNode) (leader *testNode) {
	t.Helper()
	var problems []string
	somehow(t, nodes, func(of *testNode) error {
		leader, problems = of, nil
		before := terms(nodes)
		if err := leader.Verify(t.Context()); err != nil {
			return err
		}
		for _, n := range nodes {
			if n == leader {
				continue
			}
			if err := n.propose("b"); !errors.Is(err, store.ErrNotLeader) {
				problems = append(problems, fmt.Sprintf("%s proposes, but does not lead: %v", n.name, err))
			}
			if err := n.Verify(t.Context()); !errors.Is(err, store.ErrNotLeader) {
				problems = append(problems, fmt.Sprintf("%s leads, it says: %v", n.name, err))
			}
		}
		if after := terms(nodes); len(before) > 1 || !slices.Equal(before, after) {
			return fmt.Errorf("another node may have become the leader meanwhile: terms %v and %v", before, after)
		}
		return nil
	})
	for _, p := range problems {
		t.Error(p)
	}
	return leader
}

// terms returns the terms in which the nodes are. If there is one only, a node that leads in it is the only leader.
func terms(nodes []*testNode) (list []uint64) {
	for _, n := range nodes {
		list = append(list, n.Figures().Term)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestNoMajority stops all nodes but the leader, which then neither agrees to anything nor says that it leads.
func TestNoMajority(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	for _, n := range nodes {
		if n != leader {
			n.stop()
		}
	}
	if err := leader.Verify(context.Background()); err == nil { // although the node has not noticed yet
		t.Error("a node that has just lost its majority leads, it says")
	}
	if err := leader.propose("lost"); !errors.Is(err, store.ErrOutcome) && !errors.Is(err, store.ErrNotLeader) {
		t.Fatalf("proposed alone: %v", err)
	}
	if err := leader.Verify(context.Background()); err == nil {
		t.Error("a node without a majority leads, it says")
	}
	if len(leader.state.Texts) > 0 {
		t.Errorf("a node without a majority has committed %q", leader.state.Texts)
	}
	for _, n := range nodes {
		if n != leader {
			n.start()
		}
	}
	textsUpTo(t, nodes, proposeSomehow(t, nodes)) // what nobody knew the outcome of was agreed to, or was not, at all nodes alike
}

// TestSlowCommit has a leader whose machine takes long to commit, so that the others have the transaction first. The leader must not say meanwhile
// that it has everything: a read that asks it could show less than an earlier one at another node.
func TestSlowCommit(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	if err := leader.propose("a"); err != nil {
		t.Fatal(err)
	}
	for i, committed := range []error{nil, errors.New("the disk is full")} {
		text := fmt.Sprint("slow ", i)
		agreed, err := leader.Propose([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if n != leader {
				n.wait(t, text+" at "+n.name, func() bool { return slices.Contains(n.state.Texts, text) })
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), heartbeat)
		if err := leader.Verify(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: before the commit: %v", text, err)
		}
		cancel()
		if committed == nil {
			leader.mu.Lock()
			leader.state.Index, leader.state.Texts = agreed.Index, append(leader.state.Texts, text)
			leader.mu.Unlock()
		}
		agreed.Committed(committed)
		err = leader.Verify(t.Context())
		if err != nil && committed == nil {
			t.Errorf("%s: after the commit: %v", text, err)
		}
		leader.mu.Lock()
		if err == nil && !slices.Contains(leader.state.Texts, text) {
			t.Errorf("%s: the leader says that it has everything, and does not have it", text)
		}
		leader.mu.Unlock()
	}
}

// TestFailedTransfer transfers the leadership to a node that is down, and proposes texts until one is refused. The machine of the leader must then be told
// again to lead, since the refused proposal may have been a part of a conversion.
func TestFailedTransfer(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	down := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	down.stop()
	for refused := false; !refused; { // the transfer may fail before anything is proposed
		leader = leaderOf(t, nodes)
		led := leader.timesLed()
		transferred := make(chan struct{})
		go func() {
			defer close(transferred)
			_ = leader.Transfer(t.Context(), down.name) // fails
		}()
		refused = refuses(t, leader, transferred)
		<-transferred
		if refused {
			leader.wait(t, "Lead", func() bool { return leader.list.led > led || !leader.list.leads })
		}
	}
	proposeSomehow(t, nodes)
}

// refuses proposes texts until one is refused, and reports whether that was so before ended was closed.
func refuses(t *testing.T, leader *testNode, ended <-chan struct{}) bool {
	t.Helper()
	for {
		err := leader.propose("text")
		if errors.Is(err, store.ErrNotLeader) {
			return true
		}
		if err != nil && !errors.Is(err, store.ErrOutcome) {
			t.Fatal(err)
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
}

func (l *list) timesLed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.led
}

// TestApplied has a follower whose machine fails for a while. Transactions that wait for the machine must not count as applied. Entries of Raft's own,
// such as the one that begins a term, are not for the machine, and must not count as missing.
func TestApplied(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	follower := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	hasAll := func() bool {
		f := follower.Figures()
		return f.Applied == f.Committed && f.Committed == leader.Figures().Committed
	}
	follower.wait(t, "all of the beginning", hasAll)
	before := follower.Figures().Applied
	follower.setBroken(true)
	for i := range 3 {
		if err := leader.propose(fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
	}
	follower.wait(t, "what was agreed to", func() bool { return follower.Figures().Committed == leader.Figures().Committed })
	if f := follower.Figures(); f.Applied != before || f.Committed < before+3 {
		t.Errorf("a machine has nothing after %d: %+v", before, f)
	}
	follower.setBroken(false)
	follower.wait(t, "the rest", hasAll)
	follower.stop()
	follower.start()
	follower.wait(t, "all after a start", hasAll)
}

// TestCloseUnableToLead closes a node whose machine is about to say that it cannot lead. Raft may forget what it is asked for when it is shut down, and
// nobody must wait for that.
func TestCloseUnableToLead(t *testing.T) {
	n := newNodes(t, 1)[0]
	for range 10 {
		n.stop()
		n.leading = make(chan struct{})
		n.start()
		<-n.leading
		closed := make(chan error, 1)
		go func() { closed <- n.Close() }()
		for end := time.Now().Add(patience); ; {
			c, err := net.Dial("tcp", n.address)
			if err != nil {
				break // Raft is shut down
			}
			c.Close()
			if time.Now().After(end) {
				t.Fatal("Raft is not shut down")
			}
		}
		n.leading <- struct{}{}
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			n.Node = nil
			t.Fatal("the node is never closed")
		}
		n.leading = nil
		n.start()
	}
}

// TestProposeWhileApplied has a leader propose while its machine applies a transaction that it could not commit before. The proposal must be refused at
// once: Raft would hand it to the machine after that transaction, and the machine may wait for the goroutine that proposes.
func TestProposeWhileApplied(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	gate := make(chan struct{})
	leader.mu.Lock()
	leader.gate = gate
	leader.mu.Unlock()
	agreed, err := leader.Propose([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	agreed.Committed(errors.New("the disk is full"))
	<-gate
	leader.mu.Lock()
	leader.gate = nil
	leader.mu.Unlock()
	refused := make(chan error, 1)
	go func() {
		_, err := leader.Propose([]byte("b"))
		refused <- err
	}()
	select {
	case err := <-refused:
		if !errors.Is(err, store.ErrNotLeader) {
			t.Errorf("proposed: %v", err)
		}
	case <-time.After(patience):
		t.Error("the proposal waits for the machine, and the machine may wait for the proposal")
	}
	gate <- struct{}{}
	last := proposeSomehow(t, nodes)
	for _, n := range nodes {
		n.wait(t, last+" at "+n.name, func() bool { return slices.Contains(n.state.Texts, last) && n.state.Texts[0] == "a" })
	}
}

// TestCommitFails has a leader whose machine cannot commit what the nodes have agreed to. It applies the transaction once it can.
func TestCommitFails(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	leader.setBroken(true)
	agreed, err := leader.Propose([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	agreed.Committed(errors.New("the disk is full"))
	for _, n := range nodes {
		if n != leader {
			n.wait(t, "a at "+n.name, has(n, "a"))
		}
	}
	leader.setBroken(false)
	leader.wait(t, "a at the former leader", func() bool { return len(leader.state.Texts) > 0 })
	last := proposeSomehow(t, nodes)
	for _, n := range nodes {
		n.wait(t, last+" at "+n.name, func() bool { return slices.Contains(n.state.Texts, last) && n.state.Texts[0] == "a" })
	}
}

// TestReceivedCopy ends a node after it has received a copy of the machine, and before the machine has taken it over.
func TestReceivedCopy(t *testing.T) {
	dir := t.TempDir()
	l := openList(t, filepath.Join(dir, "list.json"))
	files := map[string]string{
		"snapshot.json":     `{"Version":1,"ID":"2-7","Index":7,"Term":2,"Received":true,"Configuration":{"Servers":[{"ID":"n2","Address":"127.0.0.1:1"}]},"ConfigurationIndex":1}`,
		"snapshot.received": `{"Index":7,"Texts":["x"]}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n, err := cluster.Start(cluster.Config{Name: "n2", Address: ln.Addr().String(), Dir: dir, Port: plainPort{ln}, Machine: l, Log: slog.New(slog.DiscardHandler), Heartbeat: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(l.state.Texts, []string{"x"}) {
		t.Errorf("the machine has %q", l.state.Texts)
	}
	if _, err := os.Stat(filepath.Join(dir, "snapshot.received")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
