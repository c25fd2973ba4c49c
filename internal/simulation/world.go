package simulation

import "sort"

// A Given is a value that the server chooses: an id, a documentId, a time. It is unknown until an answer shows it; from then
// on every answer must show the same.
type Given struct {
	Kind  string // id, documentId, time
	Value any    // float64 or string; nil while unknown
}

// Status words.
const (
	draft     = "draft"
	published = "published"
)

// A World holds every document and link, as lists that are searched from end to end.
type World struct {
	Model *Model
	Quirk Quirks
	Docs  []*Document
	Links []*Link
	Files []*File

	Unsure []Unsure // since the last write
}

// An Unsure is a document whose place in a list is the server's choice: publishing a link adds it to the other side's list.
type Unsure struct {
	Attr  *Attribute // of the list
	List  End
	Who   End
	Plane string
}

// A Document has versions. Number is its place in the order of creation over the whole simulation: operations name
// documents by it.
type Document struct {
	Number int
	Type   *Type
	ID     *Given
	Rows   []*Row
}

// A Row is one version of a document. On a type without drafts Status is published, on one without locales Locale is "".
type Row struct {
	Doc       *Document
	Locale    string
	Status    string
	ID        *Given
	Created   *Given
	Updated   *Given
	Published *Given // nil in a draft
	Fields    map[string]any
	Items     map[string][]*Item // components and zones
}

// An Item is a component in a row. Number names it in operations.
type Item struct {
	Number    int
	Component *Component
	ID        *Given
	Fields    map[string]any
	Items     map[string][]*Item
	Ends      map[string][]End // relations
}

// An End is what a link joins: a document in a localization.
type End struct {
	Doc    *Document
	Locale string
}

// A Link joins two documents under the owning side's attribute, in the plane of drafts or of published rows. Relations
// between types without drafts are published.
type Link struct {
	Attr           *Attribute
	Plane          string
	From, To       End
	FromPos, ToPos int
}

// Document returns the document with that number if it has any version.
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

// plane says which links a version of a under status looks at.
func plane(a *Attribute, status string) string {
	if !a.Owner.Drafts && !a.Target.Drafts {
		return published
	}
	return status
}

// planes says which links a write of a version with status changes.
func planes(a *Attribute, t *Type, status string) []string {
	switch {
	case !a.Owner.Drafts && !a.Target.Drafts:
		return []string{published}
	case !t.Drafts:
		return []string{draft, published}
	}
	return []string{status}
}

// Ends returns what e is linked to under a, in the order of that side.
func (w *World) Ends(a *Attribute, e End, plane string) []End {
	links := w.linksOf(a, e, plane)
	ends := make([]End, len(links))
	for i, l := range links {
		ends[i] = l.far(a)
	}
	return ends
}

func (w *World) linksOf(a *Attribute, e End, plane string) []*Link {
	var links []*Link
	for _, l := range w.Links {
		if l.Attr == owning(a) && l.Plane == plane && l.near(a) == e {
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

// farPos is the position on the side that a does not show.
func (l *Link) farPos(a *Attribute) *int {
	if a.Mapped {
		return &l.FromPos
	}
	return &l.ToPos
}

// SetEnds makes list what e is linked to under a. Links that stay keep their place on the other side; new ones come last
// there; whoever must give a target up loses it. A to-one may be linked to several localizations of one document.
func (w *World) SetEnds(a *Attribute, e End, plane string, list []End) {
	for _, l := range w.linksOf(a, e, plane) {
		if indexOf(list, l.far(a)) < 0 {
			w.unlink(func(x *Link) bool { return x == l })
		}
	}
	for i, far := range list {
		l := w.find(a, e, far, plane)
		if l == nil {
			w.release(a, e, far, plane)
			l = w.link(a, e, far, plane)
		}
		*l.pos(a) = i
	}
}

// copyEnds is SetEnds for links that are taken over from the other plane. Where e comes to stand in the lists of the other
// side is not certain for new links, or for all when e appears in the plane only now.
func (w *World) copyEnds(a *Attribute, e End, plane string, list []End, appears bool) {
	before := w.Ends(a, e, plane)
	w.SetEnds(a, e, plane, list)
	for _, far := range list {
		if a.Inverse != nil && a.Inverse.toMany() && far != e && (appears || w.Quirk.OrderMixesVersions || indexOf(before, far) < 0) {
			w.Unsure = append(w.Unsure, Unsure{a.Inverse, far, e, plane})
		}
	}
}

// Settle puts u.Who where the server shows it: order holds the ids of the rows in the list.
func (w *World) Settle(u Unsure, order []float64) {
	var ends []End
	who := -1
	for i, id := range order {
		for _, e := range w.Ends(u.Attr, u.List, u.Plane) {
			if r := e.Doc.Row(e.Locale, u.Plane); r != nil && r.id() == id {
				if e == u.Who {
					who = i
				}
				ends = append(ends, e)
			}
		}
	}
	if who < 0 {
		return
	}
	list := without(w.Ends(u.Attr, u.List, u.Plane), u.Who)
	from, to := 0, len(list) // between the neighbours that are shown
	if who > 0 {
		from = indexOf(list, ends[who-1]) + 1
	}
	if who+1 < len(ends) {
		to = indexOf(list, ends[who+1])
	}
	at := from
	drafts := w.Ends(u.Attr, u.List, draft)
	for i := from; i < to; i++ { // what is not shown stands as among the drafts
		if before := indexOf(drafts, list[i]); before >= 0 && before < indexOf(drafts, u.Who) {
			at = i + 1
		}
	}
	w.SetEnds(u.Attr, u.List, u.Plane, append(list[:at:at], append([]End{u.Who}, list[at:]...)...))
}

func (w *World) find(a *Attribute, e, far End, plane string) *Link {
	for _, l := range w.linksOf(a, e, plane) {
		if l.far(a) == far {
			return l
		}
	}
	return nil
}

// release removes the links of a target that can belong to one document only. Other localizations of that one may keep it.
func (w *World) release(a *Attribute, e, far End, plane string) {
	if a.Inverse != nil && !a.Inverse.toMany() {
		w.unlink(func(l *Link) bool {
			return l.Attr == owning(a) && l.Plane == plane && l.far(a) == far && l.near(a).Doc != e.Doc
		})
	}
}

func (w *World) link(a *Attribute, e, far End, plane string) *Link {
	l := &Link{Attr: owning(a), Plane: plane, From: e, To: far}
	if a.Mapped {
		l.From, l.To = far, e
	}
	for _, x := range w.Links {
		if x.Attr == l.Attr && x.Plane == plane && x.far(a) == far && *x.farPos(a) >= *l.farPos(a) {
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

// forget removes every link to and from a document in a localization that is no more.
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
