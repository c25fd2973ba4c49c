package documents

import (
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// An Event describes a write to its hooks. All hooks before and after the write get the same Event; Action is the
// action that they are called for. A hook must not use the Event after it has returned.
type Event struct {
	Action Action
	Type   *contenttypes.ContentType
	// DocumentID is "" before a create without a chosen documentId that is carried out alone, and before writes that
	// look up their user in the transaction.
	DocumentID string
	Locale     string           // "" if the type is not localized; "*" if a delete removes all localizations
	Status     store.Status     // of the version that is written; meaningless for a delete
	Data       *jsontree.Object // data of a create or update; a hook before the write may change or replace it
	// State passes values from hooks before a write to those after it.
	State map[string]any

	service  *Service
	hooks    *hooksOf
	actions  []Action
	requires []func(*store.Snapshot) error
	wrote    bool // whether the last attempt of the write wrote or deleted anything
}

// Documents returns the service that does the write. Hooks use it to write other documents.
func (e *Event) Documents() *Service { return e.service }

// Require adds a condition that is checked in the transaction of the write, on the state that the write changes. If
// check returns an error, the write is refused. Only hooks before a write may call Require. check may be called several
// times, because a write is repeated if another one in its transaction fails. It must only read, and be quick, since
// all writers wait for it.
func (e *Event) Require(check func(*store.Snapshot) error) { e.requires = append(e.requires, check) }

// View calls f with the version of the document that the write is about, if there is one. Before the write, that is the
// version to be changed: the draft if the type has drafts, or the published version for an unpublication. After it, it
// is the version that was written. The Record is valid until f returns; use Exists to see whether there is one.
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

// Values returns the scalar values of the version that View shows, by name, without passwords and nulls. It is nil if
// there is no version.
func (e *Event) Values() (data *jsontree.Object, err error) {
	err = e.View(func(_ *store.Snapshot, r store.Record) error {
		if !r.Exists() {
			return nil
		}
		data = jsontree.NewObject()
		for _, a := range e.Type.Attributes {
			if !a.IsScalar() || a.Type == contenttypes.Password {
				continue
			}
			if raw := r.JSON(a); raw != nil {
				data.Set(a.Name, values.Decode(raw))
			}
		}
		return nil
	})
	return data, err
}

// locate looks up the document that a write changes, so that hooks are not called for one that does not exist. A
// missing document is an error, except for a delete, which then has nothing to do. A document whose id is only known in
// the transaction counts as present.
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
		doc, e.DocumentID, err = Single(s, e.Type)
		there = doc != 0
		return err
	})
	if err == nil && !there && action != DeleteAction {
		err = apierror.NotFound()
	}
	return there, err
}

// singleAction returns the action of saving the document of a single type: a create if there is none yet, otherwise an
// update.
func (s *Service) singleAction(t *contenttypes.ContentType) (action Action, err error) {
	err = s.store.View(func(snap *store.Snapshot) error {
		doc, _, err := Single(snap, t)
		if doc != 0 {
			action = UpdateAction
		}
		return err
	})
	return action, err
}

// record stores the result of the write for the hooks after it. It may be called more than once.
func (e *Event) record(wr *writing) {
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

// checkRequired returns the error of the first failed condition that a hook passed to Require.
func (e *Event) checkRequired(s *store.Snapshot) error {
	for _, check := range e.requires {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}
