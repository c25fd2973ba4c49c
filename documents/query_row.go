package documents

import (
	"math"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Row is a version of a document, or a component, that was read from the store. Queries return Rows, and resolvers,
// policies and middleware of GraphQL get them as the parent of a field. All attributes can be read except passwords;
// targets of relations and media are not part of it. A Row needs no snapshot and may be stored.
type Row struct{ record store.Record }

// NewRow returns a Row for a record. The Row may be used after the record's snapshot has ended.
func NewRow(r store.Record) *Row { return &Row{r.Detached()} }

// RowOf returns a Row for a record that is already detached from its snapshot.
func RowOf(r store.Record) *Row { return &Row{r} }

// Record returns the row as a record of the store, detached from its snapshot.
func (r *Row) Record() store.Record { return r.record }

// Type returns the uid of the row's content-type or component.
func (r *Row) Type() string { return r.record.Schema().UID }

// ID returns the id of the row.
func (r *Row) ID() uint64 { return r.record.ID() }

// DocumentID, Locale and Status identify the version of a document; they are empty for components.
func (r *Row) DocumentID() string   { return r.Text("documentId") }
func (r *Row) Locale() string       { return r.record.Locale() }
func (r *Row) Status() store.Status { return r.record.Status() }

// Text returns the string value of an attribute, "" for any other value.
func (r *Row) Text(name string) string { s, _ := r.Get(name).(string); return s }

// Get returns the value of an attribute: a string, bool, int or float64, or for JSON a value as encoding/json decodes
// it. The value of a component is a *Row, that of a repeatable component or dynamic zone a []*Row. Get returns nil if
// there is no value.
func (r *Row) Get(name string) any {
	a := r.record.Schema().Attribute(name)
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

// plainScalar returns a stored value as a Go value.
func plainScalar(a *contenttypes.Attribute, raw []byte) any {
	if raw == nil {
		return nil
	}
	tree, err := jsontree.Parse(raw, jsontree.MaxDepth)
	if err != nil {
		return nil
	}
	v := jsontree.Plain(tree)
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
