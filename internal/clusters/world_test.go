//go:build linux

package clusters

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/internal/servertest"
	"lectern/store"
)

// A world is a cluster whose nodes are processes, and the network between them.
type world struct {
	*testing.T
	rnd     *rand.Rand // of the goroutine of the test
	nodes   []*node
	network network
	key     string        // of a full-access token
	made    chan struct{} // is closed when each node has a process

	deployed atomic.Int64 // how often definitions were deployed, or may have been
}

// A node is a process.
type node struct {
	*servertest.Process
	place
	name   string
	dir    string
	base   string // URL of its API
	paused bool
	full   bool      // its disk
	slow   *exec.Cmd // has its disk slow; nil if it is not
}

var projectFiles = map[string]string{
	"content-types/register.yaml": "kind: collectionType\ninfo: {singularName: register, pluralName: registers, displayName: Register}\nattributes:\n  value: {type: string}\n",
	"content-types/entry.yaml":    "kind: collectionType\ninfo: {singularName: entry, pluralName: entries, displayName: Entry}\nattributes:\n  title: {type: string, unique: true}\n",
	"content-types/claim.yaml": "kind: collectionType\ninfo: {singularName: claim, pluralName: claims, displayName: Claim}\n" +
		"attributes:\n  name: {type: string, unique: true}\n  owner: {type: string}\n",
}

// newWorld starts a cluster, and waits until all of its nodes answer.
func newWorld(t *testing.T, n int, heartbeat time.Duration, rnd *rand.Rand) *world {
	w := &world{T: t, rnd: rnd, made: make(chan struct{})}
	if *routed {
		w.network = newNamespaces(t, n)
	} else {
		w.network = newProxies(w, n)
	}
	certificates := filepath.Join(t.TempDir(), "certificates")
	var named []config.ClusterNode
	for i := range n {
		at := w.network.place(i)
		named = append(named, config.ClusterNode{Name: fmt.Sprintf("n%d", i+1), Address: at.address})
		w.nodes = append(w.nodes, &node{name: named[i].Name, dir: t.TempDir(), place: at, base: "http://" + at.api})
		w.mountDisk(w.nodes[i])
		w.writeProject(w.nodes[i].dir)
	}
	_, err := gateway.InitCluster(certificates, named)
	w.must(err)
	w.createToken()
	for i, node := range w.nodes {
		o := nodeOptions{node.dir, node.api, steppedClock(node.clock()), gateway.Cluster{
			Name: node.name, Address: node.address, Listen: node.listen,
			Certificates: filepath.Join(certificates, node.name), Heartbeat: heartbeat, Trailing: *trailing,
		}}
		if i > 0 {
			o.Cluster.Join = []string{w.nodes[0].address}
		}
		text, err := json.Marshal(o)
		w.must(err)
		node.Process = servertest.NewProcess(t, nodeEnv+"="+string(text), node.dir)
		node.Namespace = node.namespace
	}
	close(w.made)
	for _, node := range w.nodes {
		node.Start()
	}
	for _, node := range w.nodes {
		w.await(node)
	}
	w.awaitVotes()
	return w
}

// awaitVotes waits until all nodes have a vote.
func (w *world) awaitVotes() {
	w.Helper()
	servertest.Await(w, "all nodes have a vote", func() error {
		status, err := gateway.Directory(w.nodes[0].dir, gateway.Options{}).Cluster(w.Context())
		without := func(s admin.NodeStatus) bool { return !s.Voter }
		if err != nil || len(status.Nodes) != len(w.nodes) || slices.ContainsFunc(status.Nodes, without) {
			return fmt.Errorf("%+v, %v\n%s", status, err, w.logs())
		}
		return nil
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) writeProject(dir string) {
	for name, text := range projectFiles {
		path := filepath.Join(dir, filepath.FromSlash(name))
		w.must(os.MkdirAll(filepath.Dir(path), 0o755))
		w.must(os.WriteFile(path, []byte(text), 0o644))
	}
}

// createToken makes the content of the first node, with which the cluster begins: a token.
func (w *world) createToken() {
	p, err := gateway.Open(w.nodes[0].dir, gateway.Options{LogTo: w.Output()})
	w.must(err)
	_, w.key, err = p.CreateToken(w.Context(), auth.Declaration{Name: "test", Kind: auth.FullAccess})
	w.must(err)
	w.must(p.Close())
}

// await waits until a node answers with what the cluster has at the time of the call.
func (w *world) await(n *node) (revision string) {
	w.Helper()
	servertest.Await(w, n.name+" answers", func() error {
		w.revive(n)
		a, err := w.ask("GET", n.base+"/api/claims?pagination[pageSize]=1", "", "Lectern-Consistency", "linearizable")
		if err != nil || a.status != 200 {
			return fmt.Errorf("%v %v\n%s", a, err, w.logs())
		}
		revision = a.header.Get("Lectern-Revision")
		return nil
	})
	return revision
}

func (w *world) logs() string {
	var text strings.Builder
	for _, n := range w.nodes {
		fmt.Fprintf(&text, "--- %s\n%s\n", n.name, n.Log())
	}
	return text.String()
}

// leader returns the node that was the last to say that it leads the cluster.
func (w *world) leader() *node {
	var found *node
	latest := ""
	for _, n := range w.nodes {
		text, err := os.ReadFile(filepath.Join(n.dir, "log"))
		w.must(err)
		head, _, is := cutLast(string(text), "this node leads the cluster")
		if !is {
			continue
		}
		line := head[strings.LastIndexByte(head, '\n')+1:]
		if at, _, _ := strings.Cut(line, " "); at > latest { // the time begins a line
			found, latest = n, at
		}
	}
	if found == nil {
		w.Fatal("no node has led the cluster")
	}
	return found
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// settle waits until all nodes have the same content, and returns its revision.
func (w *world) settle() uint64 {
	w.Helper()
	var revision uint64
	servertest.Await(w, "the nodes come to the same revision", func() error {
		revisions := map[string]bool{}
		for _, n := range w.nodes {
			revisions[w.await(n)] = true
		}
		if len(revisions) != 1 {
			return fmt.Errorf("%v\n%s", revisions, w.logs())
		}
		for text := range revisions {
			_, err := fmt.Sscan(text, &revision)
			w.must(err)
		}
		return nil
	})
	return revision
}

// stop ends all nodes, and checks their stores, which must be equal up to a revision.
func (w *world) stop(revision uint64) {
	w.Helper()
	for _, n := range w.nodes {
		if err := n.Stop(); err != nil {
			w.Errorf("%s: %v", n.name, err)
		}
	}
	var stores []*store.Store
	for _, n := range w.nodes {
		d, err := gateway.Load(filepath.Join(n.dir, "data", "cluster", "project"),
			nil) // the definitions of the cluster
		w.must(err)
		st, err := store.Open(filepath.Join(n.dir, "data", "content.db"), d.Model, store.Options{})
		w.must(err)
		w.Cleanup(func() { w.must(st.Close()) })
		if err := st.Check(); err != nil {
			w.Errorf("%s: %v", n.name, err)
		}
		stores = append(stores, st)
	}
	// A write that the network held up may have come to the nodes that were not stopped yet.
	latest := slices.MaxFunc(stores, func(a, b *store.Store) int { return cmp.Compare(a.Revision(), b.Revision()) })
	for _, st := range stores {
		servertest.SameLogs(w, latest, st, revision)
	}
}
