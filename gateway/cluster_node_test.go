package gateway_test

import (
	"context"
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
	var logged servertest.LogBuffer
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of the nodes:\n%s", &logged)
		}
	})
	var nodes []*clusterNode
	var named []config.ClusterNode
	for i := range count {
		n := &clusterNode{t: t, dir: filepath.Join(dir, fmt.Sprint("n", i+1))}
		n.options = gateway.Options{Addr: "127.0.0.1:0", NoWatch: true, LockWait: clusterPatience,
			Log: slog.New(slog.NewTextHandler(&logged, nil)).With("at", filepath.Base(n.dir)),
			Cluster: &gateway.Cluster{Name: fmt.Sprint("n", i+1), Address: servertest.FreeAddress(t),
				Heartbeat: clusterHeartbeat}}
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
	joins := n.base == "" && !n.options.Cluster.NoVote
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
		n.awaitStatus(n.options.Cluster.Name, func(s admin.NodeStatus) bool { return s.Voter })
	}
}

// awaitStatus waits until the node knows a member of the cluster as it should be.
func (n *clusterNode) awaitStatus(name string, is func(admin.NodeStatus) bool) {
	n.t.Helper()
	for late := time.Now().Add(clusterPatience); ; {
		status, err := gateway.Directory(n.dir, gateway.Options{}).Cluster(n.t.Context())
		if err == nil && slices.ContainsFunc(
			status.Nodes, func(s admin.NodeStatus) bool { return s.Name == name && is(s) }) {
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
func (n *clusterNode) send(method, path, token, body string,
	header ...string) (status int, answered http.Header, text string, err error) {
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

// createArticles creates thousands of articles, in writes that do not take long.
func (n *clusterNode) createArticles(token string, thousands int) {
	n.t.Helper()
	for i := range 5 * thousands {
		var operations []string
		for k := range 200 {
			operations = append(operations,
				fmt.Sprintf(`{"op":"create","type":"articles","data":{"title":"%d","slug":"s-%d-%[1]d"}}`, k, i))
		}
		n.write("POST", "/api/_batch", token, `{"operations":[`+strings.Join(operations, ",")+`]}`,
			fmt.Sprintf("%q", fmt.Sprint("batch-", i)))
	}
}

// repeats has an operator repeat a command until it succeeds, or fails for another reason than that the cluster is
// without a leader for a moment.
func repeats(command func() error) (repeated bool, err error) {
	for late := time.Now().Add(clusterPatience); ; repeated = true {
		if err = command(); err == nil || !passing.MatchString(err.Error()) || time.Now().After(late) {
			return repeated, err
		}
	}
}

// passing matches the errors of commands that may succeed when another node leads, and those that do not tell whether
// they have.
var passing = regexp.MustCompile(
	`\b(lead|leader|leadership|no majority)\b|the node is starting|the running server answered 50`)

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

func revisionOf(t *testing.T, text string) uint64 {
	t.Helper()
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}
