package documents

import (
	"context"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Prepared is a write for which everything has been done that needs no transaction: its keys were checked, the hooks before it
// called, and its passwords hashed.
type Prepared struct {
	write  Write
	locale string
	hashes map[string]string
	event  *Event // nil where there are no hooks for it
}

// Prepare makes a create or update ready for a Transaction to carry out: it checks the keys and hashes the passwords, which takes long.
// No hooks are called around it.
func (s *Service) Prepare(ctx context.Context, w Write) (*Prepared, error) {
	return s.prepare(ctx, w, UpdateAction, nil)
}

// PrepareHooked is Prepare for a write with hooks around it: a create, update or delete. Those before it are called now, so this
// must not be called within a Transaction.
func (s *Service) PrepareHooked(ctx context.Context, action Action, w Write) (*Prepared, error) {
	h := s.hooks[w.Type.UID]
	if h == nil {
		return s.prepare(ctx, w, action, nil)
	}
	return s.prepare(ctx, w, action, func(w *Write) (*Event, error) { return s.before(ctx, h, w, action) })
}

// prepare prepares a write; before, when set, calls the hooks before it once it is known that its sender may write such keys.
func (s *Service) prepare(ctx context.Context, w Write, action Action, before func(*Write) (*Event, error)) (*Prepared, error) {
	p := &Prepared{write: w}
	body := action == CreateAction || action == UpdateAction
	if body {
		if w.Data == nil {
			p.write.Data = jsontree.NewObject()
		}
		if err := checkKeys(w.Type, p.write.Data, w.Access); err != nil {
			return nil, err
		}
		if err := s.Limits.check(w.Type, p.write.Data); err != nil {
			return nil, err
		}
	}
	var err error
	if before != nil {
		if p.event, err = before(&p.write); err != nil {
			return nil, err
		}
	}
	if body {
		if p.hashes, err = hashPasswords(ctx, &w.Type.Schema, p.write.Data); err != nil {
			return nil, err
		}
	}
	if p.locale, err = s.locale(&w, !body); err == nil {
		err = s.takesLocale(p.locale, action)
	}
	return p, err
}

// run computes a prepared write in a transaction and applies it.
func (s *Service) run(tx *store.Tx, p *Prepared, compute func(*writing) error) error {
	wr := &writing{s: s, tx: tx, w: &p.write, t: p.write.Type, locale: p.locale, hashes: p.hashes}
	if p.event != nil {
		if err := p.event.met(tx.Snapshot); err != nil {
			return err
		}
	}
	if err := compute(wr); err != nil {
		return err
	}
	if p.event != nil {
		p.event.note(wr)
	}
	return wr.apply()
}

// A Transaction carries out several writes as one: all of them or none, and nobody sees some of them. Its Snapshot shows what
// it has written so far, so that a condition checked in it still holds when the write that depends on it is made.
type Transaction struct {
	*store.Snapshot
	service *Service
	tx      *store.Tx
	done    []*Prepared
}

// Transact calls f in the one write transaction there is at a time, and keeps what it wrote when it returns nil. f may be
// called more than once: it must not have effects beyond values that it sets anew each time.
func (s *Service) Transact(ctx context.Context, f func(*Transaction) error) error {
	var done []*Prepared
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		t := &Transaction{Snapshot: tx.Snapshot, service: s, tx: tx}
		err := f(t)
		done = t.done
		return err
	})
	return s.afterAll(ctx, done, err)
}

// afterAll calls the hooks that come after writes which were carried out together, unless there is an error, which it returns.
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

// Create makes a document.
func (t *Transaction) Create(p *Prepared) error {
	return t.run(p, (*writing).saveNew)
}

// Update changes the document with that documentId, whichever the prepared write names.
func (t *Transaction) Update(documentID string, p *Prepared) error {
	named := *p
	named.write.DocumentID = documentID
	return t.run(&named, (*writing).saveFound)
}

// Delete removes all of a document, without any hooks. Removing what is not there is no error.
func (t *Transaction) Delete(typ *contenttypes.ContentType, documentID string) error {
	p := &Prepared{write: Write{Type: typ, DocumentID: documentID}}
	if typ.Localized {
		p.locale = "*"
	}
	return t.run(p, (*writing).removeFound)
}

// Remove carries out a prepared delete.
func (t *Transaction) Remove(p *Prepared) error { return t.run(p, (*writing).removeFound) }
