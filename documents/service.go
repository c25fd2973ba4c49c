// Package documents is the document service: what a write means (validation, drafts, locales, components, relations) and
// what a read may see.
package documents

import (
	"context"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Service writes documents. Reads go to the store's snapshots directly.
type Service struct {
	store         *store.Store
	model         *contenttypes.Model
	defaultLocale string
}

// NewService returns the service of a store that was opened for model.
func NewService(st *store.Store, model *contenttypes.Model, defaultLocale string) *Service {
	return &Service{st, model, defaultLocale}
}

// A Write is a create, update, delete or publication.
type Write struct {
	Type       *contenttypes.ContentType
	DocumentID string           // "" for Create
	Data       *jsontree.Object // the body's data
	Status     store.Status     // Published: write the draft and publish it; without effect on types without drafts
	Locale     string           // "" is the default locale; "*" only for Delete; without effect on types that are not localized
	Access     *Access

	// After, when set, is called inside the transaction with the version that was written (the published one when Status is
	// Published), so that the answer shows exactly that. It may be called more than once: it must begin anew each time.
	After func(*store.Snapshot, store.Record) error
}

// Create makes a document.
func (s *Service) Create(ctx context.Context, w Write) error { panic("stub") }

// Update changes a document partially, or adds the localization w.Locale to it. A missing document is an Error 404.
func (s *Service) Update(ctx context.Context, w Write) error { panic("stub") }

// Delete removes a localization, or with Locale "*" all of them, draft and published. Removing nothing is no error.
func (s *Service) Delete(ctx context.Context, w Write) error { panic("stub") }

// SaveSingle updates the document of a single type, and makes it (or the localization) when there is none.
func (s *Service) SaveSingle(ctx context.Context, w Write) error { panic("stub") }

// Publish publishes the draft as it is; Unpublish removes the published version; DiscardDraft makes the draft a copy of the
// published version. A missing version is an Error 404.
func (s *Service) Publish(ctx context.Context, w Write) error      { panic("stub") }
func (s *Service) Unpublish(ctx context.Context, w Write) error    { panic("stub") }
func (s *Service) DiscardDraft(ctx context.Context, w Write) error { panic("stub") }
