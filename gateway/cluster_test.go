package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// clusterHeartbeat is short, so that tests need not wait for elections.
const clusterHeartbeat = 300 * time.Millisecond

// clusterPatience is how long a test waits for what must happen.
const clusterPatience = 30 * time.Second

// A clusterNode is a node in this process.
type clusterNode struct {
	t       *testing.T
	options gateway.Options
	dir     string
	base    string
	stop    func() error // nil if it does not run
}

// newCluster starts nodes, the first of which begins the cluster with the example project.
func newCluster(t *testing.T, count int) []*clusterNode {
	t.Helper()
	nodes := newStoppedCluster(t, count)
	for _, n := range nodes {
		n.start()
	}
	return nodes
}

// newStoppedCluster returns the nodes of newCluster, to be started in their order.
func newStoppedCluster(t *testing.T, count int) []*clusterNode {
	t.Helper()
	dir := t.TempDir()
	var nodes []*clusterNode
	var named []config.ClusterNode
	for i := range count {
		n := &clusterNode{t: t, dir: filepath.Join(dir, fmt.Sprint("n", i+1))}
		n.options = gateway.Options{Addr: "127.0.0.1:0", NoWatch: true, LockWait: clusterPatience, Log: slog.New(slog.DiscardHandler),
			Cluster: &gateway.Cluster{Name: fmt.Sprint("n", i+1), Address: servertest.FreeAddress(t), Heartbeat: clusterHeartbeat}}
		named = append(named, config.ClusterNode{Name: n.options.Cluster.Name, Address: n.options.Cluster.Address})
		if i > 0 {
			n.options.Cluster.Join = []string{nodes[0].options.Cluster.Address}
		}
		nodes = append(nodes, n)
	}
	if _, err := gateway.InitCluster(filepath.Join(dir, "certificates"), named); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.Init(context.Background(), nodes[0].dir, gateway.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.options.Cluster.Certificates = filepath.Join(dir, "certificates", n.options.Cluster.Name)
		if err := os.MkdirAll(filepath.Join(n.dir, "config"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

// start serves the node, and waits until it answers, and has its vote if it is new.
func (n *clusterNode) start() {
	n.t.Helper()
	joins := n.base == "" && !n.options.Cluster.Reads
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan gateway.Ready, 1), make(chan error, 1)
	n.options.Ready = func(r gateway.Ready) { ready <- r }
	go func() { ended <- gateway.Serve(ctx, n.dir, n.options) }()
	n.stop = func() error {
		n.stop = nil
		cancel()
		return <-ended
	}
	n.t.Cleanup(func() {
		if n.stop != nil {
			if err := n.stop(); err != nil {
				n.t.Error(err)
			}
		}
	})
	select {
	case r := <-ready:
		n.base = r.Base
	case err := <-ended:
		n.stop = nil
		n.t.Fatal(err)
	case <-time.After(clusterPatience):
		n.t.Fatalf("%s does not answer", n.dir)
	}
	if joins {
		n.awaitMember(n.options.Cluster.Name, func(m admin.ClusterMember) bool { return m.Voter })
	}
}

// awaitMember waits until the node knows a member of the cluster as it should be.
func (n *clusterNode) awaitMember(name string, is func(admin.ClusterMember) bool) {
	n.t.Helper()
	for late := time.Now().Add(clusterPatience); ; {
		status, err := gateway.Directory(n.dir, gateway.Options{}).Cluster(n.t.Context())
		if err == nil && slices.ContainsFunc(status.Members, func(m admin.ClusterMember) bool { return m.Name == name && is(m) }) {
			return
		}
		if time.Now().After(late) {
			n.t.Fatalf("%s knows %s otherwise: %+v, %v", n.dir, name, status, err)
		}
	}
}

// ask sends a request with a token, and returns the status, the header and the answer.
func (n *clusterNode) ask(method, path, token, body string, header ...string) (int, http.Header, string) {
	n.t.Helper()
	status, answered, text, err := n.send(method, path, token, body, header...)
	if err != nil {
		n.t.Fatal(err)
	}
	return status, answered, text
}

// send is ask with the error of a connection that broke off.
func (n *clusterNode) send(method, path, token, body string, header ...string) (status int, answered http.Header, text string, err error) {
	r, err := http.NewRequest(method, n.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(read), err
}

// awaitAge waits until the header Lectern-Replica-Age of the node's answers has a value.
func (n *clusterNode) awaitAge(token, want string) {
	n.t.Helper()
	got := ""
	for late := time.Now().Add(clusterPatience); got != want; {
		status, header, text := n.ask("GET", "/api/articles", token, "")
		if status == http.StatusOK { // it has the token
			got = header.Get("Lectern-Replica-Age")
		}
		if time.Now().After(late) {
			n.t.Fatalf("%s has the age %q, and not %s: %d %.500s", n.dir, got, want, status, text)
		}
	}
}

// write writes through the node until that succeeds: the cluster may be without a leader for a moment.
func (n *clusterNode) write(method, path, token, body, key string) http.Header {
	n.t.Helper()
	for late := time.Now().Add(clusterPatience); ; {
		status, header, text := n.attempt(method, path, token, body, key)
		if status < 300 {
			return header
		}
		if status != http.StatusServiceUnavailable && status != http.StatusConflict || time.Now().After(late) {
			n.t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
	}
}

// attempt sends a write, and sends it again with the same key while its outcome is unknown.
func (n *clusterNode) attempt(method, path, token, body, key string) (status int, header http.Header, text string) {
	n.t.Helper()
	for late := time.Now().Add(clusterPatience); ; {
		status, header, text, err := n.send(method, path, token, body, "Idempotency-Key", key)
		if err == nil && !strings.Contains(text, `"outcome":"unknown"`) {
			return status, header, text
		}
		if time.Now().After(late) {
			n.t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
		}
	}
}

// read reads at the node until that has what is asked for: the cluster may be without a leader for a moment.
func (n *clusterNode) read(path, token string, header ...string) (status int, answered http.Header, text string) {
	n.t.Helper()
	for late := time.Now().Add(clusterPatience); ; {
		status, answered, text = n.ask("GET", path, token, "", header...)
		if status != http.StatusServiceUnavailable || time.Now().After(late) {
			return status, answered, text
		}
	}
}

// repeats has an operator repeat a command until it succeeds, or fails for another reason than that the cluster is without a leader for a moment.
func repeats(command func() error) (repeated bool, err error) {
	for late := time.Now().Add(clusterPatience); ; repeated = true {
		if err = command(); err == nil || !passing.MatchString(err.Error()) || time.Now().After(late) {
			return repeated, err
		}
	}
}

// remove has an operator at the node remove a node from the cluster. It is no error if an earlier try has.
func (n *clusterNode) remove(name string) error {
	_, err := repeats(func() error {
		err := gateway.Directory(n.dir, gateway.Options{}).RemoveNode(n.t.Context(), name)
		if err != nil && strings.Contains(err.Error(), "the cluster has no node "+name) {
			return nil
		}
		return err
	})
	return err
}

// passing matches the errors of commands that may succeed when another node leads, and those that do not tell whether they have.
var passing = regexp.MustCompile(`\b(lead|leader|leadership|no majority)\b|the node is starting|the running server answered 50`)

func revisionOf(t *testing.T, text string) uint64 {
	t.Helper()
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// TestCluster serves three nodes: they take writes anywhere, answer as recently as they are asked to, take over definitions, and go on without the leader.
func TestCluster(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[1].token("writer")
	for i, n := range nodes {
		body := fmt.Sprintf(`{"data":{"title":"by node %d","slug":"by-node-%[1]d"}}`, i)
		revision := n.write("POST", "/api/articles?status=draft", token, body, fmt.Sprintf("%q", fmt.Sprint("create-", i))).Get("Lectern-Revision")
		for _, reader := range nodes {
			for _, header := range [][]string{{"Lectern-Revision", revision}, {"Lectern-Consistency", "linearizable"}} {
				status, answered, text := reader.read("/api/articles?status=draft&fields=title&filters[slug]=by-node-"+fmt.Sprint(i), token, header...)
				if status != http.StatusOK || !strings.Contains(text, fmt.Sprint("by node ", i)) {
					t.Errorf("what %s wrote, read at %s with %v: %d %s", n.dir, reader.dir, header, status, text)
				}
				if revisionOf(t, answered.Get("Lectern-Revision")) < revisionOf(t, revision) {
					t.Errorf("the answer has the revision %q, and goes up to %s", answered.Get("Lectern-Revision"), revision)
				}
			}
		}
	}
	if status, _, text := nodes[0].ask("GET", "/api/articles", token, "", "Lectern-Consistency", "strong"); status != http.StatusBadRequest {
		t.Errorf("an unknown consistency: %d %s", status, text)
	}
	if status, _, _ := nodes[2].ask("GET", "/api/articles", token, "", "Lectern-Revision", "999999"); status != http.StatusServiceUnavailable {
		t.Errorf("a revision that does not exist: %d", status)
	}
	testDeploy(t, nodes, token)

	if err := nodes[0].stop(); err != nil { // the leader
		t.Fatal(err)
	}
	nodes[1].write("POST", "/api/notes", token, `{"data":{"title":"without the leader"}}`, `"without"`)
	nodes[0].start()
	for _, n := range nodes {
		if status, header, text := n.read("/api/notes?fields=title", token, "Lectern-Consistency", "linearizable"); status != http.StatusOK || strings.Count(text, "without the leader") != 1 {
			t.Errorf("%s: %d %s %v", n.dir, status, text, header)
		}
	}
}

// TestFormerLeader reads at a node that wrote as the leader, and follows another one since, while nobody writes any more.
func TestFormerLeader(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	revision := nodes[0].write("POST", "/api/articles?status=draft", token, `{"data":{"title":"the last","slug":"last"}}`, `"last"`).Get("Lectern-Revision")
	operator := gateway.Directory(nodes[0].dir, gateway.Options{})
	if err := operator.TransferLead(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for _, header := range [][]string{{"Lectern-Revision", revision}, {"Lectern-Consistency", "linearizable"}} {
		if status, _, text := nodes[0].ask("GET", "/api/articles?status=draft&filters[slug]=last", token, "", header...); status != http.StatusOK || !strings.Contains(text, "the last") {
			t.Errorf("%v: %d %s", header, status, text)
		}
	}
	nodes[0].awaitAge(token, "0")
}

// TestForgottenNode serves a node that has lost its data, with the options of one that begins a cluster. It must refuse to start, because the other nodes
// still count it as a member.
func TestForgottenNode(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	if err := nodes[0].stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(nodes[0].dir, "data")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), clusterPatience)
	defer cancel()
	if err := gateway.Serve(ctx, nodes[0].dir, nodes[0].options); err == nil || !strings.Contains(err.Error(), "the cluster has a node n1 already") {
		t.Errorf("%v", err)
	}
	nodes[1].write("POST", "/api/articles?status=draft", token, `{"data":{"title":"by the others","slug":"others"}}`, `"others"`)
}

// TestDamagedLeader takes the file of the store away from the leader. Another node takes the writes.
func TestDamagedLeader(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	for i, n := range nodes {
		n.write("POST", "/api/articles?status=draft", token, fmt.Sprintf(`{"data":{"title":"before","slug":"before-%d"}}`, i), fmt.Sprintf("%q", fmt.Sprint("before-", i)))
	}
	path := filepath.Join(nodes[0].dir, "data", admin.StoreName)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	nodes[1].write("POST", "/api/articles?status=draft", token, `{"data":{"title":"after","slug":"after"}}`, `"after"`)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
}

// TestRemovedNode removes a node that goes on running, and adds it again. Clients of the node are told that nothing was written.
func TestRemovedNode(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	removed := nodes[2]
	removed.awaitAge(token, "0")
	operator := gateway.Directory(nodes[1].dir, gateway.Options{})
	if err := nodes[1].remove(removed.options.Cluster.Name); err != nil {
		t.Fatal(err)
	}
	until(t, "the removed node has an age", func() bool {
		_, header, _ := removed.ask("GET", "/api/articles", token, "")
		return revisionOf(t, header.Get("Lectern-Replica-Age")) > 0
	})
	const body = `{"data":{"title":"by the removed node","slug":"removed"}}`
	for range 2 {
		if status, _, text := removed.attempt("POST", "/api/articles", token, body, `"again"`); status != http.StatusServiceUnavailable || !strings.Contains(text, `"outcome":"refused"`) {
			t.Errorf("a write: %d %s", status, text)
		}
		if status, _, text := removed.ask("GET", "/api/articles", token, "", "Lectern-Consistency", "linearizable"); status != http.StatusServiceUnavailable {
			t.Errorf("a linearizable read: %d %s", status, text)
		}
		if status, _, text := removed.ask("GET", "/api/articles", token, ""); status != http.StatusOK {
			t.Errorf("a local read: %d %s", status, text)
		}
		if err := removed.stop(); err != nil {
			t.Fatal(err)
		}
		removed.start()
	}
	add := admin.ClusterNode{Name: removed.options.Cluster.Name, Address: removed.options.Cluster.Address, Voter: true}
	if _, err := repeats(func() error { return operator.AddNode(t.Context(), add) }); err != nil {
		t.Fatal(err)
	}
	removed.write("POST", "/api/articles", token, body, `"again"`)
	removed.awaitAge(token, "0")
	if status, _, text := nodes[0].read("/api/articles?filters[slug]=removed&status=draft", token, "Lectern-Consistency", "linearizable"); strings.Count(text, "by the removed node") != 1 {
		t.Errorf("in the end: %d %s", status, text)
	}
}

// TestReplaceClusterKey replaces cluster.key while the nodes are restarted one by one. A user stays logged in.
func TestReplaceClusterKey(t *testing.T) {
	nodes := newCluster(t, 3)
	path := func(n *clusterNode) string { return filepath.Join(n.options.Cluster.Certificates, "cluster.key") }
	text, err := os.ReadFile(path(nodes[0]))
	if err != nil {
		t.Fatal(err)
	}
	status, _, answer := nodes[0].ask("POST", "/api/auth/local/register", "", `{"username":"ada","email":"ada@example.com","password":"correct horse"}`)
	var user struct{ JWT string }
	if err := json.Unmarshal([]byte(answer), &user); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	former, next := string(text), strings.Repeat("0f", 32)+"\n"
	for _, keys := range []string{former + next, next + former, next} {
		for _, n := range nodes {
			if err := errors.Join(n.stop(), os.WriteFile(path(n), []byte(keys), 0o600)); err != nil {
				t.Fatal(err)
			}
			n.start()
			until(t, "the node knows the user", func() bool {
				status, _, _ := n.ask("GET", "/api/users/me", user.JWT, "", "Lectern-Consistency", "linearizable")
				return status != http.StatusServiceUnavailable
			})
			if status, _, answer := n.ask("GET", "/api/users/me", user.JWT, ""); status != http.StatusOK || !strings.Contains(answer, "ada@example.com") {
				t.Errorf("with the keys %q: %d %s", keys, status, answer)
			}
		}
	}
}

// TestCopyHalfConverted has a node get a copy of content that is half converted to other definitions: the conversion stops in the middle, since the
// leader loses its majority, and goes on when another node has come back and got a copy. That node must serve the content once all of it is converted.
// Raft's logs no longer have the transactions of the first half, so the copy must have them, although readers of the leader see the content as it was
// before the conversion.
func TestCopyHalfConverted(t *testing.T) {
	nodes := newStoppedCluster(t, 3)
	var stop sync.Once
	var written, half atomic.Bool
	var writtenGone, halfGone sync.WaitGroup // from Raft's logs
	halfGone.Add(1)
	halfOnce := sync.OnceFunc(halfGone.Done)
	for i, n := range nodes[:2] { // either may lead when definitions are deployed
		writtenGone.Add(1)
		writtenOnce := sync.OnceFunc(writtenGone.Done)
		other := nodes[1-i]
		n.options.Log = slog.New(slog.NewTextHandler(io.MultiWriter(
			&logTrigger{text: "the definitions have changed: indexing", found: func() {
				stop.Do(func() {
					half.Store(true)
					if err := other.stop(); err != nil {
						t.Error(err)
					}
				})
			}},
			&logTrigger{text: "raft: compacting logs", found: func() {
				if written.Load() {
					writtenOnce()
				}
				if half.Load() {
					halfOnce()
				}
			}},
		), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for _, n := range nodes {
		n.options.Cluster.Trailing = 2
		n.start()
	}
	token := nodes[0].token("writer")
	if err := nodes[2].stop(); err != nil {
		t.Fatal(err)
	}
	nodes[0].createArticles(token, 5)
	written.Store(true)
	nodes[0].write("POST", "/api/articles", token, `{"data":{"title":"one more","slug":"more"}}`, `"more"`)
	writtenGone.Wait()
	if _, err := repeats(func() error {
		err := nodes[0].deployArticle("added: {type: integer}")
		switch {
		case err == nil:
			return errors.New("definitions were deployed without a majority")
		case half.Load():
			return nil
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	halfGone.Wait()
	nodes[2].start()
	nodes[2].serves(token, "added")
}

// TestStartedHalfConverted stops a node while the content is converted to other definitions, of which it then has a part. Before it is started again,
// the cluster deploys definitions once more. The node must convert what it has to these, or take a copy in its place, and serve it.
func TestStartedHalfConverted(t *testing.T) {
	for _, test := range []struct {
		name     string
		trailing uint64
	}{
		{"it gets the transactions that it lacks", 1000},
		{"it gets a copy", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes := newStoppedCluster(t, 3)
			var stop sync.Once
			var stopped *clusterNode
			half := logTrigger{text: "the definitions have changed: indexing", found: func() { // the leader has made a part
				stop.Do(func() { stopped = nodes[0].stopFollower(nodes[1:]) })
			}}
			for _, n := range nodes {
				n.options.Log = slog.New(slog.NewTextHandler(&half, nil))
				n.options.Cluster.Trailing, n.options.Cluster.Heartbeat = test.trailing, time.Second // a busy machine must not move the lead
				n.start()
			}
			token := nodes[0].token("writer")
			nodes[0].createArticles(token, 5)
			if err := nodes[0].deployArticle("added: {type: integer}"); err != nil {
				t.Fatal(err)
			}
			if stopped == nil {
				t.Fatalf("the content was not converted:\n%s", half.String())
			}
			if _, err := gateway.Open(stopped.dir, gateway.Options{LogTo: io.Discard}); err == nil || !strings.Contains(err.Error(), "half converted") {
				t.Fatalf("the stopped node has other content than this test wants: %v", err)
			}
			if err := nodes[0].deployArticle("added: {type: integer}", "more: {type: integer}"); err != nil {
				t.Fatal(err)
			}
			stopped.start()
			stopped.serves(token, "more")
		})
	}
}

// stopFollower stops one of others that does not lead, once it has what the leader has.
func (n *clusterNode) stopFollower(others []*clusterNode) *clusterNode {
	for n.t.Context().Err() == nil {
		status, err := gateway.Directory(n.dir, gateway.Options{}).Cluster(n.t.Context())
		if err != nil {
			n.t.Error(err)
			return nil
		}
		i := slices.IndexFunc(status.Members, func(m admin.ClusterMember) bool {
			return m.Name != n.options.Cluster.Name && !m.Leader && m.Error == "" && m.Behind == 0
		})
		if status.Leader == "" || i < 0 {
			continue
		}
		for _, o := range others {
			if o.options.Cluster.Name == status.Members[i].Name {
				if err := o.stop(); err != nil {
					n.t.Error(err)
				}
				return o
			}
		}
	}
	return nil
}

// createArticles creates thousands of articles, in writes that do not take long.
func (n *clusterNode) createArticles(token string, thousands int) {
	n.t.Helper()
	for i := range 5 * thousands {
		var operations []string
		for k := range 200 {
			operations = append(operations, fmt.Sprintf(`{"op":"create","type":"articles","data":{"title":"%d","slug":"s-%d-%[1]d"}}`, k, i))
		}
		n.write("POST", "/api/_batch", token, `{"operations":[`+strings.Join(operations, ",")+`]}`, fmt.Sprintf("%q", fmt.Sprint("batch-", i)))
	}
}

// serves waits until a linearizable read at the node shows articles with an attribute that was added.
func (n *clusterNode) serves(token, attribute string) {
	n.t.Helper()
	path := fmt.Sprintf("/api/articles?filters[%s][$null]=true&pagination[pageSize]=1&status=draft", attribute)
	for late := time.Now().Add(clusterPatience); ; {
		status, _, text := n.ask("GET", path, token, "", "Lectern-Consistency", "linearizable")
		if status == http.StatusOK && strings.Contains(text, fmt.Sprintf(`"%s":null`, attribute)) {
			return
		}
		if time.Now().After(late) {
			n.t.Fatalf("%s does not serve %s: %d %.500s", n.dir, attribute, status, text)
		}
	}
}

// token makes an API token by a command at the node.
func (n *clusterNode) token(name string) (key string) {
	n.t.Helper()
	ctx := store.WithPrincipal(context.Background(), store.Principal{Kind: "command", Name: "token create"})
	_, err := repeats(func() error {
		p, err := gateway.Directory(n.dir, gateway.Options{}).Administer(ctx)
		if err != nil {
			return err
		}
		defer p.Close()
		_, key, err = p.CreateToken(ctx, auth.Declaration{Name: name, Kind: auth.FullAccess})
		if errors.Is(err, auth.ErrTokenExists) { // the command was carried out, and its answer was lost
			_, key, err = p.RotateToken(ctx, name, 0)
		}
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return key
}
