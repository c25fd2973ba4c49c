package documents

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/passwords"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// A Service writes documents. Reads use the store's snapshots directly. Once its fields are set and its hooks added, it
// is safe for concurrent use.
type Service struct {
	// Now is the clock; tests may replace it.
	Now func() time.Time
	// Failed is called with errors of hooks after a write; nil logs them to slog.Default.
	Failed func(error)
	// Limits limits each write; set it before the service is used.
	Limits WriteLimits
	// Passwords hashes the passwords in bodies, a few at a time; NewService makes one for the service. Services that
	// clients share have one together: set it before the service is used.
	Passwords *passwords.Hasher
	// Retired is the set of locales that were removed from the configuration. Create, Update and Publish in such a
	// locale return an Error 400; its content can still be read, unpublished and deleted.
	Retired map[string]bool
	// Scheduled is called after schedules were written; it may be nil. It must not block.
	Scheduled func()

	store         *store.Store
	model         *contenttypes.Model
	defaultLocale string
	owning        map[string][]*contenttypes.Attribute // by uid of a type: the attributes whose links may point at its documents
	showing       map[string]*store.Showing            // by uid
	hooks         map[string]*hooksOf                  // by uid; nil if there are none at all
	schedules     schedules
	importing     *semaphore.Weighted // held by the import that runs
	documentIDs   documentIDs
}

// NewService returns the service for a store that was opened with model.
func NewService(st *store.Store, model *contenttypes.Model, defaultLocale string) *Service {
	return &Service{
		Now:           time.Now,
		Passwords:     passwords.NewHasher(passwords.Cost),
		store:         st,
		model:         model,
		defaultLocale: defaultLocale,
		owning:        owningAttributes(model),
		showing:       showingTypes(model),
		schedules:     schedulesOf(model),
		importing:     semaphore.NewWeighted(1),
	}
}

// A Write holds the arguments of a create, update, delete or publication.
type Write struct {
	Type       *contenttypes.ContentType
	DocumentID string           // for Create: the documentId to use, "" to generate one
	Data       *jsontree.Object // data of the body
	Status     store.Status     // Published writes the draft and publishes it; no effect on types without drafts
	Locale     string           // "" means the default locale; "*" is for Delete only; no effect on types that are not localized
	Access     *permission.Access
	Rules      *permission.Access // whose rules limit the write; nil: those of Access
	KeysHeld   bool               // the keys of Data were held to the rules, and others were added since
	Timing     *Timing            // for Publish and Unpublish: when; nil means now
	If         *Precondition      // an Error 412 unless it holds; nil: no demand
	Once       *store.Once        // keeps the answer, so that the write is not carried out twice; nil for writes without an idempotency key

	// Notes are changed in the transaction of the write. They tell the nodes of a cluster which files there are.
	Notes []Note

	// Ready, if set, is called by Update when the hooks before the write have accepted it, before the transaction. An
	// error refuses the write. It returns more Notes.
	Ready func() ([]Note, error)

	// After, if set, is called inside the transaction with the version that was written (the published one if Status is
	// Published), to print it for the answer. It may be called again and must then start from the beginning.
	After func(*store.Snapshot, store.Record) error

	hashes   map[string]string // the hashes of the passwords in Data, if they are known
	restores bool              // the data is a past version
	expected bool              // an earlier write of the same transaction creates the document
}

// A Note is a note of the store (store.Tx.PutNote), or one that is removed if Value is nil.
type Note struct {
	Name  string
	Value []byte
}

// Create creates a document.
func (s *Service) Create(ctx context.Context, w Write) error {
	return s.write(ctx, w, CreateAction, (*writing).saveNew)
}

// Update changes the attributes in w.Data of a document, or adds the localization w.Locale to it. A missing document is
// an Error 404.
func (s *Service) Update(ctx context.Context, w Write) error {
	return s.write(ctx, w, UpdateAction, (*writing).saveFound)
}

// SaveSingle updates the document of a single type, and creates it, or its localization, if there is none.
func (s *Service) SaveSingle(ctx context.Context, w Write) error {
	action := UpdateAction
	if s.hooks[w.Type.UID] != nil {
		var err error
		if action, err = s.singleAction(w.Type); err != nil {
			return err
		}
	}
	return s.write(ctx, w, action, (*writing).saveSingle)
}

// Delete deletes a localization, or all of them if w.Locale is "*", with draft and published version. If there is
// nothing to delete, it does nothing. For a single type it needs no w.DocumentID.
func (s *Service) Delete(ctx context.Context, w Write) error {
	return s.write(ctx, w, DeleteAction, (*writing).removeFound)
}

// DeleteEach deletes several localizations at once. It ignores w.Locale. w.If is demanded of all of them together.
func (s *Service) DeleteEach(ctx context.Context, w Write, locales []string) error {
	ctx, release, err := s.LockHooked(ctx, w.Type)
	if err != nil {
		return err
	}
	defer release()
	list := make([]*Prepared, len(locales))
	for i, locale := range locales {
		each := w
		each.Locale, each.If = locale, nil
		if list[i], err = s.PrepareHooked(ctx, DeleteAction, each); err != nil {
			return err
		}
	}
	err = s.store.WriteOnce(ctx, w.Once, func(tx *store.Tx) error {
		if _, err := s.checkPrecondition(tx, s.demandOf(tx.Snapshot, &w, list...), locales...); err != nil {
			return err
		}
		return tx.Together(func() error {
			for _, p := range list {
				if err := s.run(tx, p, (*writing).removeFound); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return s.afterAll(ctx, list, togetherError(err))
}

// Publish publishes the draft unchanged. A missing draft is an Error 404, and so is a type without drafts.
//
// With Timing.PublishAt it schedules the publication instead. With Timing.UnpublishAt it also schedules the
// unpublication, in the same batch.
func (s *Service) Publish(ctx context.Context, w Write) error {
	w.Status = store.Published
	return s.timed(ctx, w, PublishAction)
}

// Unpublish deletes the published version. A missing one is an Error 404. With Timing.UnpublishAt it schedules that
// instead, for a document that may be published only later.
func (s *Service) Unpublish(ctx context.Context, w Write) error {
	w.Status = store.Draft
	return s.timed(ctx, w, UnpublishAction)
}

// DiscardDraft replaces the draft by a copy of the published version. A missing published version is an Error 404.
func (s *Service) DiscardDraft(ctx context.Context, w Write) error {
	w.Status = store.Draft
	return s.transition(ctx, w, DiscardDraftAction, (*writing).discardDraft)
}

func (s *Service) transition(ctx context.Context, w Write, action Action, f func(*writing) error) error {
	return s.write(ctx, w, action, inTransition(f))
}

// inTransition returns the computation of a publication, or of another step between draft and published version: it
// looks up the document, which must be of a type with drafts, and calls f.
func inTransition(f func(*writing) error) func(*writing) error {
	return func(wr *writing) error {
		if !wr.t.DraftAndPublish {
			return apierror.NotFound()
		}
		if wr.locale == "*" {
			return localeError(wr.locale)
		}
		if err := wr.find(); err != nil {
			return err
		}
		return f(wr)
	}
}

// write carries out a write: it checks the data and calls the hooks before the write, then computes, applies and shows
// it in one transaction, and then calls the hooks after the write.
func (s *Service) write(ctx context.Context, w Write, action Action, compute func(*writing) error) error {
	ctx, release, err := s.LockHooked(ctx, w.Type)
	if err != nil {
		return err
	}
	defer release()
	p, err := s.PrepareHooked(ctx, action, w)
	if err == nil && w.Ready != nil {
		var notes []Note
		notes, err = w.Ready()
		p.write.Notes = slices.Concat(w.Notes, notes)
	}
	if err != nil {
		return err
	}
	err = s.store.WriteOnce(ctx, w.Once, func(tx *store.Tx) error { return s.run(tx, p, compute) })
	switch {
	case errors.Is(err, store.ErrTooManyLocales):
		return localeError(w.Locale)
	case errors.Is(err, store.ErrTooLarge):
		return togetherError(err)
	case err == nil && p.event != nil:
		s.after(ctx, p.event)
	}
	return err
}

// Model, Store and DefaultLocale return what NewService was given.
func (s *Service) Model() *contenttypes.Model { return s.model }
func (s *Service) Store() *store.Store        { return s.store }
func (s *Service) DefaultLocale() string      { return s.defaultLocale }

// locale returns the localization of a write, "" for a type that is not localized.
func (s *Service) locale(w *Write, all bool) (string, error) {
	switch {
	case !w.Type.Localized:
		return "", nil
	case w.Locale == "":
		return s.defaultLocale, nil
	case !all && (w.Locale == "*" || len(w.Locale) > MaxLocale):
		return "", localeError(w.Locale)
	}
	return w.Locale, nil
}

// checkLocale returns an error for a write of content in a retired locale.
func (s *Service) checkLocale(locale string, action Action) error {
	if s.Retired[locale] && (action == CreateAction || action == UpdateAction || action == PublishAction) {
		return apierror.Validation("Locale " + locale + " is not available")
	}
	return nil
}

// MaxLocale is the maximum length of a locale code.
const MaxLocale = 64

func localeError(code string) *apierror.Error {
	return apierror.Validation("Invalid locale param " + code + " provided. Document locales must be strings.")
}
