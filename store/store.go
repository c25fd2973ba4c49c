// Package store keeps documents in one bbolt file.
package store

import (
	"context"

	"lectern/contenttypes"
)

// A Store is one bbolt file with all content of a project. It may be used by any number of goroutines.
type Store struct{}

// Options of Open.
type Options struct {
	// NoIndex …
}

// Open opens or makes the store file at path for a model.
func Open(path string, model *contenttypes.Model, opts Options) (*Store, error) { panic("stub") }

// Close waits for readers and the writer and closes the file.
func (s *Store) Close() error { panic("stub") }

// View calls f with a snapshot. Nothing that f takes out of the snapshot may be used after it returned.
func (s *Store) View(f func(*Snapshot) error) error { panic("stub") }

// Write calls f in the one write transaction there is at a time; the batches that f applied are durable when Write returns
// nil. Several callers may share one transaction and its fsync. f may be called again when another caller's f failed after
// it had applied something, so it must not have effects of its own beyond values that it sets anew each time.
// When f returns an error nothing of it is kept.
func (s *Store) Write(ctx context.Context, f func(*Tx) error) error { panic("stub") }

// A Snapshot is a consistent view of the whole store.
type Snapshot struct{}

// A Page is the answer to a Query.
type Page struct {
	Rows  []Record
	Total int // rows that match, when Query.Count; otherwise -1
}

// Find answers a query.
func (s *Snapshot) Find(q *Query) (Page, error) { panic("stub") }

// FindRelated filters, sorts and cuts what Related shows. q.Type, q.Status and q.Locales are not looked at.
func (s *Snapshot) FindRelated(r Record, a *contenttypes.Attribute, status Status, q *Query) (Page, error) {
	panic("stub")
}

// Matches reports whether a row meets a filter. status is the request's.
func (s *Snapshot) Matches(r Record, f Filter, status Status) bool { panic("stub") }

// Document returns the number of a document of that type by its documentId.
func (s *Snapshot) Document(t *contenttypes.ContentType, documentID string) (doc uint64, ok bool) {
	panic("stub")
}

// DocumentByRow returns the document that the row with numeric id belongs to, and that row's status and locale.
func (s *Snapshot) DocumentByRow(t *contenttypes.ContentType, id uint64) (doc uint64, status Status, locale string, ok bool) {
	panic("stub")
}

// Version returns one version of a document; the zero Record when there is none.
func (s *Snapshot) Version(t *contenttypes.ContentType, doc uint64, status Status, locale string) Record {
	panic("stub")
}

// Versions calls yield with every version of a document, by locale and status.
func (s *Snapshot) Versions(t *contenttypes.ContentType, doc uint64, yield func(Record) bool) {
	panic("stub")
}

// Equal calls yield with the rows of (t, status, locale) whose scalar attribute a (which must be Indexed or system) has
// exactly this value, in order of id: what unique checks need.
func (s *Snapshot) Equal(t *contenttypes.ContentType, status Status, locale string, a *contenttypes.Attribute, value []byte, yield func(Record) bool) {
	panic("stub")
}

// A Tx is the write transaction: a Snapshot that also sees what has been applied in it.
type Tx struct{ Snapshot }

// NewDoc returns the number of a new document; NewRowID the id of a new row of a type; NewComponentID that of a new component.
func (tx *Tx) NewDoc() uint64                              { panic("stub") }
func (tx *Tx) NewRowID(t *contenttypes.ContentType) uint64 { panic("stub") }
func (tx *Tx) NewComponentID() uint64                      { panic("stub") }

// Apply carries out a batch. The transaction sees its effect at once.
func (tx *Tx) Apply(b *Batch) error { panic("stub") }

// A Batch is a list of changes under one sequence number. Applying a batch is the only way the file changes; indexes,
// counts, revisions and the change log follow from it.
type Batch struct{}

// PutRow adds a version or replaces it (same type, document, status, locale).
func (b *Batch) PutRow(r *Row) { panic("stub") }

// DeleteRow removes a version. Links are not touched: delete those that must go.
func (b *Batch) DeleteRow(t *contenttypes.ContentType, doc uint64, status Status, locale string) {
	panic("stub")
}

// PutLink adds a link. To move one, delete it as it stands and put it anew.
func (b *Batch) PutLink(l Link) { panic("stub") }

// DeleteLink removes a link; its positions must be those it is stored with.
func (b *Batch) DeleteLink(l Link) { panic("stub") }

// Log adds an entry to the change log.
func (b *Batch) Log(t *contenttypes.ContentType, documentID string, action Action) { panic("stub") }

// Action is what happened to a document.
type Action uint8

const (
	Created Action = iota
	Updated
	Deleted
	PublishedAction
	Unpublished
)
