package documents

import (
	"context"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// Hooks are functions that are called around writes: nil ones are not. They are called for whoever writes, over REST, over
// GraphQL or by a Service, but not for Import, which takes content as it was.
type Hooks struct {
	BeforeCreate, AfterCreate             Hook
	BeforeUpdate, AfterUpdate             Hook
	BeforeDelete, AfterDelete             Hook
	BeforePublish, AfterPublish           Hook
	BeforeUnpublish, AfterUnpublish       Hook
	BeforeDiscardDraft, AfterDiscardDraft Hook
}

// A Hook is called before or after something is done with a document.
type Hook func(ctx context.Context, e *Event) error

// An Action is what is done with a document.
type Action string

// All actions.
const (
	CreateAction       Action = "create"
	UpdateAction       Action = "update"
	DeleteAction       Action = "delete"
	PublishAction      Action = "publish"
	UnpublishAction    Action = "unpublish"
	DiscardDraftAction Action = "discardDraft"
)

// An Event is what a Hook is told.
type Event struct {
	Action     Action
	Type       *contenttypes.ContentType
	DocumentID string // "" before a create that has one made
	Locale     string // "" where the type is not localized
	Status     store.Status
	Data       *jsontree.Object // of a create or update; a hook before it may change it
	State      map[string]any   // what hooks before a write leave for those after it
}
