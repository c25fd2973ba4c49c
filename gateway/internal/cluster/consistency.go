package cluster

import (
	"context"
	"net/http"
	"strconv"

	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/internal/backoff"
	"lectern/store"
)

// A node of a cluster answers reads from its own store, which may be behind those of other nodes. A client may ask for
// more by a header of the request:
//
//	Lectern-Revision: N                  what was read or written when an answer had Lectern-Revision: N, and all before it
//	Lectern-Consistency: linearizable    all that was written when the request arrived, by whatever client at whatever node

// consistencyHeader is the header in which clients say how recent an answer must be.
const consistencyHeader = "Lectern-Consistency"

var (
	errConsistency = &apierror.Error{Status: http.StatusBadRequest, Name: "BadRequestError", NoDetails: true,
		Message: "Lectern-Consistency is local, session or linearizable, and Lectern-Revision the number that an " +
			"answer had"}
	errBehind = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", NoDetails: true,
		Reason:  apierror.Origin,
		Message: "this node does not have what was asked for yet: try again, or ask another node"}
)

// asksRecent reports whether a request says how recent its answer must be.
func asksRecent(r *http.Request) bool {
	return r.Header[revisionHeader] != nil || r.Header[consistencyHeader] != nil
}

// awaitRecent is the step Await: it waits until this node has everything that the headers of a request demand. The
// error says that the node does not get it in time.
func (n *Node) awaitRecent(w http.ResponseWriter, r *http.Request) (waited bool, err *apierror.Error) {
	if !asksRecent(r) {
		return false, nil
	}
	if err = n.await(r.Context(), r.Header.Get(revisionHeader), r.Header.Get(consistencyHeader)); err != nil {
		w.Header()["Retry-After"] = server.RetrySoon
	}
	return true, err
}

// await waits until this node has everything that the values of revisionHeader and consistencyHeader demand, for
// maxElection at most.
func (n *Node) await(ctx context.Context, least, consistency string) *apierror.Error {
	if n.waitUntilServed() != nil {
		return errBehind
	}
	ctx, cancel := context.WithTimeout(ctx, n.maxElection())
	defer cancel()
	var revision uint64
	var err error
	if least != "" {
		if revision, err = strconv.ParseUint(least, 10, 64); err != nil {
			return errConsistency
		}
	}
	switch consistency {
	case "", "local", "session":
	case "linearizable":
		latest, err := n.latest(ctx)
		if err != nil {
			return errBehind
		}
		revision = max(revision, latest)
	default:
		return errConsistency
	}
	// a revoked token must not be accepted any more
	if n.reach(ctx, revision) != nil || n.project.RefreshTokens() != nil {
		return errBehind
	}
	return nil
}

// latest returns the revision of the last write in the cluster that may have been answered. It asks the leader, which
// asks a majority of the nodes whether it still is.
func (n *Node) latest(ctx context.Context) (revision uint64, err error) {
	retry := backoff.New()
	for {
		if n.Leads() {
			if err = n.raft.Load().Verify(ctx); err == nil {
				return n.shown()
			}
		} else if leader, failed := n.awaitLeader(ctx, ""); failed != nil {
			return 0, failed
		} else if err = n.ask(ctx, leader, revisionPath, nil, &revision); err == nil {
			return revision, nil
		}
		if retry.Wait(ctx) != nil {
			return 0, err
		}
	}
}

// shown returns the revision of the content that reads of this node show from now on. It may be higher than
// Store.Revision: reads see a write before it is answered.
func (n *Node) shown() (revision uint64, err error) {
	err = n.project.Store().View(func(s *store.Snapshot) error {
		revision = s.Sequence()
		return nil
	})
	return revision, err
}

// A revisedWriter sets the header Lectern-Revision when an answer begins. The answer shows nothing that was written
// after that revision.
type revisedWriter struct {
	http.ResponseWriter
	node  *Node
	begun bool
}

func (w *revisedWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	select {
	case <-w.node.serving:
	default:
		return
	}
	revision, err := w.node.shown()
	if err != nil { // the store is closed, and the answer says so
		return
	}
	if leaders, err := strconv.ParseUint(w.Header().Get(revisionHeader), 10, 64); err == nil {
		revision = max(revision, leaders) // this node may not have the write that the leader has answered
	}
	w.Header()[revisionHeader] = []string{strconv.FormatUint(revision, 10)}
}

// WriteHeader implements http.ResponseWriter.
func (w *revisedWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.begin()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *revisedWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *revisedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
