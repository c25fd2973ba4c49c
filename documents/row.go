package documents

import (
	"math"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Row is a version of a document, or a component in one, that was read: what a Query finds, and what resolvers, policies and
// middlewares of GraphQL get as the parent of a field. All its attributes can be read, private ones too, but no passwords. What
// it leads to by relations and media is not part of it. It may be kept: no snapshot is needed for it.
type Row struct{ record store.Record }

// NewRow returns a Row of a record, which may be used when the record's snapshot has ended.
func NewRow(r store.Record) *Row { return &Row{r.Detached()} }

// RowOf is NewRow for a record that is detached already.
func RowOf(r store.Record) *Row { return &Row{r} }

// Record is the row as the store has it, detached.
func (r *Row) Record() store.Record { return r.record }

// Type is the uid of the row's content-type or component.
func (r *Row) Type() string { return r.record.Schema().UID }

// ID is the number of the row.
func (r *Row) ID() uint64 { return r.record.ID() }

// DocumentID, Locale and Status say which version of which document it is; of components they are empty.
func (r *Row) DocumentID() string   { return r.Text("documentId") }
func (r *Row) Locale() string       { return r.record.Locale() }
func (r *Row) Status() store.Status { return r.record.Status() }

// Text is the value of an attribute that is a text, "" where it is none.
func (r *Row) Text(name string) string { s, _ := r.Get(name).(string); return s }

// Get returns the value of an attribute: a string, bool, int or float64, or what encoding/json makes of JSON. The value of a component
// is a *Row, that of a repeatable component or dynamic zone a []*Row. Get returns nil where there is no value.
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

// plainScalar is a stored value as Go has it.
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
