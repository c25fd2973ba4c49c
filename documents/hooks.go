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

// Hooks are functions that are called around writes; those that are nil are not. They are called for whoever writes, over REST,
// over GraphQL or by a Service in Go. They are not called for Import, which takes content as it was, nor when definitions change.
//
// What comes before a write is called once for it, before its transaction has begun: it may take its time, read the store, write other
// documents, and change Event.Data, which is then checked like what anybody sends. An error refuses the write; an *apierror.Error is what
// the client is told. The store may change before the write is carried out: a condition that must still hold then is given to
// Event.Require.
//
// What comes after a write is called once it is durable, before it is answered, and not at all where it failed. The write
// stands whatever happens: an error is logged. Its context is not ended by the request's end.
//
// A write that publishes what it creates or updates is both: the hooks of the publication follow those of the create or update.
type Hooks struct {
	BeforeCreate, AfterCreate             Hook
	BeforeUpdate, AfterUpdate             Hook // a new localization of a document is an update
	BeforeDelete, AfterDelete             Hook // AfterDelete is not called where there was nothing to delete
	BeforePublish, AfterPublish           Hook
	BeforeUnpublish, AfterUnpublish       Hook
	BeforeDiscardDraft, AfterDiscardDraft Hook
}

// A Hook is called before or after something is done with a document. The context is that of the write; a hook that writes must
// hand it on, so that hooks which set off each other without end are stopped.
type Hook func(ctx context.Context, e *Event) error

// An Action is what is done with a document.
type Action uint8

// All actions.
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

// String is the name of an action in permissions.
func (a Action) String() string { return actionNames[a] }

// hooksOf holds the hooks of a type, by action and in the order in which they were added.
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

// around reports whether there are any around an action.
func (l *hooksOf) around(a Action) bool { return len(l.before[a])+len(l.after[a]) > 0 }

// Hook adds hooks around the writes of documents of these types; without any uid, of all types that the project defines. It
// must be called before the service is used.
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

// hookedBuiltIns are the built-in types that hooks are called for.
var hookedBuiltIns = []string{contenttypes.FileUID, contenttypes.UserUID}

// hooked are the types of these uids.
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
			err = errors.Join(err, fmt.Errorf("hooks: none are called for the built-in type %q; there are those of %q", uid, hookedBuiltIns))
		default:
			types = append(types, t)
		}
	}
	return types, err
}

// HoldHooked keeps the definitions as they are while documents of a type with hooks are written, from before the hooks run until the
// writes are done. If definitions changed in between, the write would be made anew and the hooks with it, so that what they have
// written themselves would be written twice. For types without hooks it does nothing.
func (s *Service) HoldHooked(ctx context.Context, t *contenttypes.ContentType) (held context.Context, release func(), err error) {
	if s.hooks[t.UID] == nil {
		return ctx, func() {}, nil
	}
	return s.store.LockSchema(ctx)
}

// maxHookDepth is how deep writes of hooks may set off hooks in turn.
const maxHookDepth = 8

type hookDepth struct{}

var errHookDepth = fmt.Errorf("hooks that write set off each other more than %d deep", maxHookDepth)

// before calls the hooks that come before a write, and takes over what they make of its data. The Event is nil where there are no
// hooks around it.
func (s *Service) before(ctx context.Context, h *hooksOf, w *Write, action Action) (e *Event, err error) {
	e = &Event{Type: w.Type, DocumentID: w.DocumentID, Status: w.Status, State: map[string]any{}, Data: w.Data, service: s, hooks: h}
	body := action == CreateAction || action == UpdateAction
	switch {
	case !w.Type.DraftAndPublish && !body && action != DeleteAction:
		return nil, nil // publishing what has no drafts fails later
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
	if there, err := e.locate(); !there || err != nil {
		return nil, err
	}
	if body {
		e.Data = clone(w.Data).(*jsontree.Object)
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

// clone copies a JSON value, so that what hooks change is not what the caller holds.
func clone(v any) any {
	switch v := v.(type) {
	case *jsontree.Object:
		o := jsontree.NewObjectOf(len(v.Keys))
		for _, k := range v.Keys {
			o.Set(k, clone(v.Value(k)))
		}
		return o
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = clone(item)
		}
		return list
	}
	return v
}

// call calls a hook, and makes an error of a panic in it.
func (e *Event) call(ctx context.Context, h Hook) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("a hook of %s panicked: %v\n%s", e.Type.UID, fault, debug.Stack())
		}
	}()
	depth, _ := ctx.Value(hookDepth{}).(int)
	return h(context.WithValue(ctx, hookDepth{}, depth+1), e)
}

// after calls the hooks that come after a write, which is durable.
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

// failed tells of an error that nobody can be told as the answer to a request.
func (s *Service) failed(err error) {
	if s.Failed != nil {
		s.Failed(err)
		return
	}
	slog.Error(err.Error())
}
