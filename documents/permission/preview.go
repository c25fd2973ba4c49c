package permission

import (
	"slices"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// PreviewAction is the action of types with drafts that makes previews of documents.
const PreviewAction = "preview"

// A preview is the one document that an Access for a preview is about.
type preview struct {
	of       *contenttypes.ContentType
	document store.Filter
}

// Preview returns the Access of a preview of a document of t that somebody with the Access a has made. It shows that
// document alone, of which it reads drafts unless a query asks for the published version, and of other documents those
// that a shows behind its relations. It allows no action but reading.
func (a *Access) Preview(t *contenttypes.ContentType, documentID string) *Access {
	return &Access{all: a.all, actions: a.actions, narrow: a.narrow, rules: a.rules, preview: &preview{of: t, document: store.Compare{
		Attr: t.Attribute("documentId"), Op: store.Eq, Values: []any{documentID}}}}
}

// IsPreview reports whether the Access is that of a preview.
func (a *Access) IsPreview() bool { return a.preview != nil }

// Previews reports whether the Access is that of a preview of a document of t.
func (a *Access) Previews(t *contenttypes.ContentType) bool {
	return a.preview != nil && a.preview.of == t
}

// Named returns the condition that a document of t must meet to be found by a request that names t. It returns nil if
// there is none. What the request finds behind relations need not meet it.
func (a *Access) Named(t *contenttypes.ContentType) store.Filter {
	switch {
	case a.preview == nil:
		return nil
	case a.preview.of != t:
		return nothing
	}
	if l := a.LimitOf(t, PreviewAction); l != nil {
		return store.And{a.preview.document, l.Where}
	}
	return a.preview.document
}

// previewed are the actions that a preview allows.
var previewed = []string{"find", "findOne", FindDrafts}

// allows reports whether the preview allows an action that the one who made it may use.
func (p *preview) allows(g grant) bool {
	return g.subject == p.of.UID && slices.Contains(previewed, g.action)
}

// appendTo appends which document the preview shows.
func (p *preview) appendTo(text []byte) []byte {
	return append(append(text, " preview of "+p.of.UID+" "...),
		jsontree.AppendString(nil, p.document.(store.Compare).Values[0].(string))...)
}
