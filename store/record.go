package store

import "lectern/contenttypes"

// A Record is a stored version of a document, or one component inside it, as it lies in the file. It is valid until its
// Snapshot ends. The zero Record stands for "none".
type Record struct {
	schema *contenttypes.Schema
	typ    *contenttypes.ContentType // nil for components
	comp   *contenttypes.Component   // nil for documents
	status Status
	locale uint16
	doc    uint64
	data   []byte
}

// Exists reports whether r is a record.
func (r Record) Exists() bool { return r.data != nil }

// Type is the content-type of a document, nil for a component.
func (r Record) Type() *contenttypes.ContentType { return r.typ }

// Component is the component r is an instance of, nil for a document.
func (r Record) Component() *contenttypes.Component { return r.comp }

// JSON returns the JSON text of a scalar attribute as it stands in the file, nil when it is null. System attributes
// count: id, documentId, createdAt, ….
func (r Record) JSON(a *contenttypes.Attribute) []byte { panic("stub") }

// ID is the row's or component's numeric id, as on the wire.
func (r Record) ID() uint64 { panic("stub") }

// Each calls yield with the items of a component or dynamic zone attribute in order (a single component is one item, or
// none), until it returns false.
func (r Record) Each(a *contenttypes.Attribute, yield func(Record) bool) { panic("stub") }

// Ref names the document (and localization) that r is a version of, or the component, as links name it.
func (r Record) Ref() Ref { panic("stub") }

// Status and Locale of the row.
func (r Record) Status() Status { return r.status }

// A Value is what a row holds for one stored attribute, as written: JSON for scalars (nil is null), Items for components
// and zones.
type Value struct {
	JSON  []byte
	Items []*Item
}

// An Item is a component as written.
type Item struct {
	Component *contenttypes.Component
	ID        uint64
	Values    []Value // by Attribute.Index; those of links are ignored
}

// A Row is a version of a document as written.
type Row struct {
	Type   *contenttypes.ContentType
	Doc    uint64
	Status Status
	Locale string  // "" where the type is not localized
	Values []Value // by Attribute.Index, system attributes included; those of links are ignored
}

// Decode turns a record into what PutRow takes, to change and write it again.
func (r Record) Decode() *Row { panic("stub") }
