package rest

import (
	"context"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// Seen returns the id and the locale of a document that a caller reads: its draft or its published version, in a
// locale, the default one if that is "". The id of a single type's document is known. Of a document that the caller
// does not see it returns an error, as the route that reads it does.
func (a *API) Seen(ctx context.Context, t *contenttypes.ContentType, documentID, locale string,
	access *permission.Access) (id, code string, err error) {
	action, single := "findOne", t.Kind == contenttypes.SingleType
	if single {
		action = "find"
	}
	if !access.Allows(t, action) {
		return "", "", apierror.Forbidden()
	}
	for _, status := range []string{"draft", "published"} {
		if status == "draft" && !t.DraftAndPublish {
			continue
		}
		asked := jsontree.ObjectOf("status", status)
		if locale != "" {
			asked.Set("locale", locale)
		}
		one, wrong := a.params.One(t, asked, access)
		if err = wrong; err != nil {
			continue // a caller who may not read drafts may read what is published
		}
		err = a.store.View(func(s *store.Snapshot) error {
			s.Within(ctx, 0)
			if single {
				documentID, _ = s.Only(t)
			}
			doc, exists := s.Document(t, documentID)
			if !exists {
				return apierror.NotFound()
			}
			row := s.FindVersion(doc, &one.Query)
			if !row.Exists() {
				return apierror.NotFound()
			}
			id, code = row.DocumentID(), row.Locale()
			return nil
		})
		if id != "" {
			return id, code, nil
		}
	}
	return "", "", err
}
