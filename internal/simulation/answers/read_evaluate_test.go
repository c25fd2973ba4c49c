package answers

import (
	"sort"
	"strconv"
	"strings"
)

// Evaluate returns the expected status and body of the response to q. It always looks at all rows.
func (w *World) Evaluate(q *Question) (int, any) {
	if q.Number != 0 || q.Type.Single {
		return w.one(q)
	}
	rows := w.list(q)
	from, to := q.Page.bounds(len(rows))
	data := []any{}
	for _, r := range rows[from:to] {
		data = append(data, w.show(r, q.view(), q.Fields, q.Populate))
	}
	return 200, map[string]any{"data": data, "meta": map[string]any{"pagination": q.Page.meta(len(rows))}}
}

func (w *World) one(q *Question) (int, any) {
	if len(q.Locale) > 1 && q.Type.Localized {
		return 400, nil
	}
	d := w.Document(q.Number)
	if q.Type.Single {
		d = w.Single(q.Type)
	} else if w.Alone != nil {
		d = w.namedAlone(q.Number)
	}
	if d == nil || q.Type.Localized && len(q.Locale) == 1 && q.Locale[0] == "*" && !asksLocale(q.Filter) {
		return 404, nil
	}
	for _, r := range w.list(q) {
		if r.Doc == d {
			return 200, map[string]any{"data": w.show(r, q.view(), q.Fields, q.Populate), "meta": map[string]any{}}
		}
	}
	return 404, nil
}

// status returns the version that a question reads.
func (q *Question) status() string {
	if q.Status == "" || q.Status == published {
		return published
	}
	return draft
}

// A view says which versions a response shows: those with a status, restricted by a publication filter.
type view struct{ status, publication string }

func (q *Question) view() view { return view{q.status(), q.publication()} }

// list returns the rows that match q, in order.
func (w *World) list(q *Question) []*Row {
	var rows []*Row
	all := w.rows(q.Type)
	if q.Number != 0 && w.Alone != nil {
		all = w.Alone[w.namedAlone(q.Number)]
	}
	for _, r := range all {
		if (!q.Type.Drafts || r.Status == q.status()) && w.inLocale(q, r) && w.matches(q, r) {
			rows = append(rows, r)
		}
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].id() < rows[j].id() })
	w.order(rows, q.Sort, q.status())
	return rows
}

func (w *World) inLocale(q *Question, r *Row) bool {
	if !q.Type.Localized || asksLocale(q.Filter) {
		return true
	}
	if len(q.Locale) == 0 || len(q.Locale) == 1 && q.Locale[0] == "" {
		return r.Locale == w.Model.Locales[0]
	}
	return indexOf(q.Locale, r.Locale) >= 0 || len(q.Locale) == 1 && q.Locale[0] == "*"
}

// asksLocale reports whether a filter has a condition on locale at its top level.
func asksLocale(f *Filter) bool {
	if f == nil {
		return false
	}
	if f.Op == "test" {
		return f.Attr.Type == "locale"
	}
	if f.Op == "and" && f.Implicit {
		for _, x := range f.Of {
			if asksLocale(x) {
				return true
			}
		}
	}
	return false
}

func (w *World) matches(q *Question, r *Row) bool {
	return (q.Filter == nil || w.holds(q.Filter, instance{row: r, status: q.status()}, false)) &&
		(!q.Type.Drafts || r.inPublication(q.publication())) && (q.Search == "" || w.found(r, q.Search))
}

func (q *Question) publication() string {
	switch {
	case q.Publication != "":
		return q.Publication
	case q.HasVersion == "true":
		return "has-published-version-document"
	case q.HasVersion == "false":
		return "never-published-document"
	}
	return ""
}

// inPublication reports whether a row matches a publication filter.
func (r *Row) inPublication(state string) bool {
	d := r.Doc.Row(r.Locale, draft)
	p := r.Doc.Row(r.Locale, published)
	anywhere := r.Status == published
	if anywhere { // also if lists do not show it, but a request for its document does
		p = r
	} else {
		d = r
	}
	for _, x := range r.Doc.Rows {
		anywhere = anywhere || x.Status == published
	}
	switch state {
	case "never-published":
		return p == nil
	case "has-published-version":
		return p != nil
	case "modified":
		return d != nil && p != nil && d.Updated.text() > p.Updated.text()
	case "unmodified":
		return d != nil && p != nil && d.Updated.text() <= p.Updated.text()
	case "never-published-document":
		return !anywhere
	case "has-published-version-document":
		return anywhere
	case "published-without-draft":
		return r.Status == published && d == nil
	case "published-with-draft":
		return r.Status == published && d != nil
	}
	return true
}

func (g *Generated) text() string {
	s, _ := g.Value.(string)
	return s
}

// found reports whether a full-text search for text matches a row.
func (w *World) found(r *Row, text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	numeric := err == nil
	for _, a := range r.Doc.Type.Attributes {
		v := r.value(a.Name)
		if v == nil || a.Private {
			continue
		}
		switch a.Type {
		case "id", "integer", "biginteger", "float", "decimal":
			if !numeric {
				continue
			}
		case "string", "text", "richtext", "uid", "email", "enumeration", "documentId":
		default:
			continue
		}
		if strings.Contains(textOf(v), text) || !w.Quirk.SearchLeaks && strings.Contains(fold(textOf(v)), fold(text)) {
			return true
		}
	}
	return false
}

// An instance is what a filter tests: a row, a component in a row, or nothing, if a relation has no target.
type instance struct {
	row    *Row
	item   *Item
	file   *File
	status string
}

func (p instance) value(name string) any {
	switch {
	case p.file != nil:
		return p.file.value(name)
	case p.item != nil:
		return p.item.value(name)
	case p.row != nil:
		return p.row.value(name)
	}
	return nil
}

// value returns a scalar of a row, which may be a system attribute.
func (r *Row) value(name string) any {
	generated := map[string]*Generated{"id": r.ID, "documentId": r.Doc.ID, "createdAt": r.Created,
		"updatedAt": r.Updated, "publishedAt": r.Published}
	if g, ok := generated[name]; ok {
		if g == nil {
			return nil
		}
		return g.Value
	}
	if name == "locale" {
		return r.Locale
	}
	return r.Fields[name]
}

func (r *Row) id() float64 {
	f, _ := r.ID.Value.(float64)
	return f
}

func (it *Item) value(name string) any {
	if name == "id" {
		return it.ID.Value
	}
	return it.Fields[name]
}

// targets returns the instances that an attribute leads to.
func (w *World) targets(p instance, a *Attribute) []instance {
	var list []instance
	switch {
	case p.item == nil && p.row == nil:
	case a.Type == "component" || a.Type == "dynamiczone":
		items := p.row.Items
		if p.item != nil {
			items = p.item.Items
		}
		for _, it := range items[a.Name] {
			list = append(list, instance{row: p.row, item: it, status: p.status})
		}
	case a.Type == "localizations":
		for _, r := range p.row.Doc.Rows {
			if r.Status == p.row.Status && r.Locale != p.row.Locale {
				list = append(list, instance{row: r, status: p.status})
			}
		}
		sort.Slice(list, func(i, j int) bool { return list[i].row.Locale < list[j].row.Locale })
	case a.Type == "media":
		for _, f := range w.files(p.row, a) {
			list = append(list, instance{file: f, status: p.status})
		}
	case a.Type == "relation":
		for _, r := range w.related(p, a) {
			list = append(list, instance{row: r, status: p.status})
		}
	}
	return list
}

// related returns the rows that responses show under a relation.
func (w *World) related(p instance, a *Attribute) []*Row {
	var ends []End
	if p.item != nil {
		ends = p.item.Ends[a.Name]
	} else {
		ends = w.Ends(a, p.row.end(), linkSetOf(a, p.status))
	}
	var rows []*Row
	for _, e := range ends {
		if r := e.Doc.Row(e.Locale, p.status); r != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// holds reports whether f, or its negation if negated, is true for some choice of targets. Unknown does not count as
// true.
func (w *World) holds(f *Filter, p instance, negated bool) bool {
	switch f.Op {
	case "not":
		return w.holds(f.Of[0], p, !negated)
	case "and", "or":
		all := (f.Op == "and") != negated
		for _, x := range f.Of {
			if w.holds(x, p, negated) != all {
				return !all
			}
		}
		return all
	case "nothing":
		return !negated
	case "into":
		targets := w.targets(p, f.Attr)
		if len(targets) == 0 {
			targets = []instance{{status: p.status}}
		}
		for _, t := range targets {
			if w.holds(f.Of[0], t, negated) {
				return true
			}
		}
		return false
	}
	name := f.Attr.Name
	if f.Attr == self {
		name = "id"
	}
	t := w.test(f, p.value(name))
	if f.Not != negated {
		return t == no
	}
	return t == yes
}

// order sorts rows by keys with a stable sort.
func (w *World) order(rows []*Row, keys []SortKey, status string) {
	sort.SliceStable(rows, func(i, j int) bool {
		for _, k := range keys {
			c := nullsFirst(w.sortedBy(instance{row: rows[i], status: status}, k),
				w.sortedBy(instance{row: rows[j], status: status}, k))
			if k.Desc {
				c = -c
			}
			if c != 0 {
				return c < 0
			}
		}
		return false
	})
}

func nullsFirst(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return compare(a, b)
}

// sortedBy returns the value that an instance is sorted by: of all values at the end of the path the smallest, or in
// descending order the largest.
func (w *World) sortedBy(p instance, k SortKey) any {
	at := []instance{p}
	for _, a := range k.Path[:len(k.Path)-1] {
		var next []instance
		for _, p := range at {
			targets := w.targets(p, a)
			if len(targets) == 0 {
				targets = []instance{{status: p.status}}
			}
			next = append(next, targets...)
		}
		at = next
	}
	name := k.Path[len(k.Path)-1].Name
	best := at[0].value(name)
	for _, p := range at[1:] {
		c := nullsFirst(p.value(name), best)
		if k.Desc && c > 0 || !k.Desc && c < 0 {
			best = p.value(name)
		}
	}
	return best
}

// bounds returns the range of rows that a page shows.
func (p Page) bounds(total int) (from, to int) {
	from = p.Start
	if !p.ByOffset {
		from = (p.Page - 1) * p.Size
	}
	from = min(from, total)
	return from, min(from+p.Size, total)
}

func (p Page) meta(total int) map[string]any {
	m := map[string]any{"page": float64(p.Page), "pageSize": float64(p.Size)}
	if p.ByOffset {
		m = map[string]any{"start": float64(p.Start), "limit": float64(p.Size)}
	}
	if p.WithCount {
		m["total"] = float64(total)
		if !p.ByOffset {
			m["pageCount"] = float64((total + p.Size - 1) / p.Size)
		}
	}
	return m
}
