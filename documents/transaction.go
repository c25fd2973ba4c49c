package documents

import (
	"context"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Prepared is a write of which everything is done that needs no transaction: its keys are checked and its passwords hashed.
type Prepared struct {
	write  Write
	locale string
	hashes map[string]string
}

// Prepare checks the keys of a create or update and hashes its passwords, which takes long, for a Transaction to carry it out.
func (s *Service) Prepare(ctx context.Context, w Write) (*Prepared, error) {
	return s.prepare(ctx, w, true)
}

func (s *Service) prepare(ctx context.Context, w Write, body bool) (*Prepared, error) {
	p := &Prepared{write: w}
	if body {
		if w.Data == nil {
			p.write.Data = jsontree.NewObject()
		}
		if err := checkKeys(w.Type, p.write.Data, w.Access); err != nil {
			return nil, err
		}
		var err error
		if p.hashes, err = hashPasswords(ctx, &w.Type.Schema, p.write.Data); err != nil {
			return nil, err
		}
	}
	var err error
	p.locale, err = s.locale(&w, !body)
	return p, err
}

// run computes a prepared write in a transaction and applies it.
func (s *Service) run(tx *store.Tx, p *Prepared, compute func(*writing) error) error {
	wr := &writing{s: s, tx: tx, w: &p.write, t: p.write.Type, locale: p.locale, hashes: p.hashes}
	if err := compute(wr); err != nil {
		return err
	}
	return wr.apply()
}

// A Transaction carries out several writes as one: all of them or none, and nobody sees some of them. Its Snapshot shows what
// it has written so far, so that a condition checked in it still holds when the write that depends on it is made.
type Transaction struct {
	*store.Snapshot
	service *Service
	tx      *store.Tx
}

// Transact calls f in the one write transaction there is at a time, and keeps what it wrote when it returns nil. f may be
// called more than once: it must not have effects beyond values that it sets anew each time.
func (s *Service) Transact(ctx context.Context, f func(*Transaction) error) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		return f(&Transaction{Snapshot: tx.Snapshot, service: s, tx: tx})
	})
}

// Create makes a document.
func (t *Transaction) Create(p *Prepared) error {
	return t.service.run(t.tx, p, (*writing).saveNew)
}

// Update changes the document with that documentId, whichever the prepared write names.
func (t *Transaction) Update(documentID string, p *Prepared) error {
	named := *p
	named.write.DocumentID = documentID
	return t.service.run(t.tx, &named, (*writing).saveFound)
}

// Delete removes all of a document. Removing what is not there is no error.
func (t *Transaction) Delete(typ *contenttypes.ContentType, documentID string) error {
	p := &Prepared{write: Write{Type: typ, DocumentID: documentID}}
	if typ.Localized {
		p.locale = "*"
	}
	return t.service.run(t.tx, p, (*writing).removeFound)
}
