package schema

import (
	"fmt"

	"github.com/graphql-go/graphql"

	"lectern/documents"
	"lectern/store"
)

// A Document names a version of a document. A resolver returns one, or a list of them, where the schema has the type of the
// document; the engine then reads all that a level of the answer names together, and what is asked of them, as of any other.
// What leads on from them is held to what the caller may see; that he may see the documents themselves is for the resolver, and
// the Auth of its field, to know. Where there is no such version the value is null, in lists nothing.
type Document struct {
	Type       string // its uid: api::article.article
	DocumentID string
	Locale     string       // empty: the default locale
	Status     store.Status // published, where nothing is said
}

// DocumentOf names the version that a record is.
func DocumentOf(r store.Record) Document {
	t := r.Type()
	return Document{Type: t.UID, DocumentID: documents.RowOf(r).DocumentID(), Locale: r.Locale(), Status: r.Status()}
}

// A Row is a version of a document, or a component in one, that the engine has read: what resolvers, policies and middlewares
// of its fields get as parent, and what next returns where a field leads to documents.
type Row = documents.Row

// ParentOf is the document or component that a field with a resolver belongs to. It is an error where there is none: another resolver
// has answered with values of its own, a map or a struct, where the schema has a type of documents.
func ParentOf(p graphql.ResolveParams) (*Row, error) {
	if row, ok := p.Source.(*Row); ok && row != nil {
		return row, nil
	}
	return nil, fmt.Errorf("%s.%s is computed of a document, and its parent is a %T: let what answers that return a schema.Document or a *schema.Row",
		p.Info.ParentType.Name(), p.Info.FieldName, p.Source)
}

// A Page is what next returns of a connection: the documents of the page that was asked for, and where it stands. The numbers are
// those of all documents only where the operation asks for pageInfo.
type Page struct {
	Nodes                            []*Row
	Total, Page, PageSize, PageCount int
}

// Resolve returns the nodes and the pageInfo.
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
