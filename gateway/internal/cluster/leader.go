package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/internal/forward"
	"lectern/jsontree"
	"lectern/store"
)

// revisionHeader is the header of answers with the number of the last write that they may show, and of requests with
// the number of the write that their answer must show at least.
const revisionHeader = "Lectern-Revision"

// maxElection returns how long a request waits for the cluster to have a leader, and for this node to have what was
// written.
func (n *Node) maxElection() time.Duration { return 5 * n.heartbeat() }

// heartbeat returns how long the node hears nothing from the leader before it takes it for lost.
func (n *Node) heartbeat() time.Duration { return cmp.Or(n.options.Heartbeat, time.Second) }

// errNoLeader is the answer to a write while the cluster has no leader.
var errNoLeader = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Reason:  apierror.Origin,
	Message: "the cluster has no leader now, which takes the writes; nothing was written",
	Details: jsontree.ObjectOf("outcome", "refused")}

// A Leader is the leader of a node's cluster, as a forward.Upstream.
type Leader struct{ node *Node }

// Begin implements forward.Upstream. It waits for maxElection at most.
func (l Leader) Begin(ctx context.Context) (end func(), at *url.URL, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.node.maxElection())
	defer cancel()
	err = l.node.awaitLead(ctx, func(leader string) bool {
		switch {
		case leader == "":
		case leader != l.node.options.Address:
			if end = l.node.sends.begin(leader); l.node.leaderAddress() == leader { // see nodeState.SendsTo
				at = &url.URL{Scheme: "http", Host: leader}
				return true
			}
			end()
		case l.node.beginOwn():
			end = l.node.writes.end
			return true
		}
		return false
	})
	if err != nil {
		return nil, nil, errNoLeader
	}
	return end, at, nil
}

// beginOwn notes that a write begins, and returns true, if this node takes it. Then writes.end must be called after the
// write.
func (n *Node) beginOwn() bool {
	if !n.writes.begin() {
		return false
	}
	if !n.Leads() { // since writes has been opened again after another node took the lead
		n.writes.end()
		return false
	}
	return true
}

// elected reports whether this node is the leader. It may take no writes yet, or not for now.
func (n *Node) elected() bool {
	raft := n.raft.Load()
	return raft != nil && raft.Elected()
}

// Name implements forward.Upstream.
func (Leader) Name() string { return "the leader of the cluster" }

// Close implements forward.Upstream.
func (Leader) Close() {}

// maxVisits is how often a node forwards a write at most that comes back.
const maxVisits = 3

// Looped implements forward.Upstream. Nodes forward to each other while not all of them know of a new leader, and a
// write that the leader has held back comes back when the lead does.
func (Leader) Looped(times int) *apierror.Error {
	if times < maxVisits {
		return nil
	}
	return errNoLeader
}

// Instead implements forward.Upstream. If the leader does not listen any more, the others elect another one soon. A
// leader that goes on leading is tried again: a connection may fail for other reasons, and a node that is started again
// may lead again.
func (l Leader) Instead(ctx context.Context, unreached *url.URL, since time.Time) *url.URL {
	ctx, cancel := context.WithDeadline(ctx, since.Add(l.node.maxElection()))
	defer cancel()
	soon, cancelSoon := context.WithTimeout(ctx, l.node.heartbeat()/2)
	defer cancelSoon()
	leader, err := l.node.nextLeader(soon, unreached.Host)
	if err != nil {
		leader, err = l.node.nextLeader(ctx, "")
	}
	if err != nil || ctx.Err() != nil {
		return nil
	}
	return &url.URL{Scheme: "http", Host: leader}
}

// AwaitLoss implements forward.Upstream. It returns nil once the leader at an address has not been this node's leader
// for maxElection. Until then its answer may still come: on a busy machine a node may hear nothing from the leader for
// a heartbeat, although it leads on; and a node that has lost the lead answers what it was sent.
func (l Leader) AwaitLoss(ctx context.Context, at *url.URL) error {
	for {
		if err := l.node.awaitLead(ctx, func(leader string) bool { return leader != at.Host }); err != nil {
			return err
		}
		election, cancel := context.WithTimeout(ctx, l.node.maxElection())
		err := l.node.awaitLead(election, func(leader string) bool { return leader == at.Host })
		cancel()
		if err != nil {
			return ctx.Err()
		}
	}
}

// awaitLeader returns the address of the leader. It waits for maxElection at most until there is a leader with another
// address than old.
func (n *Node) awaitLeader(ctx context.Context, old string) (leader string, err error) {
	ctx, cancel := context.WithTimeout(ctx, n.maxElection())
	defer cancel()
	if leader, err = n.nextLeader(ctx, old); err != nil {
		return "", errNoLeader
	}
	return leader, nil
}

// nextLeader waits until there is a leader with another address than old, and returns its address.
func (n *Node) nextLeader(ctx context.Context, old string) (leader string, err error) {
	err = n.awaitLead(ctx, func(address string) bool {
		leader = address
		return leader != "" && leader != old
	})
	return leader, err
}

// awaitLead waits until leaderAddress is as it should be.
func (n *Node) awaitLead(ctx context.Context, is func(leader string) bool) error {
	for {
		changed := n.changed.wait() // before the leader is read
		if is(n.leaderAddress()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leaderAddress returns the address of the node that takes the writes, as far as this node knows, "" if there is none.
// There is none while this node is elected and takes no writes yet. Otherwise it would send back to the leader before
// it what others forward to it already.
func (n *Node) leaderAddress() string {
	switch leader, own := *n.leader.Load(), n.options.Address; {
	case !n.elected() && leader != own:
		return leader
	case n.Leads() && n.writes.isOpen():
		return own
	}
	return "" // this node takes no writes yet, or not for now, or not any more
}

// CatchUp implements forward.Upstream.
func (l Leader) CatchUp(ctx context.Context, answer *http.Response) error {
	revision, err := strconv.ParseUint(answer.Header.Get(revisionHeader), 10, 64)
	if err != nil {
		return err
	}
	return l.node.reach(ctx, revision)
}

// commandPath is the path at which the leader answers the requests of control sockets of other nodes.
const commandPath = "/cluster/command"

// byLeader returns a handler that has the leader answer requests of a control socket. They count as writes, for which a
// hand-over waits. h answers them if this node leads.
func (n *Node) byLeader(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, at, err := Leader{n}.Begin(r.Context())
		if err == nil {
			defer end()
		}
		if at != nil && forward.Times(r, n.via) < maxVisits {
			n.forwardCommand(w, r, at)
		} else {
			h.ServeHTTP(w, r) // if this node does not lead, the store refuses to write
		}
	})
}

// forwardCommand has the node at an address answer a request of a control socket.
func (n *Node) forwardCommand(w http.ResponseWriter, r *http.Request, at *url.URL) {
	at.Path = commandPath
	proxy := httputil.ReverseProxy{Transport: n.client.Transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(at)
			p.Out.Header["Via"] = append(p.In.Header["Via"], n.via)
		},
		ModifyResponse: func(*http.Response) error { return n.catchUpWithCommand(r.Context()) },
		ErrorLog:       slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	proxy.ServeHTTP(w, r)
}

// catchUpWithCommand waits until this node has what a command has written, such as the token that it made.
func (n *Node) catchUpWithCommand(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, forward.MaxCatchUp)
	defer cancel()
	revision, err := n.latest(ctx)
	if err == nil {
		err = n.reach(ctx, revision)
	}
	if err != nil {
		return nil // the command was carried out, and this node will have it
	}
	return n.project.RefreshTokens()
}

// serveCommand answers a request of another node's control socket.
func (n *Node) serveCommand(w http.ResponseWriter, r *http.Request) {
	handler := n.commands.Load()
	if handler == nil {
		http.Error(w, "the node is starting", http.StatusServiceUnavailable)
		return
	}
	http.StripPrefix(commandPath, *handler).ServeHTTP(w, r)
}

// reach waits until reads of this node show the write with a revision.
func (n *Node) reach(ctx context.Context, revision uint64) error {
	if n.shows(revision) {
		return nil
	}
	if raft := n.raft.Load(); raft != nil {
		defer raft.Hurry()()
	}
	for {
		advanced, committed := n.advanced.wait(), n.project.Store().NextCommit() // before the revision is read
		if n.shows(revision) {
			return nil
		}
		select {
		case <-advanced:
		case <-committed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// shows reports whether reads of this node show the write with a revision. Apply, which calls advance, does not hear of
// writes that this node has made as the leader.
func (n *Node) shows(revision uint64) bool {
	if n.reached.Load() >= revision {
		return true
	}
	st, served := n.project.Routed() // not what the project serves, whose routes may be built yet
	if st == nil {
		return false
	}
	var shown uint64
	var definitions string
	err := st.View(func(s *store.Snapshot) error {
		shown = s.Sequence()
		if note := s.Note(hashNote); note != nil {
			return json.Unmarshal(note, &definitions)
		}
		return nil
	})
	// they are served soon
	if err != nil || shown < revision || definitions != "" && definitions != served.Files().Hash() {
		return false
	}
	n.advanceTo(shown)
	return true
}

// confirm returns the error of a write that was refused because of the present content, or errNoLeader if this node
// does not lead the cluster any more: the content of the new leader may be another. Only writes that were committed are
// sure to have been the leader's, since a majority agreed to them.
func (n *Node) confirm(ctx context.Context, refused *apierror.Error) *apierror.Error {
	ctx, cancel := context.WithTimeout(ctx, n.maxElection())
	defer cancel()
	if raft := n.raft.Load(); raft == nil || raft.Verify(ctx) != nil {
		return errNoLeader
	}
	return refused
}

// advance notes that reads show all that the store has. It must not be called while the store has content of
// definitions that are not served yet: reads show the content before until then.
func (n *Node) advance() {
	n.advanceTo(n.project.Store().Revision())
	n.advanced.send()
	n.uploads.Wake()
}

// advanceTo notes that reads show all up to a revision.
func (n *Node) advanceTo(revision uint64) {
	for {
		reached := n.reached.Load()
		if revision <= reached || n.reached.CompareAndSwap(reached, revision) {
			return
		}
	}
}

// Leads reports whether this node takes the writes.
func (n *Node) Leads() bool {
	raft := n.raft.Load()
	return raft != nil && raft.Leading()
}

// propose implements store.Propose.
func (n *Node) propose(transaction []byte) (store.Agreement, error) {
	raft := n.raft.Load()
	if raft == nil {
		return store.Agreement{}, store.ErrNotLeader
	}
	return raft.Propose(transaction)
}
