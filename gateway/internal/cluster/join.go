package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/gateway/internal/cluster/port"
	"lectern/gateway/internal/filesync"
	"lectern/internal/backoff"
	"lectern/store"
)

// uploadsPath is the directory of the uploaded files of this node.
func (n *Node) uploadsPath() string { return filepath.Join(n.options.Data, admin.UploadsName) }

// Join starts the node, and waits until it is in a cluster and has a store. The project must not be read before.
func (n *Node) Join(ctx context.Context) error {
	path := filepath.Join(n.options.Data, admin.StoreName)
	belongs, err := consensus.HasState(n.dir)
	if err != nil {
		return err
	}
	if n.port, err = port.Listen(port.Config{Listen: cmp.Or(n.options.Listen, n.options.Address),
		Advertise: n.options.Address, Credentials: n.credentials, Log: n.log}); err != nil {
		return err
	}
	n.client = &http.Client{Transport: newTransport(n.port.DialHTTP)}
	n.uploads = filesync.NewNodeFiles(filesync.NodeFilesOptions{
		Uploads: n.uploadsPath(), Name: n.options.Name, Peers: n.peers, Client: n.client, Log: n.log,
		Store: n.project.Store, Library: n.project.Library,
	})
	n.http = newNodeServer(n.nodeRoutes(), n.log)
	n.served.Go(n.serveNodes)
	if !belongs {
		if belongs, err = n.findOrBegin(ctx, path); err != nil {
			return err
		}
	}
	n.belongs.Store(belongs)
	c := n.config()
	c.Port = n.port
	raft, err := consensus.Start(c)
	if err != nil {
		return err
	}
	n.raft.Store(raft)
	n.served.Go(func() { n.watchPeers(n.ctx) })
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if store.CheckThere(path) != nil { // nobody sends a copy to a node whose log says that it has the content
			return fmt.Errorf("%s is gone: put it back, or remove the node by `lectern cluster remove DIR %s` at "+
				"another node, and let it join anew with an empty data directory", path, n.options.Name)
		}
		if err := n.waitForCopy(ctx); err != nil {
			return err
		}
	}
	n.taking.Lock()
	n.taken = true
	n.taking.Unlock()
	return n.takeStored(path)
}

// waitForCopy has another node add this one, and waits until the node has a copy of the content.
func (n *Node) waitForCopy(ctx context.Context) error {
	retry := backoff.New()
	for {
		err := n.join(ctx)
		if err != nil {
			n.log.Warn("the cluster cannot be joined yet", "nodes", n.options.Join, "error", err)
			if err := retry.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		n.log.Info("the node has joined the cluster, and waits for a copy of the content")
		select {
		case <-n.restored:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// findOrBegin waits until there is a cluster that the node can join, or begins one. begun reports whether it has begun
// one.
func (n *Node) findOrBegin(ctx context.Context, path string) (begun bool, err error) {
	retry := backoff.New()
	for logged := false; ; {
		found := n.found(ctx)
		if slices.ContainsFunc(found, func(s nodeState) bool {
			return s.Belongs &&
				slices.Contains(s.Voters, n.options.Name)
		}) {
			return false, n.errForgotten()
		}
		if slices.ContainsFunc(found, func(s nodeState) bool { return s.Belongs }) {
			if _, err := os.Stat(path); err == nil {
				return false, fmt.Errorf("%s has content of its own: a node that joins a cluster gets its content, "+
					"so take another directory, or move %s away", n.options.Dir, path)
			}
			return false, nil
		}
		if n.begins(found) {
			if _, err := os.Stat(filepath.Join(n.options.Dir, "content-types")); errors.Is(err, os.ErrNotExist) {
				return false, fmt.Errorf("%s has no definitions to begin a cluster with: serve it with --join "+
					"HOST:PORT of a node, if it is to join a cluster", n.options.Dir)
			}
			if n.isAwaited(ctx) {
				return false, n.errForgotten()
			}
			return true, n.begin(path)
		}
		if !logged {
			logged = true
			n.log.Info("the node waits for nodes to join; a cluster is begun by a node that is served without "+
				"--join, or with --bootstrap-expect once so many nodes have found each other",
				"nodes", n.options.Join, "expect", n.options.Expect)
		}
		if err := retry.Wait(ctx); err != nil {
			return false, err
		}
	}
}

// errForgotten is the error of a node that has forgotten what it has agreed to. It must not vote again: others could
// agree to something else with it.
func (n *Node) errForgotten() error {
	return fmt.Errorf("the cluster has a node %s already, and %s has nothing of it: serve the directory of that node, "+
		"or remove the node first by `lectern cluster remove DIR %[1]s` at another node", n.options.Name, n.options.Dir)
}

// awaitedHeartbeats is how many heartbeats a node waits for others before it begins a cluster. The nodes of a cluster
// try to reach each other within one.
const awaitedHeartbeats = 3

// isAwaited reports whether nodes of a cluster take this node for one of them: they connect to it, although it knows of
// none.
func (n *Node) isAwaited(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, awaitedHeartbeats*n.heartbeat())
	defer cancel()
	return n.port.AwaitRaft(ctx)
}

// begins reports whether this node begins the cluster. A node without Join does. Of nodes that wait for each other, it
// is the first by name of those that have content, or of all if none has.
func (n *Node) begins(found []nodeState) bool {
	if len(n.options.Join) == 0 {
		return true
	}
	if n.options.Expect == 0 || len(found)+1 < n.options.Expect {
		return false
	}
	own := n.state()
	for _, s := range found {
		if s.Content && !own.Content || s.Content == own.Content && s.Name < own.Name {
			return false
		}
	}
	return true
}

// begin makes the content of this node that of a new cluster.
func (n *Node) begin(path string) error {
	d, err := n.project.Load(n.options.Dir)
	if err != nil {
		return err
	}
	st, err := n.project.OpenAlone(path, d.Config())
	if err != nil {
		return err
	}
	err = putNotes(n.ctx, st, definitionNotes(d.Files()))
	if err == nil {
		err = n.dropForeignSecret(st)
	}
	if err == nil {
		err = filesync.ListAll(n.ctx, st, n.uploadsPath())
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	if err := store.ResetAppliedIndex(path); err != nil {
		return err
	}
	n.log.Info("this node begins the cluster", "node", n.options.Name)
	return consensus.Bootstrap(n.config())
}

// dropForeignSecret removes the secret of JWTs of another cluster from content that begins a new one, if this node
// cannot open it: the content is that of a backup, and was sealed with another cluster.key.
func (n *Node) dropForeignSecret(st *store.Store) error {
	var sealed []byte
	if err := readNote(st, secretNote, &sealed); err != nil || sealed == nil {
		return err
	}
	if _, _, err := n.credentials.Open(secretNote, sealed); err == nil {
		return nil
	}
	n.log.Warn("the content has the secret of JWTs of another cluster, sealed with a key that is not in " +
		"cluster.key: users have to log in again, unless the configuration names the secret")
	return st.Write(n.ctx, func(tx *store.Tx) error { return tx.DeleteNote(secretNote) })
}

// config returns what the node is made of, but for its port.
func (n *Node) config() consensus.Config {
	o := n.options
	return consensus.Config{Name: o.Name, Address: o.Address, Dir: n.dir, Machine: n, Log: n.log,
		Heartbeat: o.Heartbeat, Trailing: o.Trailing}
}

// Close ends the node, after the requests of other nodes that are under way. The store must still be open.
func (n *Node) Close() (err error) {
	n.closed.Do(func() {
		if n.http != nil {
			n.endNodes()
		}
		n.end()
		if raft := n.raft.Load(); raft != nil {
			err = raft.Close()
		}
		if n.port != nil {
			err = errors.Join(err, n.port.Close())
		}
		n.served.Wait()
		n.parts.Wait()
		if st := n.halfConverted.Swap(nil); st != nil {
			err = errors.Join(err, st.Close())
		}
	})
	return err
}

// A nodeState is what a node answers when another one asks for its state.
type nodeState struct {
	Name    string `json:"name"`
	Process string `json:"process"` // the same only for requests to one process: two may run as the same node
	Belongs bool   `json:"belongs"` // to a cluster
	Content bool   `json:"content"` // it has a store
	Leader  string `json:"leader"`  // address; "" if unknown
	// SendsTo are the addresses of nodes to which the node has sent writes that are not answered. A node that is
	// neither here nor the Leader gets no more writes.
	SendsTo []string `json:"sendsTo"`
	// Voters are the names of the nodes of the cluster with a vote, as far as the node knows.
	Voters []string `json:"voters"`
	// Revision is that of the content; 0 until the store is open.
	Revision uint64 `json:"revision"`
	build
}

func (n *Node) state() nodeState {
	_, err := os.Stat(filepath.Join(n.options.Data, admin.StoreName))
	s := nodeState{Name: n.options.Name, Process: n.via, Belongs: n.belongs.Load(), Content: err == nil,
		Leader: *n.leader.Load(), build: n.build()}
	s.SendsTo = n.sends.addresses() // after Leader was read
	if raft := n.raft.Load(); raft != nil {
		if list, err := raft.Peers(); err == nil {
			for _, p := range list {
				if p.Voter {
					s.Voters = append(s.Voters, p.Name)
				}
			}
		}
	}
	select {
	case <-n.opened:
		s.Revision = n.store().Revision()
	default:
	}
	return s
}

// found returns the states of the nodes of Join that answer.
func (n *Node) found(ctx context.Context) (list []nodeState) {
	for _, address := range n.options.Join {
		if address == n.options.Address {
			continue
		}
		var s nodeState
		if err := n.ask(ctx, address, statePath, nil, &s); err != nil {
			n.log.Debug("a node does not answer", "address", address, "error", err)
			continue
		}
		list = append(list, s)
	}
	return list
}

// join has the leader add this node.
func (n *Node) join(ctx context.Context) error {
	err := errors.New("no node of the cluster was found")
	for _, s := range n.found(ctx) {
		if s.Leader == "" {
			continue
		}
		if err = n.ask(ctx, s.Leader, addPath, newNode{n.options.Name, n.options.Address, !n.options.NoVote, n.build()},
			nil); err == nil {
			return nil
		}
	}
	return err
}

// askTimeout bounds how long another node may take for an answer.
const askTimeout = 10 * time.Second

// ask sends a request to another node, with a body of JSON if there is one, and reads the answer.
func (n *Node) ask(ctx context.Context, address, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	got, err := n.client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	text, err = io.ReadAll(io.LimitReader(got.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case got.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers: %s", address, bytes.TrimSpace(text))
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}
