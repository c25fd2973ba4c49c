package documents

import (
	"context"
	"errors"
	"net/http"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

// A Prepared is a write that is ready for a transaction: its keys are checked, the hooks before it were called, and its
// passwords are hashed.
type Prepared struct {
	write  Write
	action Action
	locale string
	hashes map[string]string
	event  *Event // nil if it has no hooks
}

// Prepare prepares a create or update for a Transaction: it checks the keys and hashes the passwords, which is slow. It
// calls no hooks.
func (s *Service) Prepare(ctx context.Context, w Write) (*Prepared, error) {
	return s.prepare(ctx, w, UpdateAction, nil)
}

// PrepareHooked prepares any write, with hooks. It calls the hooks before the write, so it must not be called within a
// Transaction.
func (s *Service) PrepareHooked(ctx context.Context, action Action, w Write) (*Prepared, error) {
	h := s.hooks[w.Type.UID]
	if h == nil {
		return s.prepare(ctx, w, action, nil)
	}
	return s.prepare(ctx, w, action, func(w *Write) (*Event, error) { return s.before(ctx, h, w, action) })
}

// prepare prepares a write. before, if set, calls the hooks before the write after the keys are checked.
func (s *Service) prepare(ctx context.Context, w Write, action Action,
	before func(*Write) (*Event, error)) (*Prepared, error) {
	p := &Prepared{write: w, action: action}
	body := action == CreateAction || action == UpdateAction
	if body {
		if w.Status == store.Published && w.rules() != nil && !w.rules().Publishes(w.Type) {
			return nil, errPublishes
		}
		if w.Data == nil {
			p.write.Data = jsontree.NewObject()
		}
		var err error
		if !w.KeysHeld {
			p.write.Data, err = sentData(w.Type, p.write.Data, p.limit())
		}
		if err != nil {
			return nil, err
		}
		if err := checkKeys(w.Type, p.write.Data, w.Access); err != nil {
			return nil, err
		}
		if err := s.Limits.check(w.Type, p.write.Data); err != nil {
			return nil, err
		}
		setData(p.write.Data, p.limit())
	}
	var err error
	if before != nil && w.rules() != nil && w.rules().HasRules() {
		// No hook hears of a write of a document that is outside the rules of its caller.
		if p.locale, err = s.locale(&w, !body); err != nil {
			return nil, err
		}
		err = s.store.View(func(snap *store.Snapshot) error { return s.permits(snap, p) })
		switch {
		case errors.Is(err, errHidden):
			before = nil
		case err != nil:
			return nil, err
		}
	}
	if before != nil {
		if p.event, err = before(&p.write); err != nil {
			return nil, err
		}
	}
	if p.hashes = w.hashes; body && w.hashes == nil {
		if p.hashes, err = hashPasswords(ctx, s.Passwords, &w.Type.Schema, p.write.Data); err != nil {
			return nil, err
		}
	}
	if p.locale, err = s.locale(&w, !body); err == nil {
		err = s.checkLocale(p.locale, action)
	}
	return p, err
}

// run computes a prepared write in a transaction and applies it.
func (s *Service) run(tx *store.Tx, p *Prepared, compute func(*writing) error) error {
	wr, err := s.compute(tx, p, compute)
	if err != nil {
		return err
	}
	return wr.apply()
}

// compute computes a prepared write in a transaction. It changes nothing.
func (s *Service) compute(tx *store.Tx, p *Prepared, compute func(*writing) error) (*writing, error) {
	wr := &writing{s: s, tx: tx, w: &p.write, t: p.write.Type, locale: p.locale, hashes: p.hashes}
	if p.event != nil {
		if err := p.event.checkRequired(tx.Snapshot); err != nil {
			return nil, err
		}
	}
	wr.limit, wr.publishing = p.limit(), p.publishing()
	if err := s.permits(tx.Snapshot, p); errors.Is(err, errHidden) {
		return s.computeHidden(tx, p, wr)
	} else if err != nil {
		return nil, err
	}
	if missing, err := s.checkPrecondition(tx, &p.write, p.locale); err != nil {
		var without *apierror.Error
		if missing && p.write.DocumentID != "" && errors.As(compute(wr), &without) &&
			without.Status == http.StatusNotFound {
			return nil, without // a document that is missing for any request
		}
		return nil, err
	}
	if err := compute(wr); err != nil {
		return nil, err
	}
	if err := wr.checkTouched(); err != nil {
		return nil, err
	}
	if p.event != nil {
		p.event.record(wr)
	}
	return wr, nil
}

// computeHidden computes a write of a document that is hidden from its caller, as one of a missing document.
func (s *Service) computeHidden(tx *store.Tx, p *Prepared, wr *writing) (*writing, error) {
	if p.action != DeleteAction {
		return nil, apierror.NotFound()
	}
	if _, err := s.checkPrecondition(tx, s.demandOf(tx.Snapshot, &p.write, p), p.locale); err != nil {
		return nil, err
	}
	return wr, nil
}

// A Transaction carries out several writes together: either all or none become visible, and the log has one entry for
// all of them. Its Snapshot shows its own writes, so that a condition checked in it still holds for the writes that
// depend on it.
type Transaction struct {
	*store.Snapshot
	service *Service
	tx      *store.Tx
	done    []*Prepared
}

// Transact calls f in a write transaction and commits the writes if f returns nil. There is one write transaction at a
// time. f may be called more than once: its only effects may be values that it sets anew each time.
func (s *Service) Transact(ctx context.Context, f func(*Transaction) error) error {
	return s.TransactOnce(ctx, nil, f)
}

// TransactOnce is Transact for writes that must not be carried out twice, as store.WriteOnce is for one write. once may
// be nil.
func (s *Service) TransactOnce(ctx context.Context, once *store.Once, f func(*Transaction) error) error {
	var done []*Prepared
	err := s.store.WriteOnce(ctx, once, func(tx *store.Tx) error {
		t := &Transaction{Snapshot: tx.Snapshot, service: s, tx: tx}
		err := tx.Together(func() error { return f(t) })
		done = t.done
		return err
	})
	return s.afterAll(ctx, done, err)
}

// afterAll calls the hooks after several writes, unless err is not nil, and returns err.
func (s *Service) afterAll(ctx context.Context, list []*Prepared, err error) error {
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.event != nil {
			s.after(ctx, p.event)
		}
	}
	return nil
}

func (t *Transaction) run(p *Prepared, compute func(*writing) error) error {
	if p.event != nil {
		t.done = append(t.done, p)
	}
	return t.service.run(t.tx, p, compute)
}

// Create carries out a prepared create.
func (t *Transaction) Create(p *Prepared) error {
	return t.run(p, (*writing).saveNew)
}

// Update carries out a prepared update on the document with this documentId; it ignores the one in the prepared write.
func (t *Transaction) Update(documentID string, p *Prepared) error {
	named := *p
	named.write.DocumentID = documentID
	return t.run(&named, (*writing).saveFound)
}

// DeleteUnhooked deletes all versions of a document without calling hooks. A missing document is no error.
func (t *Transaction) DeleteUnhooked(typ *contenttypes.ContentType, documentID string) error {
	p := &Prepared{write: Write{Type: typ, DocumentID: documentID}}
	if typ.Localized {
		p.locale = "*"
	}
	return t.run(p, (*writing).removeFound)
}

// Delete carries out a prepared delete. A missing document is no error.
func (t *Transaction) Delete(p *Prepared) error { return t.run(p, (*writing).removeFound) }

// Permits is Service.Permits for a prepared write.
func (t *Transaction) Permits(p *Prepared) error { return t.service.permitted(t.Snapshot, p) }
