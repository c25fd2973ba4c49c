package answers

import "slices"

// An UnknownPosition is a document whose position in a list the server may choose: a document that is published for the
// first time, or whose draft is discarded, comes to the lists of the other side at about its place in the lists of the
// other version. A document that is published again comes last.
type UnknownPosition struct {
	Attr    *Attribute // the attribute of the list
	List    End
	Who     End
	LinkSet string
}

// settle reads the positions that the server may choose.
func (r *Run) settle() error {
	if err := r.settleListed(); err != nil {
		return err
	}
	unsure := r.world.UnknownPositions
	r.world.UnknownPositions = nil
	for _, u := range unsure {
		if _, told := r.server.(LinkHost); told || u.List.Doc.Row(u.List.Locale, u.LinkSet) == nil {
			continue
		}
		q := &Question{Type: u.List.Doc.Type, Number: u.List.Doc.Number, Status: u.LinkSet,
			Locale: []string{u.List.Locale}, Fields: []string{"id"},
			Populate: &Populate{Form: "object",
				Items: []*Populated{{Attr: u.Attr, Form: "options", Fields: []string{"id"}}}}}
		_, got, err := r.server.Do("GET", q.Path(r.world), nil)
		if err != nil {
			return err
		}
		r.world.SettlePosition(u, idsIn(got, u.Attr.Name))
	}
	return nil
}

// settleListed settles the unknown positions that a LinkHost tells. Those in lists that it does not have stay unknown.
func (r *Run) settleListed() error {
	h, ok := r.server.(LinkHost)
	if !ok {
		return nil
	}
	var left []UnknownPosition
	for _, u := range r.world.UnknownPositions {
		order, err := h.LinkOrder(u.Attr, u.List.Doc.Type, u.List.Doc.ID.text(), u.List.Locale, u.LinkSet)
		if err != nil {
			return err
		}
		if !r.world.SettleBehind(u, order) {
			left = append(left, u)
		}
	}
	r.world.UnknownPositions = left
	return nil
}

// SettlePosition moves u.Who to the position where the server shows it: order has the ids of the rows in the list.
func (w *World) SettlePosition(u UnknownPosition, order []float64) {
	var ends []End
	who := -1
	for i, id := range order {
		for _, e := range w.Ends(u.Attr, u.List, u.LinkSet) {
			if r := e.Doc.Row(e.Locale, u.LinkSet); r != nil && r.id() == id {
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
	list := without(w.Ends(u.Attr, u.List, u.LinkSet), u.Who)
	from, to := 0, len(list) // between the neighbours that the response shows
	if who > 0 {
		from = indexOf(list, ends[who-1]) + 1
	}
	if who+1 < len(ends) {
		to = indexOf(list, ends[who+1])
	}
	at := from
	drafts := w.Ends(u.Attr, u.List, draft)
	for i := from; i < to; i++ { // rows that the response does not show have the order of the drafts
		if before := indexOf(drafts, list[i]); before >= 0 && before < indexOf(drafts, u.Who) {
			at = i + 1
		}
	}
	w.SetEnds(u.Attr, u.List, u.LinkSet, append(list[:at:at], append([]End{u.Who}, list[at:]...)...))
}

// SettleBehind moves u.Who behind the document that is before it in the server's list. It reports whether u.Who is in
// that list. Writes that the World has not been told of yet may have added others.
func (w *World) SettleBehind(u UnknownPosition, order []LinkTarget) bool {
	who := slices.IndexFunc(order, func(t LinkTarget) bool { return w.leadsTo(t, u.Who) })
	if who < 0 { // compareLinks reports it
		return false
	}
	list, at := without(w.Ends(u.Attr, u.List, u.LinkSet), u.Who), 0
	for i := who - 1; i >= 0 && at == 0; i-- {
		at = 1 + slices.IndexFunc(list, func(e End) bool { return w.leadsTo(order[i], e) })
	}
	w.SetEnds(u.Attr, u.List, u.LinkSet, slices.Insert(list, at, u.Who))
	return true
}

// leadsTo reports whether a target is a document. A document that no response has shown yet is one that has an unknown
// documentId.
func (w *World) leadsTo(t LinkTarget, e End) bool {
	return t.Locale == e.Locale && (e.Doc.ID.text() == t.DocumentID || e.Doc.ID.Value == nil && !w.knows(t.DocumentID))
}
