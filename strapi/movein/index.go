package movein

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/transfer"
	"lectern/jsontree"
	"lectern/store"
	"lectern/strapi/archive"
)

// An index knows the rows and links of an archive. Entities of an archive name neither their links nor their status in
// a way that can be used alone, and links name rows by numbers. So the first pass collects in an index what the second
// pass needs to write lines: some 100 bytes for each row and 32 for each link.
type index struct {
	model         *contenttypes.Model
	defaultLocale string
	counter       *counter
	notes         *notes
	misfits       *misfits

	schemas map[string]*indexedSchema // by uid, of types and components
	rows    []row
	version map[uint64]uint32 // by the hash of a version: the number of its row
	hasher
	texts map[string]string // each locale once
	links []link
	// claimed has the links to documents that only one document may link to: hash of the list of the target → hash of
	// the document that links to it.
	claimed map[uint64]uint64
}

// An indexedSchema is a type or component of the model.
type indexedSchema struct {
	*contenttypes.Schema
	typ    *contenttypes.ContentType // nil for components
	number uint64
	rows   map[uint64]uint32 // of a type: by row id, the number of the row
	single string            // documentId of the document of a single type
}

// A row is a version of a document in the archive.
type row struct {
	documentID string // of a role: its type, which names roles in lines
	locale     string // "" if the type is not localized
	typ        *contenttypes.ContentType
	status     store.Status
	precedence uint8 // of two rows that are the same version, the one with the higher precedence comes along
	dropped    bool
}

// A link leads from a row or a component to a row. Either end may have a position; 0 means that it has none.
type link struct {
	owner     uint64  // see indexedSchema.owner
	pos       float64 // in the list of the owner
	inverse   float64 // in the list of the target
	target    uint32  // number of the row
	attribute uint16  // index in the schema of the owner
}

func newIndex(model *contenttypes.Model, defaultLocale string, counter *counter, notes *notes,
	misfits *misfits) *index {
	x := &index{model: model, defaultLocale: defaultLocale, counter: counter, notes: notes, misfits: misfits,
		schemas: map[string]*indexedSchema{},
		version: map[uint64]uint32{}, hasher: newHasher(), texts: map[string]string{}, claimed: map[uint64]uint64{}}
	for _, t := range model.Types {
		if comesAlong(t) || t.UID == contenttypes.RoleUID {
			x.schemas[t.UID] = &indexedSchema{Schema: &t.Schema, typ: t, number: uint64(len(x.schemas)),
				rows: map[uint64]uint32{}}
		}
	}
	for _, c := range model.Components {
		x.schemas[c.UID] = &indexedSchema{Schema: &c.Schema, number: uint64(len(x.schemas))}
	}
	return x
}

// comesAlong reports whether rows of a type become documents.
func comesAlong(t *contenttypes.ContentType) bool { return transfer.Exported(t) }

// owner returns the key of a row or component as the owner of links.
func (s *indexedSchema) owner(id uint64) uint64 { return s.number<<48 | id&(1<<48-1) }

// addEntity adds a row of a type that comes along, or a role.
func (x *index) addEntity(e archive.Entity) {
	s := x.schemas[e.Type]
	if s == nil || s.typ == nil {
		x.notes.add("rows of "+e.Type, "Lectern has no such type")
		return
	}
	if s.typ.UID == contenttypes.RoleUID {
		s.rows[e.ID] = x.add(row{documentID: strings.Clone(e.Data.Text("type")), typ: s.typ, status: store.Published})
		return
	}
	r := x.versionOf(s.typ, e.Data)
	switch {
	case r.documentID == "":
		x.notes.add("rows of "+e.Type, "they have no documentId")
		return
	case !transfer.ValidDocumentID(r.documentID):
		x.notes.add("rows of "+e.Type,
			"their documentId has other characters than letters, digits, - and _, or more than 64 of them")
		return
	case !transfer.ValidLocale(r.locale):
		x.notes.add("rows of "+e.Type, "there can be no such locale")
		return
	case s.typ.Kind == contenttypes.SingleType && !x.isSingle(s, r.documentID):
		x.notes.add("rows of "+e.Type, "it is a single type, and document "+s.single+" comes first")
		return
	}
	x.counter.version(s.typ, r.locale, r.status).Source++
	key := x.hash(e.Type, r.documentID, r.locale, r.status.String())
	other, twice := x.version[key]
	switch {
	case !twice:
		x.version[key] = x.add(r)
		s.rows[e.ID] = x.version[key]
	case r.precedence > x.rows[other].precedence:
		x.rows[other].dropped = true
		x.version[key] = x.add(r)
		s.rows[e.ID] = x.version[key]
		x.dropped(s.typ, r)
	default:
		r.dropped = true
		s.rows[e.ID] = x.add(r)
		x.dropped(s.typ, r)
	}
}

// isSingle reports whether a row is of the document that a single type has: of those in the archive the one that comes
// first.
func (x *index) isSingle(s *indexedSchema, documentID string) bool {
	if s.single == "" {
		s.single = documentID
	}
	return s.single == documentID
}

func (x *index) add(r row) uint32 {
	x.rows = append(x.rows, r)
	return uint32(len(x.rows) - 1)
}

// dropped notes that a row does not come along since another row is the same version.
func (x *index) dropped(t *contenttypes.ContentType, r row) {
	x.counter.version(t, r.locale, r.status).LeftOut++
	x.notes.add("rows of "+t.UID, "another row is the same version of the same document")
}

// versionOf returns which version a row is by its data.
func (x *index) versionOf(t *contenttypes.ContentType, data *jsontree.Object) row {
	locale := data.Text("locale")
	r := row{documentID: strings.Clone(data.Text("documentId")), typ: t, status: store.Published}
	published := data.Value("publishedAt") != nil
	if t.DraftAndPublish && !published {
		r.status = store.Draft
	}
	if t.Localized {
		r.locale = x.text(cmp.Or(locale, x.defaultLocale))
	}
	// A type that once had drafts or locales may still have rows of them.
	if published {
		r.precedence += 2
	}
	if locale == "" || locale == x.defaultLocale {
		r.precedence++
	}
	return r
}

func (x *index) text(s string) string {
	if known, ok := x.texts[s]; ok {
		return known
	}
	s = strings.Clone(s)
	x.texts[s] = s
	return s
}

// A hasher makes hashes of names. 64 bits make collisions negligible for an archive of any size.
type hasher struct{ seed maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed()} }

// hash returns a hash that identifies parts.
func (x hasher) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(x.seed)
	for _, p := range parts {
		h.WriteString(p)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// addLink adds a link. Either of its ends may own it.
func (x *index) addLink(l archive.Link) {
	if l.Left.Field == "localizations" || l.Right.Field == "localizations" {
		return // documents know their locales by themselves
	}
	owner, other := l.Left, l.Right
	a := x.owning(owner)
	if b := x.owning(other); a == nil || b != nil && b.Type == contenttypes.Media {
		owner, other, a = other, owner, b
	}
	field := linkName(l)
	if a != nil {
		field = fieldName(a)
	}
	if l.Kind == "relation.morph" { // its positions are those in the list of the owner, whichever end it is
		owner.Pos, other.Pos = l.Right.Pos, 0
	}
	if why := x.keepLink(a, owner, other); why != "" {
		x.notes.add("links of "+field, why)
		if a == nil && !x.known(l) {
			return // between types that do not come along at all
		}
		n := x.counter.link(field)
		n.Source++
		n.LeftOut++
		return
	}
	x.counter.link(field).Source++
}

// known reports whether one end of a link is a type or component that comes along.
func (x *index) known(l archive.Link) bool {
	return x.schemas[l.Left.Type] != nil || x.schemas[l.Right.Type] != nil
}

// keepLink keeps a link of an attribute, or returns why it does not come along.
func (x *index) keepLink(a *contenttypes.Attribute, owner, other archive.End) (why string) {
	to := x.schemas[other.Type]
	switch {
	case to == nil || to.typ == nil:
		return "they lead to " + other.Type + ", which does not come along"
	case a == nil:
		return "no attribute here has them"
	case a.Target != nil && a.Target != to.typ:
		return "the attribute leads to " + a.Target.UID + " here, not to " + other.Type
	}
	from := x.schemas[owner.Type]
	if from.typ != nil && !x.comes(from, owner.ID) {
		return "the row that has them is not in the archive, or does not come along"
	}
	if !x.comes(to, other.ID) {
		return "the row that they lead to is not in the archive, or does not come along"
	}
	x.links = append(x.links, link{owner: from.owner(owner.ID), attribute: uint16(a.Index), target: to.rows[other.ID],
		pos: owner.Pos, inverse: other.Pos})
	return ""
}

// comes reports whether a row is in the archive and comes along.
func (x *index) comes(s *indexedSchema, id uint64) bool {
	n, ok := s.rows[id]
	return ok && !x.rows[n].dropped
}

// linkName names the attribute of a link for people.
func linkName(l archive.Link) string {
	if l.Left.Field == "" || l.Left.Type == contenttypes.FileUID && l.Left.Field == "related" {
		return l.Right.Type + "." + l.Right.Field
	}
	return l.Left.Type + "." + l.Left.Field
}

// owning returns the attribute at an end of a link if the links belong to that end.
func (x *index) owning(e archive.End) *contenttypes.Attribute {
	s := x.schemas[e.Type]
	if s == nil || e.Field == "" || e.Type == contenttypes.FileUID && e.Field == "related" {
		return nil
	}
	a := s.Attribute(e.Field)
	if a == nil || !a.IsRelation() || a.System || a.Mapped {
		return nil
	}
	return a
}

// sort puts the links in order once all are added.
func (x *index) sort() {
	slices.SortStableFunc(x.links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.attribute, b.attribute), cmp.Compare(a.pos, b.pos))
	})
	x.links = slices.Clip(x.links)
}

// linksOf returns the links of a row or component under an attribute, in order.
func (x *index) linksOf(owner uint64, a *contenttypes.Attribute) []link {
	before := func(l link, attribute uint16) int {
		return cmp.Or(cmp.Compare(l.owner, owner), cmp.Compare(l.attribute, attribute))
	}
	first, _ := slices.BinarySearchFunc(x.links, uint16(a.Index), before)
	n := 0
	for first+n < len(x.links) && before(x.links[first+n], uint16(a.Index)) == 0 {
		n++
	}
	return x.links[first : first+n]
}

// order returns a position as a whole number. Only the order of the numbers counts.
func order(pos float64) (n uint64, ok bool) {
	if pos == 0 {
		return 0, false
	}
	bits := math.Float64bits(pos)
	if bits>>63 == 1 {
		return ^bits, true
	}
	return bits | 1<<63, true
}
