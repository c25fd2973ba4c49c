package store

import (
	"bytes"
	"fmt"
	"strconv"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// A Record is a stored version of a document, or a component inside one. It refers to the memory of the file and is
// valid until its Snapshot ends. The zero Record stands for "none"; all its attributes are null.
type Record struct {
	table *table
	slot  format.Slot // set only if the record is a document
	doc   uint64
	snap  *Snapshot
	data  []byte
}

// Has reports whether the layout of r has a stored attribute. Rows that were written before the attribute was added do
// not have it.
func (r Record) Has(a *contenttypes.Attribute) bool {
	return r.data != nil && r.table.pos[a.Index] >= 0
}

// Exists reports whether r is not the zero Record.
func (r Record) Exists() bool { return r.data != nil }

// Size returns how many bytes r takes in the file, the components inside it included.
func (r Record) Size() int { return len(r.data) }

// Type returns the content-type of a document, or nil if r is a component.
func (r Record) Type() *contenttypes.ContentType { return r.table.bound.typ }

// Component returns the definition of a component, or nil if r is a document.
func (r Record) Component() *contenttypes.Component { return r.table.bound.comp }

// Schema returns the schema of r, which is that of its content-type or component.
func (r Record) Schema() *contenttypes.Schema { return r.table.bound.schema }

// Doc returns the number of the document of which r is a version, or 0 if r is a component.
func (r Record) Doc() uint64 { return r.doc }

// DocumentID returns the documentId of a document.
func (r Record) DocumentID() string {
	return string(format.Unquote(r.JSON(r.table.bound.system.documentID)))
}

// Status returns the status of r: draft or published.
func (r Record) Status() Status { return r.slot.Status() }

// Locale returns the locale of r, "" if its type is not localized.
func (r Record) Locale() string { return r.snap.localeCode(r.slot.Locale()) }

// ID returns the numeric id of r, as shown in responses.
func (r Record) ID() uint64 { return be.Uint64(r.data[4:]) }

// JSON returns the stored JSON text of a scalar attribute, or nil if it is null. The attribute may be a system
// attribute such as id, documentId or createdAt.
func (r Record) JSON(a *contenttypes.Attribute) []byte {
	f := r.field(a)
	if len(f) == 0 {
		return nil
	}
	return f
}

// AppendFields appends scalar attributes as members of a JSON object, with their stored JSON, separated by commas. If
// first is false, it begins with a comma.
func (r Record) AppendFields(b []byte, attrs []*contenttypes.Attribute, first bool) []byte {
	ends, payload := r.parts()
	for _, a := range attrs {
		key := a.JSONKey()
		if first {
			key, first = key[1:], false
		}
		b = append(b, key...)
		if start, end := format.FieldSpan(ends, r.table.pos[a.Index]); start < end {
			b = append(b, payload[start:end]...)
		} else {
			b = append(b, "null"...)
		}
	}
	return b
}

// A Member is a member of a JSON object: a key, and the scalar attribute that gives its value.
type Member struct {
	Key  string // JSON text, including quotes and colon
	Attr *contenttypes.Attribute
	// NonNull says that the value must not be null. Max is the maximum length of the value's JSON in bytes; 0 is no
	// limit.
	NonNull bool
	Max     int
}

// AppendMembers appends members of a JSON object with their stored values, separated by commas. If first is false, it
// begins with a comma. It stops before a member whose value is too long, or null although NonNull is set, and returns
// how many members it appended.
func (r *Record) AppendMembers(b []byte, members []Member, first bool) ([]byte, int) {
	ends, payload := r.parts()
	for i := range members {
		m := &members[i]
		start, end := format.FieldSpan(ends, r.table.pos[m.Attr.Index])
		if start == end && m.NonNull || m.Max > 0 && int(end-start) > m.Max {
			return b, i
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, m.Key...)
		if start < end {
			b = append(b, payload[start:end]...)
		} else {
			b = append(b, "null"...)
		}
	}
	return b, len(members)
}

// field returns the encoded value of a stored attribute, empty for null.
func (r *Record) field(a *contenttypes.Attribute) []byte {
	if r.data == nil {
		return nil
	}
	ends, payload := r.parts()
	start, end := format.FieldSpan(ends, r.table.pos[a.Index])
	return payload[start:end]
}

// parts returns the directory of r, which holds the end of each field, and the fields.
func (r *Record) parts() (ends, payload []byte) {
	ends = r.data[format.RowHeader:]
	return ends, ends[4*r.table.fields:]
}

// Each calls yield with the items of a component or dynamic zone attribute in order, until yield returns false. A
// single component counts as a list of at most one item.
func (r Record) Each(a *contenttypes.Attribute, yield func(Record) bool) {
	f := r.field(a)
	if len(f) < 4 {
		return
	}
	n := int(be.Uint32(f[len(f)-4:]))
	items := f[4*n : len(f)-4]
	start := uint32(0)
	for i := range n {
		end := be.Uint32(f[4*i:])
		item := items[start:end]
		start = end
		t := r.snap.bound.tables[be.Uint16(item)]
		if t.bound == nil {
			continue // the definition of the component was removed
		}
		if !yield(Record{table: t, slot: r.slot, snap: r.snap, data: item}) {
			return
		}
	}
}

// eachComponent calls yield with each component of r, and with those inside them, until yield returns false. r may be
// the zero Record.
func (r Record) eachComponent(yield func(Record) bool) (all bool) {
	if !r.Exists() {
		return true
	}
	all = true
	for _, a := range r.Schema().Attributes {
		if a.IsScalar() || a.IsRelation() {
			continue
		}
		r.Each(a, func(c Record) bool {
			all = yield(c) && c.eachComponent(yield)
			return all
		})
		if !all {
			return false
		}
	}
	return true
}

// Detached returns a copy of r that can be read after its Snapshot has ended.
func (r Record) Detached() Record {
	r.data = bytes.Clone(r.data)
	return r
}

// Ref returns the Ref that links use for r: the document and localization of r, or the component.
func (r Record) Ref() Ref {
	b := r.table.bound
	if b.typ == nil {
		return Ref{Type: b.schema.UID, Doc: r.ID()}
	}
	return Ref{Type: b.schema.UID, Doc: r.doc, Locale: r.Locale()}
}

func (r Record) ref() format.End {
	if r.table.bound.typ == nil {
		return format.End{Schema: r.table.bound.number, Doc: r.ID()}
	}
	return format.End{Schema: r.table.bound.number, Locale: r.slot.Locale(), Doc: r.doc}
}

// A Value is the value of one attribute in a row to be written. A scalar has JSON (nil is null); a component attribute
// or zone has Items.
type Value struct {
	JSON  []byte
	Items []*Item
}

// An Item is a component to be written.
type Item struct {
	Component *contenttypes.Component
	ID        uint64
	Values    []Value // by Attribute.Index; values of relations are ignored
}

// A Row is a version of a document to be written.
type Row struct {
	Type   *contenttypes.ContentType
	Doc    uint64
	Status Status
	Locale string  // "" if the type is not localized
	Values []Value // by Attribute.Index, system attributes included; values of relations are ignored
}

// Decode returns a record as a Row, to be changed and written with PutRow. It shares no memory with the file.
func (r Record) Decode() *Row {
	return &Row{Type: r.Type(), Doc: r.doc, Status: r.Status(), Locale: r.Locale(), Values: r.decodeValues()}
}

func (r Record) decodeValues() []Value {
	schema := r.table.bound.schema
	values := make([]Value, len(schema.Attributes))
	for i, a := range schema.Attributes {
		switch {
		case a.IsScalar():
			values[i].JSON = bytes.Clone(r.JSON(a))
		case a.IsStored():
			r.Each(a, func(item Record) bool {
				values[i].Items = append(values[i].Items,
					&Item{Component: item.Component(), ID: item.ID(), Values: item.decodeValues()})
				return true
			})
		}
	}
	return values
}

// appendRecord encodes the values of a row or component in the newest layout of its schema.
func appendRecord(b []byte, bind *binding, schema *contenttypes.Schema, id uint64, values []Value) ([]byte, error) {
	s := bind.of(schema)
	if s == nil || len(values) != len(schema.Attributes) {
		return nil, fmt.Errorf("encode %s: %d values for %d attributes", schema.UID, len(values),
			len(schema.Attributes))
	}
	t := s.current
	b = be.AppendUint16(b, t.number)
	b = be.AppendUint16(b, uint16(t.fields))
	b = be.AppendUint64(b, id)
	ends := len(b)
	b = append(b, make([]byte, 4*t.fields)...)
	start := len(b)
	var err error
	for i, a := range schema.Attributes {
		p := t.pos[i]
		if p < 0 {
			continue
		}
		if a.Type == contenttypes.ID {
			b = strconv.AppendUint(b, id, 10)
		} else if a.IsScalar() {
			b = append(b, values[i].JSON...)
		} else if b, err = appendItems(b, bind, values[i].Items); err != nil {
			return nil, err
		}
		be.PutUint32(b[ends+4*int(p):], uint32(len(b)-start))
	}
	return b, nil
}

func appendItems(b []byte, bind *binding, items []*Item) ([]byte, error) {
	if len(items) == 0 {
		return b, nil
	}
	ends := len(b)
	b = append(b, make([]byte, 4*len(items))...)
	start := len(b)
	var err error
	for i, item := range items {
		if b, err = appendRecord(b, bind, &item.Component.Schema, item.ID, item.Values); err != nil {
			return nil, err
		}
		be.PutUint32(b[ends+4*i:], uint32(len(b)-start))
	}
	return be.AppendUint32(b, uint32(len(items))), nil
}

// parseID parses the id of a row from its JSON.
func parseID(raw []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("row id %q is not a positive integer", raw)
	}
	return n, nil
}
