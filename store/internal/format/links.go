package format

import "bytes"

// A LinkSet is one of the two sets of links that a relation can have: the one that published versions show, or the one
// that drafts show. A relation with draft & publish on neither side has PublishedLinks only (see
// contenttypes.Attribute.HasDraftLinks).
type LinkSet uint8

// Sets of links.
const (
	PublishedLinks LinkSet = iota
	DraftLinks
)

// Links returns the set of links that versions of this status show, if the relation has both sets.
func (s Status) Links() LinkSet { return LinkSet(s) }

// Name names a set in content that leaves the store, by the versions that show it: draft or published.
func (s LinkSet) Name() string { return Status(s).String() }

// PosStep is the distance between the positions of neighbouring links when links are numbered again, or added at an
// end.
const PosStep = 1 << 32

// A Side says which end of a link a list is of. Each link is stored twice, in the list of either end. The key is
//
//	schema u16 · field u16 of the owning attribute · side u8 · link set u8 · locale u16 · doc u64 · position u64
//
// and the value is the other end: schema u16 · locale u16 · doc u64 · position u64. The upper bits of doc hold a
// checksum (see checksum.go).
type Side uint8

// Sides of a link.
const (
	FromSide Side = iota
	ToSide
)

// An End is one end of a link in numbers: a localization of a document, or a component.
type End struct {
	Schema uint16
	Locale uint16
	Doc    uint64
}

// Lengths of the prefix of the keys of a list, of a key, and of a key with its value.
const (
	LinkListLen = 2 + 2 + 1 + 1 + 2 + 8
	LinkKeyLen  = LinkListLen + 8
	LinkLen     = LinkKeyLen + 2 + 2 + 8 + 8
)

// SetLinkOwner changes the prefix of a list of links into that of another end.
func SetLinkOwner(list []byte, r End) {
	be.PutUint16(list[6:], r.Locale)
	be.PutUint64(list[8:], r.Doc)
}

// NewLink returns the value of a link in the list of one end: the other end, and the position of the link in the list
// there.
func NewLink(r End, pos uint64) []byte {
	b := make([]byte, 0, LinkLen-LinkKeyLen)
	b = be.AppendUint16(b, r.Schema)
	b = be.AppendUint16(b, r.Locale)
	b = be.AppendUint64(b, r.Doc)
	return be.AppendUint64(b, pos)
}

// OwnEnd returns the end that lists a link with this key. Its schema is that of the attribute, which the end has on
// FromSide.
func OwnEnd(k []byte) End {
	return End{Schema: be.Uint16(k), Locale: be.Uint16(k[6:]), Doc: be.Uint64(k[8:])}
}

// ParseLink returns the other end from the value of a link, and the position of the link in the list there.
func ParseLink(v []byte) (End, uint64) {
	return End{be.Uint16(v), be.Uint16(v[2:]), Number(v[4:])}, be.Uint64(v[12:])
}

// LinkIs reports whether v is the value of a link to this end.
func LinkIs(v []byte, r End, pos uint64) bool {
	if v == nil {
		return false
	}
	end, endPos := ParseLink(v)
	return end == r && endPos == pos
}

// LinkPrefix returns the prefix of the keys of all links of an attribute. more may hold a side, and a link set after
// it.
func LinkPrefix(schema, field uint16, more ...byte) []byte {
	return append(be.AppendUint16(be.AppendUint16(nil, schema), field), more...)
}

// OtherKey returns the key under which the other end of a link lists it.
func OtherKey(k, v []byte) []byte {
	other, pos := ParseLink(v)
	otherKey := append(bytes.Clone(k[:4]), 1-k[4], k[5])
	otherKey = be.AppendUint16(otherKey, other.Locale)
	return be.AppendUint64(be.AppendUint64(otherKey, other.Doc), pos)
}
