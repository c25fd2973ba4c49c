package gateway

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/language"
	"lectern/store"
)

// Operations are answered as a stream of events if the client asks for that, as the "distinct connections mode" of graphql-sse says: each
// result is an event next, and an event complete follows the last one. A subscription has a result for each change. Errors of an operation
// that cannot run are a result, too, because clients see nothing else of an answer that is no stream.

// stream answers an operation with a stream of events.
func (h *graphqlHandler) stream(w http.ResponseWriter, r *http.Request, op *operationRequest, who auth.Principal) error {
	request := h.request(w, r, op, who)
	subscription, answer := h.engine.Subscribe(h.withCaller(r, who).Context(), request)
	if subscription == nil && answer == nil {
		var err error
		if answer, err = h.engine.Execute(h.withCaller(r, who).Context(), request); err != nil {
			return err
		}
		defer answer.Release()
	}
	if answer != nil {
		h.done(op, answer)
		if answer.NotByGet {
			h.send(w, r, jsonType, answer)
			return nil
		}
		h.streamOne(w, r, answer)
		return nil
	}
	if h.noLog {
		h.streamOne(w, r, errorResponse(noLog))
		return nil
	}
	share, err := h.project.newListener(w, r)
	if err != nil {
		return err
	}
	defer func() { share.Release(); share.Close() }()
	h.done(op, &execution.Response{Status: http.StatusOK, Operation: "subscription"})
	l := &graphqlListener{project: h.project, limits: &h.limits, positions: h.positions, w: w, r: r, op: op}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if l.at, err = h.positions.parse(last); err != nil {
			h.streamOne(w, r, errorResponse(lostChanges))
			return nil
		}
	} else if err := l.begin(h, subscription); err != nil {
		return err
	}
	l.told = l.at
	l.events = h.limits.beginEvents(w, r)
	l.listen()
	return nil
}

// streamOne answers with one result.
func (h *graphqlHandler) streamOne(w http.ResponseWriter, r *http.Request, answer *execution.Response) {
	s := h.limits.beginEvents(w, r)
	s.lastResult(answer)
	_ = s.flush() // it fails only if the client is gone
}

// result adds an event with the result of an operation.
func (s *eventStream) result(id string, answer *execution.Response) {
	s.event("next", id, bytes.TrimSuffix(answer.Body, lineFeed))
}

// lastResult adds a result, and says that no other follows.
func (s *eventStream) lastResult(answer *execution.Response) {
	s.result("", answer)
	s.event("complete", "", nil)
}

var lineFeed = []byte{'\n'}

// A graphqlListener answers a subscription. It keeps only the operation and the position up to which its client knows all changes: before
// each delivery it authenticates the caller and checks the operation again, with the permissions and definitions of that time. Between
// deliveries it holds no place, no snapshot and no plan.
type graphqlListener struct {
	project   *Project
	limits    *requestLimits
	positions *positions
	w         http.ResponseWriter
	r         *http.Request
	op        *operationRequest
	events    *eventStream

	at      changes.Position
	told    changes.Position // the last position that the client was sent as the id of an event
	recheck bool             // a commit was seen, which may have changed what the caller may do
}

const (
	// changesAtOnce is how many changes a listener reads in one snapshot.
	changesAtOnce = 100
	// aliveEvery is how often a listener sends something to a silent client, as graphql-sse does. It also finds out then whether the
	// credential has expired.
	aliveEvery = 12 * time.Second
	// gatherFor is how long a listener waits after a commit for others, so that many commits in a row cost it little.
	gatherFor = 10 * time.Millisecond
	// recheckAfter is how long after the last commit a listener authenticates its caller once more: tokens and roles are read anew a moment
	// after the commit that changes them.
	recheckAfter = time.Second
)

// begin sets the position to the present one.
func (l *graphqlListener) begin(h *graphqlHandler, s *execution.Subscription) error {
	q := changes.Query{Filter: s.Filter, Access: s.Access}
	return h.store.View(func(snapshot *store.Snapshot) (err error) {
		l.at, err = changes.Now(snapshot, &q)
		return err
	})
}

// noLog is the error of a subscription where the store keeps no log.
var noLog = &language.Error{Code: "CHANGES_LOST", Message: "There are no changes to subscribe to, since the store keeps no log (log.keep: 0 in config/server.yaml)."}

// lostChanges is the error of a subscription that cannot go on from its position.
var lostChanges = &language.Error{Code: "CHANGES_LOST",
	Message: "The log does not have all changes since then. Read the documents again, and subscribe without Last-Event-ID."}

// errorResponse returns the result of an operation that cannot run.
func errorResponse(e *language.Error) *execution.Response {
	errs := []*language.Error{e}
	return &execution.Response{Status: http.StatusOK, Body: append(language.AppendErrors([]byte{'{'}, errs), '}'), Errors: errs}
}

// listen delivers changes until the client is gone, the subscription has ended or the server stops.
func (l *graphqlListener) listen() {
	ctx := l.r.Context()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		replaced := l.project.replaced()
		h := l.project.graphql.Load()
		if h == nil {
			return
		}
		commit := h.store.NextCommit()
		pending, over, err := l.deliver(ctx, h)
		switch {
		case errors.Is(err, store.ErrRedefined):
			pending, commit = false, nil // the next generation goes on
		case err != nil && ctx.Err() == nil:
			l.project.log.LogAttrs(ctx, slog.LevelError, "a subscription failed", requestAttrs(l.w, l.r, slog.Any("error", err))...)
			return
		case err != nil:
			return
		}
		if l.events.flush() != nil || over {
			return
		}
		if !pending && !l.wait(ctx, commit, replaced, alive.C) {
			return
		}
	}
}

// wait waits for a reason to deliver again. It returns false if the stream ends: then no event complete follows, so that clients connect
// again.
func (l *graphqlListener) wait(ctx context.Context, commit, replaced <-chan struct{}, alive <-chan time.Time) bool {
	l.events.rest()
	var recheck <-chan time.Time
	if l.recheck {
		timer := time.NewTimer(recheckAfter)
		defer timer.Stop()
		recheck = timer.C
	}
	l.recheck = false
	select {
	case <-commit:
		l.recheck = true
		if !sleep(ctx, gatherFor) {
			return false
		}
	case <-recheck:
	case <-replaced:
	case <-alive:
		l.showAlive()
	case <-l.project.stopping():
		return false
	case <-ctx.Done():
		return false
	}
	for l.events.resume(ctx) != nil { // the server is busy
		if !sleep(ctx, time.Second) {
			return false
		}
	}
	return true
}

// sleep waits for a while. It returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// showAlive adds a comment, with an id if the client knows only an older position, which the log may lose.
func (l *graphqlListener) showAlive() {
	if l.at != l.told {
		l.events.id(l.positions.text(l.at))
		l.told = l.at
	}
	l.events.comment()
}

// deliver adds the events of the next changes. pending says that others follow, and over that the stream is complete.
func (l *graphqlListener) deliver(ctx context.Context, h *graphqlHandler) (pending, over bool, err error) {
	who, err := h.auth.Identify(l.r)
	if err != nil {
		var told *apierror.Error
		if !errors.As(err, &told) {
			return false, false, err
		}
		l.events.lastResult(errorResponse(&language.Error{Message: told.Message, Code: "UNAUTHENTICATED"}))
		return false, true, nil
	}
	ctx = h.withCaller(l.r, who).Context()
	s, refusal := h.engine.Subscribe(ctx, h.request(l.w, l.r, l.op, who))
	if refusal != nil {
		l.events.lastResult(refusal)
		return false, true, nil
	}
	q := changes.Query{Filter: s.Filter, Access: s.Access, Since: l.at, Limit: changesAtOnce}
	var page changes.Page
	err = h.store.View(func(snapshot *store.Snapshot) (err error) {
		snapshot.Within(ctx, l.limits.Handle)
		page, err = changes.Read(snapshot, &q)
		return err
	})
	switch {
	case err != nil:
		return false, false, err
	case page.Reset:
		l.events.lastResult(errorResponse(lostChanges))
		return false, true, nil
	}
	for i := range page.Changes {
		if err := l.answer(ctx, s, &page.Changes[i]); err != nil {
			return false, false, err
		}
	}
	l.at = page.Next
	return page.Pending > 0, false, nil
}

// answer adds the event of a change.
func (l *graphqlListener) answer(ctx context.Context, s *execution.Subscription, c *changes.Change) error {
	if !s.Concerns(c.DocumentID) {
		return nil
	}
	seq := l.positions.text(c.Position)
	answer, err := s.Answer(ctx, &execution.Change{Change: *c, Seq: seq})
	if err != nil {
		return err
	}
	defer answer.Release()
	l.events.result(seq, answer)
	l.at, l.told = c.Position, c.Position
	return nil
}

// replaced returns a channel that is closed when other definitions are served than those that are served now.
func (p *Project) replaced() <-chan struct{} {
	if s := p.server.Load(); s != nil {
		return s.serving.Load().replaced
	}
	return nil
}
