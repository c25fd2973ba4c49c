// Package documents is the document service: what a write means (validation, drafts, locales, components, relations) and
// what a read may see.
//
// A document is a documentId with up to one row per locale and version (draft, published). A write of a type with draft &
// publish changes the draft and, unless only the draft is meant, publishes it: the published row becomes a copy. A write is
// computed as a whole, from one state of the store into one batch, and only then applied, so a refused one leaves nothing
// behind.
//
// Reading the source: service.go lists the verbs, writing.go what they share, save.go creates and updates, publish.go
// publishes. input.go reads a body, relationinput.go the relations in it; scalar.go and its neighbours cast values; links.go and
// order.go edit the lists of links. transaction.go makes several writes one.
package documents

import (
	"context"
	"errors"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// A Service writes documents. Reads go to the store's snapshots directly.
type Service struct {
	// Now is the clock; tests may set it.
	Now func() time.Time
	// Failed is told of errors of hooks after a write; nil writes them to slog.Default.
	Failed func(error)
	// Limits bound each write; they must be set before the service is used.
	Limits Limits
	// Retired are the codes of locales that the configuration had and has no more. Documents get no content in them: Create, Update and
	// Publish are an Error 400. What is there can be read, unpublished and deleted.
	Retired map[string]bool

	store         *store.Store
	model         *contenttypes.Model
	defaultLocale string
	owning        map[string][]*contenttypes.Attribute // by uid of a type: the attributes whose links may point at it
	hooks         map[string]*hooksOf                  // by uid; nil where there are none at all
}

// NewService returns the service of a store that was opened for model.
func NewService(st *store.Store, model *contenttypes.Model, defaultLocale string) *Service {
	return &Service{
		Now:           time.Now,
		store:         st,
		model:         model,
		defaultLocale: defaultLocale,
		owning:        owningAttributes(model),
	}
}

// A Write is a create, update, delete or publication.
type Write struct {
	Type       *contenttypes.ContentType
	DocumentID string           // for Create: the documentId to use, "" to have one made
	Data       *jsontree.Object // the body's data
	Status     store.Status     // Published: write the draft and publish it; without effect on types without drafts
	Locale     string           // "" is the default locale; "*" only for Delete; without effect on types that are not localized
	Access     *permission.Access

	// After, when set, is called inside the transaction with the version that was written (the published one when Status is
	// Published), so that the answer shows exactly that. It may be called more than once: it must begin anew each time.
	After func(*store.Snapshot, store.Record) error
}

// Create makes a document.
func (s *Service) Create(ctx context.Context, w Write) error {
	return s.write(ctx, w, CreateAction, (*writing).saveNew)
}

// Update changes a document partially, or adds the localization w.Locale to it. A missing document is an Error 404.
func (s *Service) Update(ctx context.Context, w Write) error {
	return s.write(ctx, w, UpdateAction, (*writing).saveFound)
}

// SaveSingle updates the document of a single type, and makes it (or the localization) when there is none.
func (s *Service) SaveSingle(ctx context.Context, w Write) error {
	action := UpdateAction
	if s.hooks[w.Type.UID] != nil {
		var err error
		if action, err = s.savesSingle(w.Type); err != nil {
			return err
		}
	}
	return s.write(ctx, w, action, func(wr *writing) error {
		doc, id, err := single(wr.tx.Snapshot, wr.t)
		if err != nil {
			return err
		}
		if doc == 0 {
			wr.create(wr.tx.NewDoc(), newDocumentID())
		} else {
			wr.begin(doc, id)
		}
		return wr.save()
	})
}

// Delete removes a localization, or with Locale "*" all of them, draft and published. Removing nothing is no error. The
// document of a single type is found without w.DocumentID.
func (s *Service) Delete(ctx context.Context, w Write) error {
	return s.write(ctx, w, DeleteAction, (*writing).removeFound)
}

// DeleteEach is Delete for several localizations at once; w.Locale is not looked at.
func (s *Service) DeleteEach(ctx context.Context, w Write, locales []string) error {
	ctx, release, err := s.HoldHooked(ctx, w.Type)
	if err != nil {
		return err
	}
	defer release()
	list := make([]*Prepared, len(locales))
	for i, locale := range locales {
		w.Locale = locale
		if list[i], err = s.PrepareHooked(ctx, DeleteAction, w); err != nil {
			return err
		}
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		for _, p := range list {
			if err := s.run(tx, p, (*writing).removeFound); err != nil {
				return err
			}
		}
		return nil
	})
	return s.afterAll(ctx, list, err)
}

// Publish publishes the draft as it is. A missing draft is an Error 404, and so is a type without drafts.
func (s *Service) Publish(ctx context.Context, w Write) error {
	w.Status = store.Published
	return s.transition(ctx, w, PublishAction, (*writing).publishDraft)
}

// Unpublish removes the published version. A missing one is an Error 404.
func (s *Service) Unpublish(ctx context.Context, w Write) error {
	w.Status = store.Draft
	return s.transition(ctx, w, UnpublishAction, (*writing).unpublish)
}

// DiscardDraft makes the draft a copy of the published version. A missing published version is an Error 404.
func (s *Service) DiscardDraft(ctx context.Context, w Write) error {
	w.Status = store.Draft
	return s.transition(ctx, w, DiscardDraftAction, (*writing).discardDraft)
}

func (s *Service) transition(ctx context.Context, w Write, action Action, f func(*writing) error) error {
	return s.write(ctx, w, action, func(wr *writing) error {
		if !w.Type.DraftAndPublish {
			return apierror.NotFound()
		}
		if wr.locale == "*" {
			return localeError(wr.locale)
		}
		if err := wr.find(); err != nil {
			return err
		}
		return f(wr)
	})
}

// write checks what can be checked without a transaction and calls the hooks before the write; computes, applies and shows it in one
// transaction; and calls the hooks after it.
func (s *Service) write(ctx context.Context, w Write, action Action, compute func(*writing) error) error {
	ctx, release, err := s.HoldHooked(ctx, w.Type)
	if err != nil {
		return err
	}
	defer release()
	p, err := s.PrepareHooked(ctx, action, w)
	if err != nil {
		return err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error { return s.run(tx, p, compute) })
	switch {
	case errors.Is(err, store.ErrTooManyLocales):
		return localeError(w.Locale)
	case err == nil && p.event != nil:
		s.after(ctx, p.event)
	}
	return err
}

// Model is what the service was made for.
func (s *Service) Model() *contenttypes.Model { return s.model }

// locale is the localization that a write means, "" for a type that has none.
func (s *Service) locale(w *Write, all bool) (string, error) {
	switch {
	case !w.Type.Localized:
		return "", nil
	case w.Locale == "":
		return s.defaultLocale, nil
	case !all && (w.Locale == "*" || len(w.Locale) > maxLocale):
		return "", localeError(w.Locale)
	}
	return w.Locale, nil
}

// takesLocale refuses content in a locale that was retired.
func (s *Service) takesLocale(locale string, action Action) error {
	if s.Retired[locale] && (action == CreateAction || action == UpdateAction || action == PublishAction) {
		return apierror.Validation("Locale " + locale + " is not available")
	}
	return nil
}

// maxLocale bounds the length of a locale code.
const maxLocale = 64

func localeError(code string) *apierror.Error {
	return apierror.Validation("Invalid locale param " + code + " provided. Document locales must be strings.")
}
