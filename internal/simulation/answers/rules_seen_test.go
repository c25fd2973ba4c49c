package answers

import (
	"fmt"
	"strings"
)

// sees reports whether an asker sees a version in answers that show versions with a status.
func (a *Asker) sees(w *World, r *Row, status string) bool {
	t := r.Doc.Type
	if t.Drafts {
		status = r.Status
	}
	where, may := a.Find[t]
	if own := a.Drafts[t]; own != nil && t.Drafts && status == draft {
		where = own
	}
	return may && a.follows(t, status) && w.meets(r, where, status)
}

// seesAlone is sees for a request that names the document.
func (a *Asker) seesAlone(w *World, r *Row, status string) bool {
	t := r.Doc.Type
	own := a.One[t]
	if own == nil || status == draft && t.Drafts && (a.Granted || a.Drafts[t] != nil) {
		return a.sees(w, r, status)
	}
	if t.Drafts {
		status = r.Status
	}
	return w.meets(r, own, status)
}

// meets reports whether a version meets a condition of a rule; nil is met by all.
func (w *World) meets(r *Row, where *Filter, status string) bool {
	return where == nil || w.holds(where, instance{row: r, status: status}, false)
}

// seenBy returns what there is for an asker in answers that show versions with a status: a copy of the content without
// what the asker does not see.
func (w *World) seenBy(a *Asker, status string) *World {
	seen := w.clone()
	seen.Whole, seen.Alone = w, map[*Document][]*Row{}
	for i, d := range w.Docs {
		copied := seen.Docs[i]
		var rows []*Row
		for j, r := range d.Rows {
			if a.sees(w, r, status) {
				rows = append(rows, copied.Rows[j])
			}
			if a.seesAlone(w, r, status) {
				seen.Alone[copied] = append(seen.Alone[copied], copied.Rows[j])
			}
		}
		copied.Rows = rows
	}
	return seen
}

// namedAlone returns the document with that number, if a request for it shows a version.
func (w *World) namedAlone(number int) *Document {
	for d, rows := range w.Alone {
		if d.Number == number && len(rows) > 0 {
			return d
		}
	}
	return nil
}

// hides reports whether the document with an index is hidden from the asker in both contents.
func (c *couple) hides(i int) bool { return c.asker.hides(c.world, i) && c.asker.hides(c.other, i) }

// hides reports whether an asker neither sees nor may write any version of the document with an index, in whatever way.
func (a *Asker) hides(w *World, i int) bool {
	for _, r := range w.Docs[i].Rows {
		for _, status := range []string{published, draft} {
			if a.sees(w, r, status) || a.seesAlone(w, r, status) ||
				a.Does && w.meets(r, a.Find[r.Doc.Type], status) { // which is the rule of writes, too
				return false
			}
		}
	}
	return true
}

// listing describes everything in a World that answers with a status can show.
func (w *World) listing(status string) string {
	var b strings.Builder
	for _, d := range w.Docs {
		for at, rows := range [][]*Row{d.Rows, w.Alone[d]} {
			for _, r := range rows {
				if !d.Type.Drafts || r.Status == status {
					shown := w.show(r, view{status: status}, nil, everything(d.Type.Attributes))
					fmt.Fprintf(&b, "%d %s %s %s %s", at, d.Type.UID, r.Locale, r.Status, printed(shown))
					for _, state := range fixedCells["publication"] {
						fmt.Fprint(&b, " ", r.inPublication(state))
					}
					b.WriteString("\n")
				}
			}
		}
	}
	return b.String()
}

// shownTo describes everything that answers can show an asker.
func (w *World) shownTo(a *Asker) string {
	defer a.look(false)()
	return w.seenBy(a, published).listing(published) + w.seenBy(a, draft).listing(draft)
}

// writesShownTo describes the writes that the feed and the history tell an asker of: those of the versions that they
// see, even if they do not read updatedAt. It holds for clones of one World.
func (w *World) writesShownTo(a *Asker) string {
	var b strings.Builder
	for _, status := range []string{published, draft} {
		for _, d := range w.seenBy(a, status).Docs {
			for _, r := range d.Rows {
				fmt.Fprintf(&b, "%p ", r.Updated)
			}
		}
	}
	return b.String()
}
