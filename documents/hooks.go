package documents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// Hooks are functions that are called before and after writes; nil ones are skipped. They are called for writes over
// REST, over GraphQL and by a Service in Go. They are not called for Import, which stores content unchanged, nor when
// definitions change.
//
// Hooks before a write are called once, before its transaction begins. They may take their time, read the store, write
// other documents, and change Event.Data, which is validated afterwards like data from a client. An error refuses the
// write; the client gets an *apierror.Error as it is. The store may change until the write is carried out: pass a
// condition that must still hold then to Event.Require.
//
// Hooks after a write are called once, when it is durable and before it is answered; they are not called if it failed.
// The write is not undone if they return an error: the error is logged. Their context does not end with the request.
//
// A create or update that also publishes calls the hooks of the create or update, and then those of the publication.
type Hooks struct {
	BeforeCreate, AfterCreate             Hook
	BeforeUpdate, AfterUpdate             Hook // a new localization of a document is an update
	BeforeDelete, AfterDelete             Hook // AfterDelete is not called if there was nothing to delete
	BeforePublish, AfterPublish           Hook
	BeforeUnpublish, AfterUnpublish       Hook
	BeforeDiscardDraft, AfterDiscardDraft Hook
}

// A Hook is called before or after an action on a document. ctx is the context of the write. A hook that writes must
// pass it on, so that hooks that call each other without end are stopped.
type Hook func(ctx context.Context, e *Event) error

// An Action is a kind of write of a document.
type Action uint8

const (
	CreateAction Action = iota
	UpdateAction
	DeleteAction
	PublishAction
	UnpublishAction
	DiscardDraftAction
	actionCount
)

var actionNames = [actionCount]string{"create", "update", "delete", "publish", "unpublish", "discardDraft"}

// String returns the name of the action in permissions.
func (a Action) String() string { return actionNames[a] }

// hooksOf holds the hooks of a type by action, in the order in which they were added.
type hooksOf struct {
	before, after [actionCount][]Hook
}

func (l *hooksOf) add(h *Hooks) {
	for action, pair := range [actionCount][2]Hook{
		CreateAction:       {h.BeforeCreate, h.AfterCreate},
		UpdateAction:       {h.BeforeUpdate, h.AfterUpdate},
		DeleteAction:       {h.BeforeDelete, h.AfterDelete},
		PublishAction:      {h.BeforePublish, h.AfterPublish},
		UnpublishAction:    {h.BeforeUnpublish, h.AfterUnpublish},
		DiscardDraftAction: {h.BeforeDiscardDraft, h.AfterDiscardDraft},
	} {
		if pair[0] != nil {
			l.before[action] = append(l.before[action], pair[0])
		}
		if pair[1] != nil {
			l.after[action] = append(l.after[action], pair[1])
		}
	}
}

// around reports whether there are hooks before or after an action.
func (l *hooksOf) around(a Action) bool { return len(l.before[a])+len(l.after[a]) > 0 }

// Hook adds hooks for the types with these uids; without any uid, for all types that the project defines. It must be
// called before the service is used.
func (s *Service) Hook(h Hooks, uids ...string) error {
	types, err := hooked(s.model, uids)
	if err != nil {
		return err
	}
	if s.hooks == nil {
		s.hooks = map[string]*hooksOf{}
	}
	for _, t := range types {
		if s.hooks[t.UID] == nil {
			s.hooks[t.UID] = &hooksOf{}
		}
		s.hooks[t.UID].add(&h)
	}
	return nil
}

// hookedBuiltIns are the built-in types that may have hooks.
var hookedBuiltIns = []string{contenttypes.FileUID, contenttypes.UserUID}

// hooked returns the types with these uids.
func hooked(m *contenttypes.Model, uids []string) (types []*contenttypes.ContentType, err error) {
	if len(uids) == 0 {
		for _, t := range m.Types {
			if !t.BuiltIn {
				types = append(types, t)
			}
		}
		return types, nil
	}
	for _, uid := range uids {
		switch t := m.Type(uid); {
		case t == nil:
			err = errors.Join(err, fmt.Errorf("hooks: there is no content-type %q", uid))
		case t.BuiltIn && !slices.Contains(hookedBuiltIns, uid):
			err = errors.Join(err, fmt.Errorf("hooks: none are called for the built-in type %q; there are those of %q",
				uid, hookedBuiltIns))
		default:
			types = append(types, t)
		}
	}
	return types, err
}

// LockHooked locks the schema for writes to a type with hooks. The lock must last from before the hooks run until the
// writes are done; otherwise a change of definitions would repeat the write and its hooks, and the writes of the hooks
// would happen twice. For types without hooks it does nothing.
func (s *Service) LockHooked(ctx context.Context,
	t *contenttypes.ContentType) (locked context.Context, release func(), err error) {
	if s.hooks[t.UID] == nil {
		return ctx, func() {}, nil
	}
	return s.store.LockSchema(ctx)
}

// maxHookDepth is the maximum nesting of hooks. Hooks are nested when a hook writes, and that write calls hooks itself.
const maxHookDepth = 8

type hookDepth struct{}

var errHookDepth = fmt.Errorf("hooks that write set off each other more than %d deep", maxHookDepth)

// before calls the hooks before a write and sets the data of the write to what the hooks made of it. It returns a nil
// Event if the write has no hooks.
func (s *Service) before(ctx context.Context, h *hooksOf, w *Write, action Action) (e *Event, err error) {
	e = &Event{Type: w.Type, DocumentID: w.DocumentID, Status: w.Status, State: map[string]any{}, Data: w.Data,
		service: s, hooks: h}
	body := action == CreateAction || action == UpdateAction
	switch {
	case !w.Type.DraftAndPublish && !body && action != DeleteAction:
		return nil, nil // a type without drafts gets its error later
	case !w.Type.DraftAndPublish:
		e.Status = store.Published
	case body && w.Status == store.Published:
		e.actions = append(e.actions, action, PublishAction)
	}
	if e.actions == nil {
		e.actions = []Action{action}
	}
	if !slices.ContainsFunc(e.actions, h.around) {
		return nil, nil
	}
	if depth, _ := ctx.Value(hookDepth{}).(int); depth >= maxHookDepth {
		return nil, errHookDepth
	}
	if e.Locale, err = s.locale(w, !body); err != nil {
		return nil, err
	}
	if !w.expected {
		if there, err := e.locate(); !there || err != nil {
			return nil, err
		}
	}
	if body {
		// Hooks must not change the caller's data.
		e.Data = jsontree.Clone(w.Data, func(v any) any { return v }).(*jsontree.Object)
	}
	for _, e.Action = range e.actions {
		for _, f := range h.before[e.Action] {
			if err := e.call(ctx, f); err != nil {
				return nil, err
			}
		}
	}
	if body {
		w.Data = e.Data
		if w.Data == nil {
			w.Data = jsontree.NewObject()
		}
		if err := checkKeys(w.Type, w.Data, permission.FullAccess); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// call calls a hook and turns a panic in it into an error.
func (e *Event) call(ctx context.Context, h Hook) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a hook of %s panicked: %v\n%s", e.Type.UID, cause, debug.Stack())
		}
	}()
	depth, _ := ctx.Value(hookDepth{}).(int)
	return h(context.WithValue(ctx, hookDepth{}, depth+1), e)
}

// after calls the hooks after a write. The write must be durable.
func (s *Service) after(ctx context.Context, e *Event) {
	if !e.wrote {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for _, e.Action = range e.actions {
		for _, h := range e.hooks.after[e.Action] {
			if err := e.call(ctx, h); err != nil {
				s.failed(fmt.Errorf("hook after %s of %s %s: %w", e.Action, e.Type.UID, e.DocumentID, err))
			}
		}
	}
}

// failed passes an error of a hook after a write to s.Failed, or logs it. The error is not part of the answer.
func (s *Service) failed(err error) {
	if s.Failed != nil {
		s.Failed(err)
		return
	}
	slog.Error(err.Error())
}
