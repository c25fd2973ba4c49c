package answers

import "sort"

// A Generated is a value that the server chooses: an id, a documentId or a time. It is unknown until a response shows
// it, and must be the same in every later response.
type Generated struct {
	Kind  string // id, documentId or time
	Value any    // float64 or string; nil while unknown
}

// Values of status.
const (
	draft     = "draft"
	published = "published"
)

// A World holds all documents and links, in lists that are always searched in full.
type World struct {
	Model *Model
	Quirk Quirks
	Docs  []*Document
	Links []*Link
	Files []*File

	Hashes int          // how many passwords were hashed
	Added  []*Attribute // attributes that a Run has added to the Model, in order

	Whole *World               // of what an Asker sees: all content, which requests may name
	Alone map[*Document][]*Row // and what a request for one document shows, by document; nil: the same as lists

	Samples map[*Attribute][]any // values that documents have, for questions about a content that no Run has made

	UnknownPositions []UnknownPosition // positions that became unknown in the last write
}

// A Document has versions. Number counts the documents of the simulation; operations name documents by it.
type Document struct {
	Number int
	Type   *Type
	ID     *Generated
	Rows   []*Row
}

// A Row is one version of a document. Status is published for types without drafts, Locale is "" for types without
// locales.
type Row struct {
	Doc       *Document
	Locale    string
	Status    string
	ID        *Generated
	Created   *Generated
	Updated   *Generated
	Published *Generated // nil in a draft
	Fields    map[string]any
	Items     map[string][]*Item // components and zones
	Added     int                // how many attributes the Model had been given when the version was written
}

// An Item is a component in a row. Operations name it by Number.
type Item struct {
	Number    int
	Component *Component
	ID        *Generated
	Fields    map[string]any
	Items     map[string][]*Item
	Ends      map[string][]End // relations
}

// An End is one end of a link: a document in a localization.
type End struct {
	Doc    *Document
	Locale string
}

// A Link joins two documents under the attribute of the owning side. It belongs to the link set of drafts or of
// published rows. Links between types without drafts are published.
type Link struct {
	Attr           *Attribute
	LinkSet        string
	From, To       End
	FromPos, ToPos int
}

// Document returns the document with that number, if it has a version.
func (w *World) Document(number int) *Document {
	for _, d := range w.Docs {
		if d.Number == number && len(d.Rows) > 0 {
			return d
		}
	}
	return nil
}

// Single returns the document of a single type, or nil.
func (w *World) Single(t *Type) *Document {
	for _, d := range w.Docs {
		if d.Type == t && len(d.Rows) > 0 {
			return d
		}
	}
	return nil
}

// Row returns a version, or nil.
func (d *Document) Row(locale, status string) *Row {
	if !d.Type.Drafts {
		status = published
	}
	if !d.Type.Localized {
		locale = ""
	}
	for _, r := range d.Rows {
		if r.Locale == locale && r.Status == status {
			return r
		}
	}
	return nil
}

// rows returns every row of a type.
func (w *World) rows(t *Type) []*Row {
	var all []*Row
	for _, d := range w.Docs {
		if d.Type == t {
			all = append(all, d.Rows...)
		}
	}
	return all
}

func (r *Row) end() End { return End{r.Doc, r.Locale} }

// linkSetOf returns the link set that holds the links of relation a for rows with a status.
func linkSetOf(a *Attribute, status string) string {
	if !a.Owner.Drafts && !a.Target.Drafts {
		return published
	}
	return status
}

// linkSetsOf returns the link sets that a write of a row with status changes.
func linkSetsOf(a *Attribute, t *Type, status string) []string {
	switch {
	case !a.Owner.Drafts && !a.Target.Drafts:
		return []string{published}
	case !t.Drafts:
		return []string{draft, published}
	}
	return []string{status}
}

// Ends returns the documents that e is linked to under a, in the order of that side.
func (w *World) Ends(a *Attribute, e End, linkSet string) []End {
	links := w.linksOf(a, e, linkSet)
	ends := make([]End, len(links))
	for i, l := range links {
		ends[i] = l.far(a)
	}
	return ends
}

func (w *World) linksOf(a *Attribute, e End, linkSet string) []*Link {
	var links []*Link
	for _, l := range w.Links {
		if l.Attr == owning(a) && l.LinkSet == linkSet && l.near(a) == e {
			links = append(links, l)
		}
	}
	sort.SliceStable(links, func(i, j int) bool { return *links[i].pos(a) < *links[j].pos(a) })
	return links
}

func owning(a *Attribute) *Attribute {
	if a.Mapped {
		return a.Inverse
	}
	return a
}

func (l *Link) near(a *Attribute) End {
	if a.Mapped {
		return l.To
	}
	return l.From
}

func (l *Link) far(a *Attribute) End {
	if a.Mapped {
		return l.From
	}
	return l.To
}

func (l *Link) pos(a *Attribute) *int {
	if a.Mapped {
		return &l.ToPos
	}
	return &l.FromPos
}

// farPos returns the link's position on the other side than a's.
func (l *Link) farPos(a *Attribute) *int {
	if a.Mapped {
		return &l.FromPos
	}
	return &l.ToPos
}

// SetEnds links e to the documents of list under a, and to no others. Links that remain keep their position on the
// other side, and new links are last there. A document that may have only one link loses its previous one. A to-one
// relation may link several localizations of one document.
func (w *World) SetEnds(a *Attribute, e End, linkSet string, list []End) {
	for _, l := range w.linksOf(a, e, linkSet) {
		if indexOf(list, l.far(a)) < 0 {
			w.unlink(func(x *Link) bool { return x == l })
		}
	}
	for i, far := range list {
		l := w.find(a, e, far, linkSet)
		if l == nil {
			w.release(a, e, far, linkSet)
			l = w.link(a, e, far, linkSet)
		}
		*l.pos(a) = i
	}
}

// copyEnds does what SetEnds does, with links copied from the other link set. If open is set, the position of e in the
// lists of the other side is unknown for new links.
func (w *World) copyEnds(a *Attribute, e End, linkSet string, list []End, open bool) {
	before := w.Ends(a, e, linkSet)
	w.SetEnds(a, e, linkSet, list)
	for _, far := range list {
		if a.Inverse != nil && far != e && (w.Quirk.OrderMixesVersions || open && indexOf(before, far) < 0) {
			w.UnknownPositions = append(w.UnknownPositions, UnknownPosition{a.Inverse, far, e, linkSet})
		}
	}
}

func (w *World) find(a *Attribute, e, far End, linkSet string) *Link {
	for _, l := range w.linksOf(a, e, linkSet) {
		if l.far(a) == far {
			return l
		}
	}
	return nil
}

// release removes the links of a target that can belong to one document only. Other localizations of that document may
// keep it.
func (w *World) release(a *Attribute, e, far End, linkSet string) {
	if a.Inverse != nil && !a.Inverse.toMany() {
		w.unlink(func(l *Link) bool {
			return l.Attr == owning(a) && l.LinkSet == linkSet && l.far(a) == far && l.near(a).Doc != e.Doc
		})
	}
}

func (w *World) link(a *Attribute, e, far End, linkSet string) *Link {
	l := &Link{Attr: owning(a), LinkSet: linkSet, From: e, To: far}
	if a.Mapped {
		l.From, l.To = far, e
	}
	for _, x := range w.Links {
		if x.Attr == l.Attr && x.LinkSet == linkSet && x.far(a) == far && *x.farPos(a) >= *l.farPos(a) {
			*l.farPos(a) = *x.farPos(a) + 1
		}
	}
	w.Links = append(w.Links, l)
	return l
}

func (w *World) unlink(gone func(*Link) bool) {
	var kept []*Link
	for _, l := range w.Links {
		if !gone(l) {
			kept = append(kept, l)
		}
	}
	w.Links = kept
}

// forget removes all links of a localization that no longer exists.
func (w *World) forget(e End) {
	w.unlink(func(l *Link) bool { return l.From == e || l.To == e })
	for _, d := range w.Docs {
		for _, r := range d.Rows {
			forgetIn(r.Items, e)
		}
	}
}

func forgetIn(all map[string][]*Item, e End) {
	for _, items := range all {
		for _, it := range items {
			for name, ends := range it.Ends {
				it.Ends[name] = without(ends, e)
			}
			forgetIn(it.Items, e)
		}
	}
}

func without(ends []End, e End) []End {
	var kept []End
	for _, x := range ends {
		if x != e {
			kept = append(kept, x)
		}
	}
	return kept
}
