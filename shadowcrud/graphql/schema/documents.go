package schema

import (
	"math"
	"strconv"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Document names a version of a document. A resolver returns one, or a list of them, where the schema has the type of the
// document; the engine then reads all that a level of the answer names together, and what is asked of them, as of any other.
// What leads on from them is held to what the asker may see; that he may see the documents themselves is for the resolver, and
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
	id, _ := plainJSON(r.JSON(t.Attribute("documentId"))).(string)
	return Document{Type: t.UID, DocumentID: id, Locale: r.Locale(), Status: r.Status()}
}

// A Row is a version of a document, or a component in one, that the engine has read: what resolvers, policies and middlewares
// of its fields get as parent, and what next returns where a field leads to documents. All its attributes can be read, private
// ones too, but no passwords. What it leads to by relations and media is not part of it. It may be kept.
type Row struct{ record store.Record }

// NewRow returns a Row of a record, which may be used when the record's snapshot has ended.
func NewRow(r store.Record) *Row { return &Row{r.Detached()} }

// RowOf is NewRow for a record that is detached already.
func RowOf(r store.Record) *Row { return &Row{r} }

// Record is the row as the store has it, detached.
func (r *Row) Record() store.Record { return r.record }

// Type is the uid of the row's content-type or component.
func (r *Row) Type() string { return r.schema().UID }

// ID is the number of the row.
func (r *Row) ID() uint64 { return r.record.ID() }

// DocumentID, Locale and Status say which version of which document it is; of components they are empty.
func (r *Row) DocumentID() string   { s, _ := r.Get("documentId").(string); return s }
func (r *Row) Locale() string       { return r.record.Locale() }
func (r *Row) Status() store.Status { return r.record.Status() }

func (r *Row) schema() *contenttypes.Schema {
	if c := r.record.Component(); c != nil {
		return &c.Schema
	}
	return &r.record.Type().Schema
}

// Get returns the value of an attribute: text, bool, int, float64, what encoding/json makes of JSON; of a component a *Row, of
// several and of dynamic zones a []*Row. It is nil where there is none.
func (r *Row) Get(name string) any {
	a := r.schema().Attribute(name)
	switch {
	case a == nil || a.Type == contenttypes.Password || a.IsRelation():
		return nil
	case a.IsScalar():
		return plainScalar(a, r.record.JSON(a))
	}
	items := []*Row{}
	r.record.Each(a, func(item store.Record) bool {
		items = append(items, &Row{item})
		return true
	})
	switch {
	case a.Type == contenttypes.DynamicZone || a.Repeatable:
		return items
	case len(items) > 0:
		return items[0]
	}
	return nil
}

// Resolve returns the value of the attribute that has the name of a field.
func (r *Row) Resolve(p graphql.ResolveParams) (any, error) { return r.Get(p.Info.FieldName), nil }

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

var (
	_ graphql.FieldResolver = (*Row)(nil)
	_ graphql.FieldResolver = (*Page)(nil)
)

// plainScalar is a stored value as Go has it.
func plainScalar(a *contenttypes.Attribute, raw []byte) any {
	v := plainJSON(raw)
	switch a.Type {
	case contenttypes.ID, contenttypes.Integer:
		if f, ok := v.(float64); ok && f == math.Trunc(f) {
			return int(f)
		}
	case contenttypes.BigInteger:
		if s, ok := v.(string); ok {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return n
			}
		}
	}
	return v
}

func plainJSON(raw []byte) any {
	if raw == nil {
		return nil
	}
	v, err := jsontree.Parse(raw, jsontree.MaxDepth)
	if err != nil {
		return nil
	}
	return Plain(v)
}

// Plain is a jsontree value as encoding/json would have read it.
func Plain(v any) any {
	switch v := v.(type) {
	case jsontree.Number:
		return v.Float()
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Plain(item)
		}
		return list
	case *jsontree.Object:
		m := make(map[string]any, len(v.Keys))
		for _, key := range v.Keys {
			m[key] = Plain(v.Value(key))
		}
		return m
	}
	return v
}
