package graphqlhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/gateway/internal/feed"
	"lectern/gateway/internal/server"
	"lectern/internal/accept"
	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/language"
	"lectern/store"
)

// Operations are answered as a stream of events if the client asks for that, as the "distinct connections mode" of
// graphql-sse says: each result is an event next, and an event complete follows the last one. A subscription has a
// result for each change. Errors of an operation that cannot run are a result, too, because clients see nothing else of
// an answer that is no stream.

// stream answers an operation with a stream of events.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, op *operation, who auth.Principal) error {
	request := h.request(w, r, accept.Events, op, who)
	s, answer := h.Engine.Subscribe(h.WithCaller(r, who).Context(), request)
	if s == nil && answer == nil {
		var err error
		if answer, err = h.Engine.Execute(h.WithCaller(r, who).Context(), request); err != nil {
			return err
		}
		defer answer.Release()
	}
	if answer != nil && !h.hasLost(r, s) {
		h.done(op, answer)
		if answer.NotByGet {
			h.send(w, r, accept.JSON, answer)
			return nil
		}
		h.streamOne(w, r, answer)
		return nil
	}
	if h.NoLog {
		h.streamOne(w, r, errorResponse(noLog))
		return nil
	}
	at, err := h.since(r, s)
	if errors.Is(err, errLostChanges) {
		h.streamOne(w, r, errorResponse(lostChanges))
		return nil
	} else if err != nil {
		return err
	}
	kept := h.newSubscription(w, r, op, s)
	place, err := h.Subscribers.Admit(w, r, s.Conditions, kept.bytes())
	if err != nil {
		return err
	}
	h.done(op, &execution.Response{Status: http.StatusOK, Operation: "subscription"})
	return h.Subscribers.Serve(w, r, feed.NewSubscriber(place, kept, at, aliveEvery))
}

// hasLost reports whether the client of a subscription goes on from a position at which it had documents. s is nil if
// it cannot be told which of them it has lost.
func (h *Handler) hasLost(r *http.Request, s *execution.Subscription) bool {
	if s == nil || h.NoLog {
		return false
	}
	at, err := h.Positions.Parse(r.Header.Get("Last-Event-ID"))
	return err == nil && at.HasTypes()
}

// since returns the position after which the client of a subscription wants changes.
func (h *Handler) since(r *http.Request, s *execution.Subscription) (at changes.Position, err error) {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if at, err = h.Positions.Parse(last); err != nil {
			return at, errLostChanges
		}
		return at, nil
	}
	q := changes.Query{Filter: s.Filter, Access: s.Access}
	err = h.Store.View(func(snapshot *store.Snapshot) (err error) {
		at, err = changes.Now(snapshot, &q)
		return err
	})
	return at, err
}

// streamOne answers with one result.
func (h *Handler) streamOne(w http.ResponseWriter, r *http.Request, answer *execution.Response) {
	feed.SetEventHeaders(w.Header())
	e := eventWriter{feed.NewEventWriter(func(text []byte) error { return h.Limits.Send(r.Context(), w, text) })}
	e.Comment()
	e.lastResult(answer)
	_ = e.Flush() // it fails only if the client is gone
}

// An eventWriter writes the results of operations as events.
type eventWriter struct{ *feed.EventWriter }

// result adds an event with the result of an operation.
func (e eventWriter) result(id string, answer *execution.Response) {
	e.Event("next", id, bytes.TrimSuffix(answer.Body, lineFeed))
}

// lastResult adds a result, and says that no other follows.
func (e eventWriter) lastResult(answer *execution.Response) {
	e.result("", answer)
	e.Event("complete", "", nil)
}

var lineFeed = []byte{'\n'}

const (
	// changesAtOnce is how many changes a subscription reads in one snapshot.
	changesAtOnce = 100
	// aliveEvery is how often a silent client is sent a heartbeat, as graphql-sse does. The server also finds out then
	// whether the credential has expired.
	aliveEvery = 12 * time.Second
)

// noLog is the error of a subscription where the store keeps no log.
var noLog = &language.Error{Code: "CHANGES_LOST",
	Message: "There are no changes to subscribe to, since the store keeps no log (log.keep: 0 in config/server.yaml)."}

// lostChanges is the error of a subscription that cannot go on from its position.
var lostChanges = &language.Error{Code: "CHANGES_LOST",
	Message: "The log does not have all changes since then. Read the documents again, and subscribe without Last-Event-ID."}

var errLostChanges = errors.New("the position of a subscription is unknown")

// errorResponse returns the result of an operation that cannot run.
func errorResponse(e *language.Error) *execution.Response {
	errs := []*language.Error{e}
	return &execution.Response{Status: http.StatusOK, Body: append(language.AppendErrors([]byte{'{'}, errs), '}'),
		Errors: errs}
}

// A subscription delivers the results of a GraphQL subscription. Before each page of changes it authenticates the
// caller and checks the operation again, with the permissions and definitions of that time. Between pages it holds no
// snapshot and no plan.
//
// It keeps what the operation needs and shares no memory with the request, which may be far larger.
type subscription struct {
	serving   func() *Handler // the handler that answers requests now; nil while GraphQL is switched off
	request   *http.Request   // what authenticates the caller, and what code of a program may want to know
	id        string          // of the request
	query     string
	name      *string
	variables []byte // those that the operation declares, as JSON; nil: none
}

// newSubscription returns what is kept of the request of a subscription.
func (h *Handler) newSubscription(w http.ResponseWriter, r *http.Request, op *operation,
	s *execution.Subscription) *subscription {
	kept := &subscription{serving: h.Serving, id: w.Header().Get(server.RequestID), query: strings.Clone(op.query)}
	if op.name != nil {
		name := strings.Clone(*op.name)
		kept.name = &name
	}
	if declared := s.Declared(op.variables); len(declared.Keys) > 0 {
		kept.variables = bytes.Clone(jsontree.Append(nil, declared))
	}
	kept.request = &http.Request{Method: strings.Clone(r.Method), URL: &url.URL{Path: strings.Clone(r.URL.Path)},
		Proto: strings.Clone(r.Proto), ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: feed.CloneHeaders(r.Header, "Authorization"), Body: http.NoBody, Host: strings.Clone(r.Host),
		RemoteAddr: r.RemoteAddr}
	if h.Extended {
		kept.request.Header = feed.CloneHeaders(r.Header, slices.Collect(maps.Keys(r.Header))...)
		kept.request.URL.RawQuery = strings.Clone(r.URL.RawQuery)
	}
	return kept
}

// bytes returns how many bytes are kept.
func (s *subscription) bytes() int {
	n := len(s.query) + len(s.variables) + budget.OfHeaders(s.request.Header) + len(s.request.URL.Path) +
		len(s.request.URL.RawQuery) + len(s.request.Host)
	if s.name != nil {
		n += len(*s.name)
	}
	return n
}

// operation returns the operation. memory is for its variables.
func (s *subscription) operation(memory *budget.Tally) (*operation, error) {
	op := &operation{query: s.query, hasQuery: true, name: s.name}
	if s.variables == nil {
		return op, nil
	}
	v, err := jsontree.ParseWithin(s.variables, jsontree.MaxDepth, memory)
	if err == nil {
		err = memory.Add(variableCopies * memory.Counted())
	}
	if server.IsMemory(err) {
		return nil, err
	}
	op.variables, _ = v.(*jsontree.Object)
	return op, nil
}

// Deliver implements feed.Delivery. The stream ends without an event complete if GraphQL was switched off, so that
// clients connect again.
func (s *subscription) Deliver(ctx context.Context, _ *feed.Feed, to *feed.Subscriber,
	send func([]byte) error) (more bool, err error) {
	h := s.serving()
	if h == nil {
		return false, io.EOF
	}
	events := eventWriter{feed.NewEventWriter(send)}
	more, err = s.deliverPage(ctx, h, to, events)
	if failed := events.Flush(); failed != nil {
		return false, failed
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("subscription of request %s: %w", s.id, err)
	}
	return more, err
}

// deliverPage adds the events of the next changes. It returns io.EOF after the last event of a stream.
func (s *subscription) deliverPage(ctx context.Context, h *Handler, to *feed.Subscriber,
	events eventWriter) (more bool, err error) {
	r := s.request.WithContext(ctx)
	who, err := h.Authenticate(r)
	if err != nil {
		var refusal *apierror.Error
		if !errors.As(err, &refusal) {
			return false, err
		}
		events.lastResult(errorResponse(&language.Error{Message: refusal.Message, Code: "UNAUTHENTICATED"}))
		return false, io.EOF
	}
	memory := h.Memory.Tally()
	defer memory.Release()
	op, err := s.operation(&memory)
	if err != nil {
		return false, err
	}
	ctx = store.WithPrincipal(h.WithCaller(r, who).Context(), server.RecordedAs(who))
	checked, refusal := h.Engine.Subscribe(ctx, h.requestAs(s.id, r, op, who))
	if checked == nil && refusal.Status == http.StatusServiceUnavailable {
		return false, budget.ErrExhausted // the client subscribes again
	}
	if checked == nil {
		events.lastResult(refusal)
		return false, io.EOF
	}
	q := changes.Query{Filter: checked.Filter, Access: checked.Access, Since: to.Since, Limit: changesAtOnce}
	var page changes.Page
	err = h.Store.View(func(snapshot *store.Snapshot) (err error) {
		snapshot.Within(ctx, h.Limits.Handle)
		page, err = changes.Read(snapshot, &q)
		return err
	})
	switch {
	case err != nil:
		return false, err
	case page.Reset:
		events.lastResult(cmp.Or(refusal, errorResponse(lostChanges)))
		return false, io.EOF
	}
	for i := range page.Changes {
		if err := h.addResult(ctx, to, checked, &page.Changes[i], events); err != nil {
			return false, err
		}
	}
	to.Since = page.Next
	if refusal != nil && !to.Since.HasTypes() { // the client knows what it has lost
		events.lastResult(refusal)
		return false, io.EOF
	}
	return page.Pending > 0, nil
}

// addResult adds the result of a change, if the subscription asks for it.
func (h *Handler) addResult(ctx context.Context, to *feed.Subscriber, s *execution.Subscription, c *changes.Change,
	events eventWriter) error {
	if !s.Concerns(c.DocumentID) {
		return nil
	}
	seq := h.Positions.Text(c.Position)
	answer, err := s.Answer(ctx, &execution.Change{Change: *c, Seq: seq})
	if err != nil {
		return err
	}
	defer answer.Release()
	events.result(seq, answer)
	to.Since, to.Sent = c.Position, c.Position
	return nil
}
