package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/gateway/internal/cluster/credentials"
	"lectern/gateway/internal/cluster/port"
	"lectern/gateway/internal/filesync"
	"lectern/internal/backoff"
	"lectern/media"
	"lectern/store"
)

// serveNode serves the project in dir as a node of a cluster, until ctx ends.
func serveNode(ctx context.Context, dir string, o Options) (err error) {
	o = o.logging(dir)
	m, err := newMember(dir, o)
	if err != nil {
		return err
	}
	p := newProject(dir, o)
	if origin, err := p.directory.Origin(); err != nil || origin != "" {
		return cmp.Or(err, fmt.Errorf("%s is a replica of %s: make it an origin first, by `%s`", dir, origin, p.directory.Command("promote")))
	}
	p.role, m.project = m, p
	if p.Data, err = p.lockDataDir(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(m.close(), err, p.Close()) }()
	if err := m.open(ctx); err != nil {
		return err
	}
	d, err := p.read()
	if err != nil {
		return err
	}
	if err := p.prepare(ctx, d); err != nil {
		return err
	}
	return p.serve(ctx, func() error { return m.openProject(ctx, d) })
}

// newMember returns the node of a project.
func newMember(dir string, o Options) (*member, error) {
	directory := Directory(dir, o)
	data := directory.DataPath()
	leader := ""
	m := &member{options: o.Cluster, directory: directory, own: dir, data: data, dir: filepath.Join(data, admin.ClusterName), log: o.Log, extensions: o.Extensions, version: o.Version,
		restored: make(chan struct{}, 1), opened: make(chan struct{}), serving: make(chan struct{}), converted: make(chan struct{})}
	m.leader.Store(&leader)
	m.builds.Store(&map[string]nodeState{})
	m.via = "1.1 lectern-" + rand.Text()
	m.ctx, m.end = context.WithCancel(context.Background())
	certificates := o.Cluster.Certificates
	if certificates == "" {
		certificates = m.dir
	}
	var err error
	if m.credentials, err = credentials.Load(certificates, o.Log); err != nil {
		return nil, err
	}
	if name := m.credentials.Name(); o.Cluster.Name == "" {
		o.Cluster.Name = name
	} else if name != o.Cluster.Name {
		return nil, fmt.Errorf("the certificate in %s is that of the node %s, and this node is %s; copy the files of %[3]s there", certificates, name, o.Cluster.Name)
	}
	return m, nil
}

// uploadsPath is the directory of the uploaded files of this node.
func (m *member) uploadsPath() string { return filepath.Join(m.data, admin.UploadsName) }

// open starts the node, and waits until it has a store.
func (m *member) open(ctx context.Context) error {
	path := filepath.Join(m.data, admin.StoreName)
	belongs, err := consensus.HasState(m.dir)
	if err != nil {
		return err
	}
	if m.port, err = port.Listen(port.Config{Listen: cmp.Or(m.options.Listen, m.options.Address), Advertise: m.options.Address, Credentials: m.credentials, Log: m.log}); err != nil {
		return err
	}
	m.client = &http.Client{Transport: newNodeTransport(m.port.DialHTTP)}
	m.uploads = filesync.NewNodes(filesync.NodesOptions{
		Uploads: m.uploadsPath(), Name: m.options.Name, Members: m.members, Client: m.client, Log: m.log,
		Store:   func() *store.Store { return m.project.Store() },
		Library: func() *media.Library { return m.project.generation.Load().media },
	})
	m.nodes = newNodeServer(m.nodeRoutes(), m.log)
	m.served.Go(m.serveNodes)
	if !belongs {
		if belongs, err = m.findOrBegin(ctx, path); err != nil {
			return err
		}
	}
	m.belongs.Store(belongs)
	c := m.config()
	c.Port = m.port
	node, err := consensus.Start(c)
	if err != nil {
		return err
	}
	m.node.Store(node)
	m.served.Go(func() { m.watchMembers(m.ctx) })
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if store.CheckThere(path) != nil { // nobody sends a copy to a node whose log says that it has the content
			return fmt.Errorf("%s is gone: put it back, or remove the node by `lectern cluster remove DIR %s` at another node, and let it join anew with an empty data directory", path, m.options.Name)
		}
		if err := m.waitForCopy(ctx); err != nil {
			return err
		}
	}
	m.taking.Lock()
	m.taken = true
	m.taking.Unlock()
	return m.takeStored(path)
}

// waitForCopy has a member add this node, and waits until the node has a copy of the content.
func (m *member) waitForCopy(ctx context.Context) error {
	retry := backoff.New()
	for {
		err := m.join(ctx)
		if err != nil {
			m.log.Warn("the cluster cannot be joined yet", "nodes", m.options.Join, "error", err)
			if err := retry.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		m.log.Info("the node has joined the cluster, and waits for a copy of the content")
		select {
		case <-m.restored:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// findOrBegin waits until there is a cluster that the node can join, or begins one. begun reports whether it has begun one.
func (m *member) findOrBegin(ctx context.Context, path string) (begun bool, err error) {
	retry := backoff.New()
	for told := false; ; {
		found := m.found(ctx)
		if slices.ContainsFunc(found, func(s nodeState) bool { return s.Member && slices.Contains(s.Voters, m.options.Name) }) {
			return false, m.errForgotten()
		}
		if slices.ContainsFunc(found, func(s nodeState) bool { return s.Member }) {
			if _, err := os.Stat(path); err == nil {
				return false, fmt.Errorf("%s has content of its own: a node that joins a cluster gets its content, so take another directory, or move %s away", m.own, path)
			}
			return false, nil
		}
		if m.begins(found) {
			if _, err := os.Stat(filepath.Join(m.own, "content-types")); errors.Is(err, os.ErrNotExist) {
				return false, fmt.Errorf("%s has no definitions to begin a cluster with: serve it with --join HOST:PORT of a node, if it is to join a cluster", m.own)
			}
			if m.isAwaited(ctx) {
				return false, m.errForgotten()
			}
			return true, m.begin(path)
		}
		if !told {
			told = true
			m.log.Info("the node waits for nodes to join; a cluster is begun by a node that is served without --join, or with --bootstrap-expect once so many nodes have found each other",
				"nodes", m.options.Join, "expect", m.options.Expect)
		}
		if err := retry.Wait(ctx); err != nil {
			return false, err
		}
	}
}

// errForgotten is the error of a node that has forgotten what it has agreed to. It must not vote again: others could agree to something else with it.
func (m *member) errForgotten() error {
	return fmt.Errorf("the cluster has a node %s already, and %s has nothing of it: serve the directory of that node, "+
		"or remove the node first by `lectern cluster remove DIR %[1]s` at another node", m.options.Name, m.own)
}

// awaitedHeartbeats is how many heartbeats a node waits for others before it begins a cluster. The nodes of a cluster try to reach each member within one.
const awaitedHeartbeats = 3

// isAwaited reports whether nodes of a cluster take this node for a member of it: they connect to it, although it knows of none.
func (m *member) isAwaited(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, awaitedHeartbeats*m.heartbeat())
	defer cancel()
	return m.port.AwaitRaft(ctx)
}

// begins reports whether this node begins the cluster. A node without Join does. Of nodes that wait for each other, it is the first by name of those
// that have content, or of all if none has.
func (m *member) begins(found []nodeState) bool {
	if len(m.options.Join) == 0 {
		return true
	}
	if m.options.Expect == 0 || len(found)+1 < m.options.Expect {
		return false
	}
	own := m.state()
	for _, s := range found {
		if s.Content && !own.Content || s.Content == own.Content && s.Name < own.Name {
			return false
		}
	}
	return true
}

// begin makes the content of this node that of a new cluster.
func (m *member) begin(path string) error {
	d, err := loadWithFiles(m.own, func() (*Definition, error) { return Load(m.own, m.extensions) })
	if err != nil {
		return err
	}
	if err := m.Check(d.Definition); err != nil {
		return err
	}
	st, err := m.directory.OpenStore(path, d.Definition, store.Options{})
	if err != nil {
		return err
	}
	err = putNotes(m.ctx, st, definitionNotes(d.files))
	if err == nil {
		err = m.dropForeignSecret(st)
	}
	if err == nil {
		err = filesync.ListAll(m.ctx, st, m.uploadsPath())
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	if err := store.ResetAppliedIndex(path); err != nil {
		return err
	}
	m.log.Info("this node begins the cluster", "node", m.options.Name)
	return consensus.Bootstrap(m.config())
}

// dropForeignSecret removes the secret of JWTs of another cluster from content that begins a new one, if this node cannot open it: the content is that of a
// backup, and was sealed with another cluster.key.
func (m *member) dropForeignSecret(st *store.Store) error {
	var sealed []byte
	if err := readNote(st, secretNote, &sealed); err != nil || sealed == nil {
		return err
	}
	if _, _, err := m.credentials.Open(secretNote, sealed); err == nil {
		return nil
	}
	m.log.Warn("the content has the secret of JWTs of another cluster, sealed with a key that is not in cluster.key: users have to log in again, unless the configuration names the secret")
	return st.Write(m.ctx, func(tx *store.Tx) error { return tx.DeleteNote(secretNote) })
}

// config returns what the node is made of, but for its port.
func (m *member) config() consensus.Config {
	o := m.options
	return consensus.Config{Name: o.Name, Address: o.Address, Dir: m.dir, Machine: m, Log: m.log, Heartbeat: o.Heartbeat, Trailing: o.Trailing}
}

// Check implements role.
func (*member) Check(d *config.Definition) error {
	if d.Settings.Server.Log.Keep == 0 {
		return errors.New("the nodes of a cluster agree to entries of the log of changes: remove log.keep: 0 from config/server.yaml")
	}
	return nil
}

// openProject opens the project. If its content was half converted to other definitions when the node ended, openProject waits until the node has
// got the rest, or a copy in its place.
func (m *member) openProject(ctx context.Context, d *Definition) error {
	p := m.project
	st, err := p.openStore(d.Definition)
	if err != nil {
		return err
	}
	if st.Model() != d.Model {
		m.halfConverted.Store(st)
		p.unready.Store(&converting)
		m.log.Warn("this node answers requests 503 until the leader has converted the content: the node was stopped meanwhile, or is of a newer version than the leader")
		close(m.opened)
		select {
		case <-m.converted:
		case <-ctx.Done():
			return ctx.Err()
		}
	} else {
		p.generation.Load().store = st
		close(m.opened)
	}
	g := p.generation.Load()
	g.useHooks()
	return g.open()
}

// Start implements role: the node takes part in the cluster from now on, until close is called.
func (m *member) Start(context.Context, *sync.WaitGroup) {
	m.advance()
	close(m.serving)
	m.served.Go(func() { m.uploads.Run(m.ctx) })
	m.served.Go(func() { m.uploads.Scrub(m.ctx) })
	m.served.Go(func() { m.watchAge(m.ctx) })
}

// close ends the node, after the requests of other nodes that are under way. The store must still be open.
func (m *member) close() (err error) {
	m.closed.Do(func() {
		if m.nodes != nil {
			m.endNodes()
		}
		m.end()
		if node := m.node.Load(); node != nil {
			err = node.Close()
		}
		if m.port != nil {
			err = errors.Join(err, m.port.Close())
		}
		m.served.Wait()
		m.parts.Wait()
		if st := m.halfConverted.Swap(nil); st != nil {
			err = errors.Join(err, st.Close())
		}
	})
	return err
}

// A nodeState is what a node tells the others of itself.
type nodeState struct {
	Name    string `json:"name"`
	Process string `json:"process"` // tells this process from others that run as the same node
	Member  bool   `json:"member"`  // of a cluster
	Content bool   `json:"content"` // it has a store
	Leader  string `json:"leader"`  // address; "" if unknown
	// SendsTo are the addresses of nodes to which the node has sent writes that are not answered. A node that is neither here nor the Leader gets no more writes.
	SendsTo []string `json:"sendsTo"`
	// Voters are the names of the nodes of the cluster with a vote, as far as the node knows.
	Voters []string `json:"voters"`
	// Revision is that of the content; 0 until the store is open.
	Revision uint64 `json:"revision"`
	build
}

func (m *member) state() nodeState {
	_, err := os.Stat(filepath.Join(m.data, admin.StoreName))
	s := nodeState{Name: m.options.Name, Process: m.via, Member: m.belongs.Load(), Content: err == nil, Leader: *m.leader.Load(), build: m.build()}
	s.SendsTo = m.sends.addresses() // after Leader was read
	if node := m.node.Load(); node != nil {
		if list, err := node.Peers(); err == nil {
			for _, n := range list {
				if n.Voter {
					s.Voters = append(s.Voters, n.Name)
				}
			}
		}
	}
	select {
	case <-m.opened:
		s.Revision = m.store().Revision()
	default:
	}
	return s
}

// found returns the states of the nodes of Join that answer.
func (m *member) found(ctx context.Context) (list []nodeState) {
	for _, address := range m.options.Join {
		if address == m.options.Address {
			continue
		}
		var s nodeState
		if err := m.ask(ctx, address, statePath, nil, &s); err != nil {
			m.log.Debug("a node does not answer", "address", address, "error", err)
			continue
		}
		list = append(list, s)
	}
	return list
}

// join has the leader add this node.
func (m *member) join(ctx context.Context) error {
	err := errors.New("no node of the cluster was found")
	for _, s := range m.found(ctx) {
		if s.Leader == "" {
			continue
		}
		if err = m.ask(ctx, s.Leader, addPath, newNode{m.options.Name, m.options.Address, !m.options.NoVote, m.build()}, nil); err == nil {
			return nil
		}
	}
	return err
}

// askTimeout bounds how long another node may take for an answer.
const askTimeout = 10 * time.Second

// ask sends a request to another node, with a body of JSON if there is one, and reads the answer.
func (m *member) ask(ctx context.Context, address, path string, body, answer any) error {
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
	got, err := m.client.Do(r)
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
