package schema

import (
	"fmt"

	"github.com/graphql-go/graphql"

	"lectern/documents"
	"lectern/store"
)

// A Document names a version of a document. A resolver returns one, or a list of them, if the type of its field shows
// documents. The engine then reads the documents, all those of one level of the answer together. The resolver and the
// Auth of its field decide whether the caller may see the documents; the engine only checks that the caller may follow
// relations from them. A version that does not exist becomes null, and is left out of lists.
type Document struct {
	Type       string // the uid of its type: api::article.article
	DocumentID string
	Locale     string       // empty: the default locale
	Status     store.Status // published by default
}

// DocumentOf names the version that a record holds.
func DocumentOf(r store.Record) Document {
	t := r.Type()
	return Document{Type: t.UID, DocumentID: documents.RowOf(r).DocumentID(), Locale: r.Locale(), Status: r.Status()}
}

// A Row is a version of a document, or a component of one, that the engine has read. Resolvers, policies and
// middlewares of its fields get it as their parent. In a middleware, next returns a Row, or a list of them, for a field
// that shows documents.
type Row = documents.Row

// ParentOf returns the document or component that a field with a resolver belongs to. It returns an error if the parent
// is a map or struct that another resolver returned in place of a document.
func ParentOf(p graphql.ResolveParams) (*Row, error) {
	if row, ok := p.Source.(*Row); ok && row != nil {
		return row, nil
	}
	return nil, fmt.Errorf(
		"%s.%s is computed of a document, and its parent is a %T: "+
			"let what answers that return a schema.Document or a *schema.Row",
		p.Info.ParentType.Name(), p.Info.FieldName, p.Source)
}

// A Page is the value of a connection, as next returns it to a middleware: the documents of the requested page, and its
// position. The total number of documents is counted only if the operation selects pageInfo.
type Page struct {
	Nodes                            []*Row
	Total, Page, PageSize, PageCount int
}

// Resolve returns the value of the field nodes or pageInfo. It implements graphql.FieldResolver.
func (p *Page) Resolve(of graphql.ResolveParams) (any, error) {
	switch of.Info.FieldName {
	case "nodes":
		return p.Nodes, nil
	case "pageInfo":
		return map[string]any{"total": p.Total, "page": p.Page, "pageSize": p.PageSize, "pageCount": p.PageCount}, nil
	}
	return nil, nil
}

var _ graphql.FieldResolver = (*Page)(nil)
