package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/paced"
	"lectern/shadowcrud/graphql/schema"
)

// recheckCaller is how often the server asks whether the caller of a long answer may still have it.
const recheckCaller = 500 * time.Millisecond

// errAccessChanged ends a long answer.
var errAccessChanged = &apierror.Error{
	Status: http.StatusForbidden, Name: "ForbiddenError", Reason: apierror.Permission,
	Message: "your permissions have changed since the answer began",
}

// A LongAnswer is an answer that may take long, such as a stream of lines or the log that a replica follows. It ends
// when the credential of its caller is no longer valid, or when the permissions of the caller have changed.
type LongAnswer struct {
	Control *http.ResponseController

	mu      sync.Mutex
	begun   bool  // something was sent, or is about to be
	refused error // why the answer had to end; nil as long as it need not
}

// A LongHandler answers a request with a LongAnswer. It writes with the deadlines of that.
type LongHandler func(w http.ResponseWriter, r *http.Request, l *LongAnswer) error

// whileAllowed calls answer, and ends it when its caller may no longer have it.
func (g *guard) whileAllowed(w http.ResponseWriter, r *http.Request, who auth.Principal, answer LongHandler) error {
	s := g.handlers.server
	ctx, end := context.WithCancelCause(r.Context())
	l := &LongAnswer{Control: Control(r.Context(), w)}
	var checking sync.WaitGroup
	defer checking.Wait() // the connection may be used until the answer ends, and no longer
	defer end(nil)
	tick := s.after(recheckCaller)
	checking.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			if err := g.stillAllowed(r, who); err != nil {
				l.refuse(err, end)
				return
			}
			tick = s.after(recheckCaller)
		}
	})
	err := answer(w, r.WithContext(ctx), l)
	if refused := l.refusal(); refused != nil && err != nil {
		l.giveTime(paced.PartTime(s.limits.AnswerRate))
		return refused
	}
	return err
}

// stillAllowed returns an error if the sender of a request is not who they were, or does not have the permissions that
// they had.
func (g *guard) stillAllowed(r *http.Request, who auth.Principal) error {
	authenticate := g.handlers.server.serving.Load().api.Authenticate
	if authenticate == nil {
		return nil
	}
	if caller := schema.CallerOf(r.Context()); caller.HTTP != nil {
		r = caller.HTTP // that the guard has seen: a middleware may hand on another one
	}
	now, err := g.identifyBy(authenticate, r)
	var refused *apierror.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case err != nil: // the credential cannot be checked now
		return nil
	case now.Access != who.Access && !bytes.Equal(now.Access.AppendFingerprint(nil), who.Access.AppendFingerprint(nil)):
		return errAccessChanged
	}
	return nil
}

// refuse ends the answer, also while it waits for its client.
func (l *LongAnswer) refuse(err error, end context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = err
	end(err)
	if l.begun {
		_ = l.Control.SetWriteDeadline(time.Now()) // if the connection has no deadlines, the next part is not written
	}
}

// giveTime gives the client so much time to read why it was refused, if nothing was sent before.
func (l *LongAnswer) giveTime(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		_ = l.Control.SetWriteDeadline(time.Now().Add(d))
	}
}

// refusal returns why the answer had to end, nil if it need not.
func (l *LongAnswer) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// SetWriteDeadline implements paced.Deadline. It fails once the answer must end, so that nothing more is written.
func (l *LongAnswer) SetWriteDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused != nil {
		return l.refused
	}
	l.begun = true
	return l.Control.SetWriteDeadline(t)
}
