package documents

import (
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

// An Event is what a Hook is told. Hooks before and after a write get the same Event, whose Action says what they are called for. It
// must not be used after the hook has returned.
type Event struct {
	Action Action
	Type   *contenttypes.ContentType
	// DocumentID is "" before a create for which none was chosen, and before writes that find their user only in the transaction.
	DocumentID string
	Locale     string           // "" where the type is not localized; "*" where a delete means all
	Status     store.Status     // of the version that is written; without meaning for a delete
	Data       *jsontree.Object // of a create or update: what is written. A hook before it may change it, or replace it
	// State is for hooks before a write to leave what those after it need.
	State map[string]any

	service  *Service
	hooks    *hooksOf
	actions  []Action
	requires []func(*store.Snapshot) error
	wrote    bool // whether the write, when it was last carried out, wrote or deleted anything
}

// Documents is the service that the write is done by, for hooks to write with in turn.
func (e *Event) Documents() *Service { return e.service }

// Require has a condition checked in the transaction of the write, in the very state that the write changes: an error refuses
// the write. It is for hooks before a write. check may be called more than once, since a write that shares its transaction with
// one that fails is carried out again: it must do nothing but look, and be quick, since all writers wait for it.
func (e *Event) Require(check func(*store.Snapshot) error) { e.requires = append(e.requires, check) }

// View calls f with the version of the document that the event is about, if there is one: before a write the version that it
// will change (the draft, where there are drafts, and the published version where that is taken back), after it the one
// that was written, as it is by now. The Record is only valid until f returns; Exists tells whether there is one.
func (e *Event) View(f func(*store.Snapshot, store.Record) error) error {
	return e.service.store.View(func(s *store.Snapshot) error {
		return f(s, e.version(s))
	})
}

func (e *Event) version(s *store.Snapshot) (found store.Record) {
	doc, ok := s.Document(e.Type, e.DocumentID)
	if !ok {
		return found
	}
	status := e.Status
	if !e.wrote && e.Type.DraftAndPublish {
		if status = store.Draft; e.Action == UnpublishAction {
			status = store.Published
		}
	}
	if e.Locale != "*" {
		return s.Version(e.Type, doc, status, e.Locale)
	}
	s.Versions(e.Type, doc, func(r store.Record) bool {
		found = r
		return r.Status() != status
	})
	return found
}

// Values returns the scalar values of the version that View shows, by name, without passwords and without those that are null. It is
// nil where there is no version.
func (e *Event) Values() (values *jsontree.Object, err error) {
	err = e.View(func(_ *store.Snapshot, r store.Record) error {
		if !r.Exists() {
			return nil
		}
		values = jsontree.NewObject()
		for _, a := range e.Type.Attributes {
			if !a.IsScalar() || a.Type == contenttypes.Password {
				continue
			}
			if raw := r.JSON(a); raw != nil {
				values.Set(a.Name, decode(raw))
			}
		}
		return nil
	})
	return values, err
}

// locate finds the document of a write that changes one, so that hooks are not called for a document that does not exist. That is an
// error, except for a delete, which has nothing to do then. A document that is not named yet counts as there.
func (e *Event) locate() (there bool, err error) {
	action := e.actions[0]
	if action == CreateAction || e.DocumentID == "" && e.Type.Kind != contenttypes.SingleType {
		return true, nil
	}
	err = e.service.store.View(func(s *store.Snapshot) (err error) {
		if e.DocumentID != "" {
			_, there = s.Document(e.Type, e.DocumentID)
			return nil
		}
		var doc uint64
		doc, e.DocumentID, err = single(s, e.Type)
		there = doc != 0
		return err
	})
	if err == nil && !there && action != DeleteAction {
		err = apierror.NotFound()
	}
	return there, err
}

// savesSingle tells whether saving the document of a single type creates or updates it.
func (s *Service) savesSingle(t *contenttypes.ContentType) (action Action, err error) {
	err = s.store.View(func(snap *store.Snapshot) error {
		doc, _, err := single(snap, t)
		if doc != 0 {
			action = UpdateAction
		}
		return err
	})
	return action, err
}

// note keeps what was written, for the hooks after the write. It may be called more than once.
func (e *Event) note(wr *writing) {
	e.wrote = wr.doc != 0
	if e.wrote {
		e.DocumentID = wr.id
	}
	switch e.actions[0] {
	case CreateAction, UpdateAction:
		if e.actions[0] = UpdateAction; len(wr.versions) == 0 {
			e.actions[0] = CreateAction
		}
	case DeleteAction:
		e.wrote = wr.removed
	}
}

// met checks the conditions that hooks gave to Require.
func (e *Event) met(s *store.Snapshot) error {
	for _, check := range e.requires {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}
