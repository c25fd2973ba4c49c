package store

import "lectern/contenttypes"

// A Ref names one end of a link: a document in a localization (Locale "" where its type is not localized), or a component
// instance. Doc numbers are unique in the store, over types and components.
type Ref struct {
	Type   string // uid of the content-type or component
	Doc    uint64
	Locale string
}

// A Link joins two documents (or a component and a document) under a relation attribute, in one plane. Draft versions show
// the links of the draft plane, published ones those of the published plane. A link whose other end has no version in that
// plane is kept and not shown.
//
// Which planes a relation uses: where neither side has draft & publish the Published plane alone; otherwise a version of a
// draft & publish type the plane of its status, and a row of a type without both planes (see Planed). A component's
// links follow the document it is in: both planes where that has no draft & publish.
type Link struct {
	Attr    *contenttypes.Attribute // the owning attribute: not the one that says mappedBy
	Plane   Status
	From    Ref // the document or component that has Attr
	To      Ref
	FromPos uint64 // orders the links of From: unique in (Attr, Plane, From)
	ToPos   uint64 // orders the links of To:   unique in (Attr, Plane, To)
}

// PosStep is the distance that is left between neighbours when links are numbered anew or added at an end.
const PosStep = 1 << 32

// Planed reports whether the links of a relation differ between the draft and the published plane.
func Planed(a *contenttypes.Attribute) bool { panic("stub") }

// LinksFrom calls yield with the links of ref under the owning attribute a, in the order of ref's side.
func (s *Snapshot) LinksFrom(a *contenttypes.Attribute, plane Status, from Ref, yield func(Link) bool) {
	panic("stub")
}

// LinksTo is LinksFrom seen from the other side: the links that point at to.
func (s *Snapshot) LinksTo(a *contenttypes.Attribute, plane Status, to Ref, yield func(Link) bool) {
	panic("stub")
}

// LastFromPos returns the greatest FromPos of from, 0 when it has no links. LastToPos the same for the other side.
func (s *Snapshot) LastFromPos(a *contenttypes.Attribute, plane Status, from Ref) uint64 {
	panic("stub")
}
func (s *Snapshot) LastToPos(a *contenttypes.Attribute, plane Status, to Ref) uint64 { panic("stub") }

// Related calls yield with the versions that r shows under a relation, media or localizations attribute (of either side), in
// order. status is the request's: it decides the plane and the version of what is shown. Links whose other end has no such
// version are passed over.
func (s *Snapshot) Related(r Record, a *contenttypes.Attribute, status Status, yield func(Record) bool) {
	panic("stub")
}
