package gateway

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
	"lectern/jsontree"
	"lectern/store"
)

// revisionHeader is the header in which nodes of a cluster tell up to which write an answer goes, and in which clients ask that an answer goes
// at least so far.
const revisionHeader = "Lectern-Revision"

// maxElection returns how long a request waits for the cluster to have a leader, and for this node to have what was written.
func (m *member) maxElection() time.Duration { return 5 * m.heartbeat() }

// heartbeat returns how long the node hears nothing from the leader before it takes it for lost.
func (m *member) heartbeat() time.Duration { return cmp.Or(m.options.Heartbeat, time.Second) }

// errNoLeader is the answer to a write while the cluster has no leader.
var errNoLeader = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", Reason: apierror.Origin,
	Message: "the cluster has no leader now, which takes the writes; nothing was written", Details: jsontree.ObjectOf("outcome", "refused")}

// leaderOf is the leader of a member's cluster, as an upstream.
type leaderOf struct{ *member }

// begin implements upstream. It waits for maxElection at most.
func (l leaderOf) begin(ctx context.Context) (end func(), at *url.URL, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.maxElection())
	defer cancel()
	err = l.awaitLead(ctx, func(leader string) bool {
		switch {
		case leader == "":
		case leader != l.options.Address:
			if end = l.sends.begin(leader); l.leaderAddress() == leader { // see nodeState.SendsTo
				at = &url.URL{Scheme: "http", Host: leader}
				return true
			}
			end()
		case l.beginOwn():
			end = l.writes.end
			return true
		}
		return false
	})
	if err != nil {
		return nil, nil, errNoLeader
	}
	return end, at, nil
}

// beginOwn notes that a write begins, and returns true, if this node takes it. Then writes.end must be called after the write.
func (m *member) beginOwn() bool {
	if !m.writes.begin() {
		return false
	}
	if !m.Leads() { // since writes has been opened again after another node took the lead
		m.writes.end()
		return false
	}
	return true
}

// elected reports whether this node is the leader. It may take no writes yet, or not for now.
func (m *member) elected() bool {
	node := m.node.Load()
	return node != nil && node.Elected()
}

func (leaderOf) name() string { return "the leader of the cluster" }
func (leaderOf) close()       {}

// maxVisits is how often a node forwards a write at most that comes back.
const maxVisits = 3

// looped implements upstream. Nodes forward to each other while not all of them know of a new leader, and a write that the leader has held back comes back
// when the lead does.
func (leaderOf) looped(times int) *apierror.Error {
	if times < maxVisits {
		return nil
	}
	return errNoLeader
}

// instead implements upstream. If the leader does not listen any more, the others elect another one soon. A leader that goes on leading is tried again: a
// connection may fail for other reasons, and a node that is started again may lead again.
func (l leaderOf) instead(ctx context.Context, unreached *url.URL, since time.Time) *url.URL {
	ctx, cancel := context.WithDeadline(ctx, since.Add(l.maxElection()))
	defer cancel()
	soon, cancelSoon := context.WithTimeout(ctx, l.heartbeat()/2)
	defer cancelSoon()
	leader, err := l.nextLeader(soon, unreached.Host)
	if err != nil {
		leader, err = l.nextLeader(ctx, "")
	}
	if err != nil || ctx.Err() != nil {
		return nil
	}
	return &url.URL{Scheme: "http", Host: leader}
}

// awaitLoss implements upstream. It waits for maxElection longer than this node does without that leader. On a busy machine a follower may hear nothing
// from the leader for a heartbeat, and take it for lost, although it leads on. And a node that has lost the lead answers what it was sent: that the write
// was made or refused, or that the outcome is unknown.
func (l leaderOf) awaitLoss(ctx context.Context, at *url.URL) error {
	for {
		if err := l.awaitLead(ctx, func(leader string) bool { return leader != at.Host }); err != nil {
			return err
		}
		election, cancel := context.WithTimeout(ctx, l.maxElection())
		err := l.awaitLead(election, func(leader string) bool { return leader == at.Host })
		cancel()
		if err != nil {
			return ctx.Err()
		}
	}
}

// awaitLeader returns the address of the leader. It waits for maxElection at most until there is a leader with another address than former.
func (m *member) awaitLeader(ctx context.Context, former string) (leader string, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.maxElection())
	defer cancel()
	if leader, err = m.nextLeader(ctx, former); err != nil {
		return "", errNoLeader
	}
	return leader, nil
}

// nextLeader waits until there is a leader with another address than former, and returns its address.
func (m *member) nextLeader(ctx context.Context, former string) (leader string, err error) {
	err = m.awaitLead(ctx, func(address string) bool {
		leader = address
		return leader != "" && leader != former
	})
	return leader, err
}

// awaitLead waits until leaderAddress is as it should be.
func (m *member) awaitLead(ctx context.Context, is func(leader string) bool) error {
	for {
		changed := m.changed.wait() // before the leader is read
		if is(m.leaderAddress()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leaderAddress returns the address of the node that takes the writes, as far as this node knows, "" if there is none. A node that was elected hears of that
// before others do, so what they forward to it does not go back to the former leader.
func (m *member) leaderAddress() string {
	switch leader, own := *m.leader.Load(), m.options.Address; {
	case !m.elected() && leader != own:
		return leader
	case m.Leads() && m.writes.isOpen():
		return own
	}
	return "" // this node takes no writes yet, or not for now, or not any more
}

// catchUp implements upstream.
func (l leaderOf) catchUp(ctx context.Context, answer *http.Response) error {
	revision, err := strconv.ParseUint(answer.Header.Get(revisionHeader), 10, 64)
	if err != nil {
		return err
	}
	return l.reach(ctx, revision)
}

// commandPath is the path at which the leader answers the requests of control sockets of other nodes.
const commandPath = "/cluster/command"

// byLeader wraps the handler of those requests of control sockets that are for the leader: it answers them. They are writes, for a hand-over.
func (m *member) byLeader(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, at, err := leaderOf{m}.begin(r.Context())
		if err == nil {
			defer end()
		}
		if at != nil && timesVia(r, m.via) < maxVisits {
			m.forwardCommand(w, r, at)
		} else {
			h.ServeHTTP(w, r) // if this node does not lead, the store refuses to write
		}
	})
}

// forwardCommand has the node at an address answer a request of a control socket.
func (m *member) forwardCommand(w http.ResponseWriter, r *http.Request, at *url.URL) {
	at.Path = commandPath
	proxy := httputil.ReverseProxy{Transport: m.client.Transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(at)
			p.Out.Header["Via"] = append(p.In.Header["Via"], m.via)
		},
		ModifyResponse: func(*http.Response) error { return m.catchUpWithCommand(r.Context()) },
		ErrorLog:       slog.NewLogLogger(m.log.Handler(), slog.LevelDebug)}
	proxy.ServeHTTP(w, r)
}

// catchUpWithCommand waits until this node has what a command has written, such as the token that it made.
func (m *member) catchUpWithCommand(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxCatchUp)
	defer cancel()
	revision, err := m.latest(ctx)
	if err == nil {
		err = m.reach(ctx, revision)
	}
	if err != nil {
		return nil // the command was carried out, and this node will have it
	}
	return m.project.generation.Load().tokens.Refresh()
}

// serveCommand answers a request of another node's control socket.
func (m *member) serveCommand(w http.ResponseWriter, r *http.Request) {
	handler := m.commands.Load()
	if handler == nil {
		http.Error(w, "the node is starting", http.StatusServiceUnavailable)
		return
	}
	http.StripPrefix(commandPath, *handler).ServeHTTP(w, r)
}

// reach waits until reads of this node show the write with a revision.
func (m *member) reach(ctx context.Context, revision uint64) error {
	if m.shows(revision) {
		return nil
	}
	if node := m.node.Load(); node != nil {
		defer node.Hurry()()
	}
	for {
		advanced, committed := m.advanced.wait(), m.project.Store().NextCommit() // before the revision is read
		if m.shows(revision) {
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

// shows reports whether reads of this node show the write with a revision. Apply, which calls advance, does not hear of writes that this node has made as
// the leader.
func (m *member) shows(revision uint64) bool {
	if m.reached.Load() >= revision {
		return true
	}
	served := m.project.routed.Load() // not the generation of the project, whose routes may be built yet
	if served == nil {
		return false
	}
	var shown uint64
	var definitions string
	err := served.store.View(func(s *store.Snapshot) error {
		shown = s.Sequence()
		if note := s.Note(hashNote); note != nil {
			return json.Unmarshal(note, &definitions)
		}
		return nil
	})
	if err != nil || shown < revision || definitions != "" && definitions != served.files.Hash() { // they are served soon
		return false
	}
	m.advanceTo(shown)
	return true
}

// confirmWrite confirms the error of a write that may follow from the present content: a value that is taken, a document that is not there, or a
// precondition.
func (m *member) confirmWrite(f *forwarder, r *http.Request, refused *apierror.Error) *apierror.Error {
	switch refused.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed:
		if f.takes(r) {
			return m.confirm(r.Context(), refused)
		}
	}
	return refused
}

// confirm returns the error of a write that was refused because of the present content, or errNoLeader if this node does not lead the cluster any
// more: the content of the new leader may be another. Only writes that were committed are sure to have been the leader's, since a majority agreed to them.
func (m *member) confirm(ctx context.Context, refused *apierror.Error) *apierror.Error {
	ctx, cancel := context.WithTimeout(ctx, m.maxElection())
	defer cancel()
	if node := m.node.Load(); node == nil || node.Verify(ctx) != nil {
		return errNoLeader
	}
	return refused
}

// advance notes that reads show all that the store has. The store may have more for a moment: while the node has yet to serve the definitions of what
// follows, reads show the content before.
func (m *member) advance() {
	m.advanceTo(m.project.Store().Revision())
	m.advanced.send()
	m.uploads.Wake()
}

// advanceTo notes that reads show all up to a revision.
func (m *member) advanceTo(revision uint64) {
	for {
		reached := m.reached.Load()
		if revision <= reached || m.reached.CompareAndSwap(reached, revision) {
			return
		}
	}
}

// Leads implements role: it reports whether this node takes the writes.
func (m *member) Leads() bool {
	node := m.node.Load()
	return node != nil && node.Leading()
}

// propose implements store.Propose.
func (m *member) propose(transaction []byte) (store.Agreement, error) {
	node := m.node.Load()
	if node == nil {
		return store.Agreement{}, store.ErrNotLeader
	}
	return node.Propose(transaction)
}
