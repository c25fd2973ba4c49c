package simulation

import (
	"sort"
	"strings"
)

// A Fault is an error in a GraphQL answer.
type Fault struct {
	Message string // "" is any
	Code    string
	Path    []any
}

// An answering evaluates a request.
type answering struct {
	world   *World
	limited bool
	view    view // of the root field that is answered
	faults  []*Fault
	path    []any
}

// Answer returns the data of the answer to a query, nil when it is null, and the errors.
func (w *World) Answer(r *Request) (any, []*Fault) {
	x := &answering{world: w, limited: r.Limited}
	out, whole := answered{}, true
	for _, g := range gather(r.Roots, "Query") {
		v, ok := any("Query"), true
		if g.Name != "__typename" {
			v, ok = x.root(g)
		}
		if whole = whole && ok; !whole && !w.Quirk.FaultsUnordered { // what comes behind is not run
			break
		}
		out = append(out, member{g.key(), v})
	}
	if !whole {
		return nil, x.faults
	}
	return out, x.faults
}

// at evaluates something one step down the path.
func (x *answering) at(step any, do func() (any, bool)) (any, bool) {
	x.path = append(x.path, step)
	v, ok := do()
	x.path = x.path[:len(x.path)-1]
	return v, ok
}

func (x *answering) fault(code, message string) {
	x.faults = append(x.faults, &Fault{message, code, append([]any(nil), x.path...)})
}

func (x *answering) allows(t *Type, action string) bool {
	return !x.limited || indexOf(x.world.Model.Permitted, t.UID+"."+action) >= 0
}

// root answers a field of Query; false is a null that may not be.
func (x *answering) root(g *gathered) (any, bool) {
	return x.at(g.key(), func() (any, bool) {
		w, q := x.world, &g.Args.Question
		action, nonNull := "find", g.Args.Form == "list"
		if g.Args.Form == "one" {
			action = "findOne"
		}
		if !x.allows(q.Type, action) {
			x.fault("FORBIDDEN", "Forbidden access")
			return nil, !nonNull
		}
		if !x.pages(g.Args) || !x.mayAsk(q.Filter, q.Sort) {
			return nil, !nonNull
		}
		x.view = q.view()
		rows := w.list(q)
		switch g.Args.Form {
		case "one", "single":
			if status, _ := w.one(q); status != 200 {
				return nil, true
			}
			for _, r := range rows {
				if q.Type.Single || r.Doc.Number == q.Number {
					return x.orNull(x.object(place{row: r, status: q.status()}, &q.Type.Schema, g.of))
				}
			}
			return nil, true
		}
		places := placesOf(rows, q.status())
		if g.Args.Form == "list" {
			return x.list(places, &q.Type.Schema, g.Args.Paging, g.of)
		}
		return x.connection(places, &q.Type.Schema, q.Type.word()+"EntityResponseCollection", g.Args.Paging, g.of)
	})
}

func (x *answering) orNull(v any, ok bool) (any, bool) {
	if !ok {
		return nil, true
	}
	return v, true
}

func placesOf(rows []*Row, status string) []place {
	var list []place
	for _, r := range rows {
		list = append(list, place{row: r, status: status})
	}
	return list
}

// object answers a selection on a row or component.
func (x *answering) object(p place, s *Schema, of []*Selected) (any, bool) {
	typ := x.world.Model.word(s)
	out := answered{}
	for _, g := range gather(of, typ) {
		v, ok := any(typ), true
		if g.Attr != nil {
			v, ok = x.at(g.key(), func() (any, bool) { return x.attribute(p, g, typ) })
		}
		if !ok {
			return nil, false
		}
		out = append(out, member{g.key(), v})
	}
	return out, true
}

// attribute answers a field that shows an attribute.
func (x *answering) attribute(p place, g *gathered, typ string) (any, bool) {
	a := g.Attr
	switch {
	case a.isScalar():
		v := p.shown(a)
		if v == nil && a.Required {
			x.fault("INTERNAL_SERVER_ERROR", "Cannot return null for non-nullable field "+typ+"."+a.Name+".")
			return nil, false
		}
		return v, true
	case a.Type == "dynamiczone":
		list := []any{}
		for i, t := range x.world.targets(p, a) {
			v, _ := x.at(i, func() (any, bool) { return x.orNull(x.object(t, &t.item.Component.Schema, g.of)) })
			list = append(list, v)
		}
		return list, true
	}
	flat := a.toMany() && !g.Connection
	if a.Type == "relation" && !x.allows(a.Target, "find") {
		x.fault("FORBIDDEN", "Forbidden access")
		return nil, !flat
	}
	in := x.world.schemaOf(a)
	if g.Args != nil && !(x.pages(g.Args) && x.mayAsk(g.Args.Filter, g.Args.Sort)) {
		return nil, !flat
	}
	targets := x.targets(p, g)
	switch {
	case g.Connection:
		return x.connection(targets, in, x.world.Model.word(in)+"RelationResponseCollection", g.Args.Paging, g.of)
	case a.toMany() || a.Repeatable:
		return x.list(targets, in, g.Args.Paging, g.of)
	case len(targets) == 0:
		return nil, true
	}
	return x.orNull(x.object(targets[0], in, g.of))
}

// schemaOf is what an attribute leads to.
func (w *World) schemaOf(a *Attribute) *Schema {
	switch {
	case a.Type == "media":
		return fileSchema
	case a.Component != nil:
		return &a.Component.Schema
	}
	return &a.Target.Schema
}

func (p place) id() float64 {
	f, _ := p.value("id").(float64)
	return f
}

// shown is a scalar as GraphQL prints it.
func (p place) shown(a *Attribute) any {
	if p.item != nil {
		if a.Type == "id" {
			return idText{p.item.ID}
		}
	} else if p.row != nil {
		switch a.Name {
		case "documentId":
			return p.row.Doc.ID
		case "createdAt":
			return p.row.Created
		case "updatedAt":
			return p.row.Updated
		case "publishedAt":
			if p.row.Published == nil {
				return nil
			}
			return p.row.Published
		}
	}
	v := p.value(a.Name)
	switch a.Type {
	case "password":
		return nil
	case "enumeration":
		if s, ok := v.(string); ok {
			return enumName(s)
		}
	}
	return v
}

// targets returns what a field leads to, filtered and sorted.
func (x *answering) targets(p place, g *gathered) []place {
	w := x.world
	var list []place
	for _, t := range w.targets(p, g.Attr) {
		if g.Attr.isLink() && t.row != nil && t.row.Doc.Type.Drafts && !t.row.inPublication(x.view.publication) {
			continue
		}
		if g.Args == nil || g.Args.Filter == nil || w.holds(g.Args.Filter, t, false) {
			list = append(list, t)
		}
	}
	if g.Args == nil || len(g.Args.Sort) == 0 {
		return list
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].id() < list[j].id() })
	sort.SliceStable(list, func(i, j int) bool {
		for _, k := range g.Args.Sort {
			c := nullsFirst(w.sortedBy(list[i], k), w.sortedBy(list[j], k))
			if k.Desc {
				c = -c
			}
			if c != 0 {
				return c < 0
			}
		}
		return false
	})
	return list
}

func (x *answering) list(places []place, s *Schema, page *Paging, of []*Selected) (any, bool) {
	list := []any{}
	for i, p := range x.world.page(places, page) {
		v, _ := x.at(i, func() (any, bool) { return x.orNull(x.object(p, s, of)) })
		list = append(list, v)
	}
	return list, true
}

// page is the part of a list that a pagination shows.
func (w *World) page(places []place, page *Paging) []place {
	start, size, _ := page.bounds(w.Model)
	start = min(start, len(places))
	return places[start:min(start+size, len(places))]
}

// connection answers nodes and pageInfo. A node cannot be null, nor can the list of them: then the connection is.
func (x *answering) connection(places []place, s *Schema, typ string, page *Paging, of []*Selected) (any, bool) {
	out := answered{}
	for _, g := range gather(of, typ) {
		v, ok := any(typ), true
		switch g.Name {
		case "nodes":
			v, ok = x.at(g.key(), func() (any, bool) { return x.nodes(x.world.page(places, page), s, g.of) })
		case "pageInfo":
			v = page.info(x.world.Model, len(places), g.of)
		}
		if !ok {
			return nil, true
		}
		out = append(out, member{g.key(), v})
	}
	return out, true
}

func (x *answering) nodes(places []place, s *Schema, of []*Selected) (any, bool) {
	list := []any{}
	for i, p := range places {
		v, ok := x.at(i, func() (any, bool) { return x.object(p, s, of) })
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// pages reports whether the pagination can be met.
func (x *answering) pages(a *Args) bool {
	if a.Paging == nil || indexOf(a.Null, "pagination") >= 0 || indexOf(a.Omitted, "pagination") >= 0 {
		return true
	}
	if _, _, ok := a.Paging.bounds(x.world.Model); !ok {
		x.fault("STRAPI_PAGINATION_ERROR", "Cannot use both page & offset pagination in the same query")
		return false
	}
	return true
}

// get returns a field of a pagination, if it is there and no null.
func (p *Paging) get(name string) (int, bool) {
	if p != nil {
		if i := indexOf(p.Fields, name); i >= 0 {
			n, ok := p.Values[i].(int)
			return n, ok
		}
	}
	return 0, false
}

// most is how long any list may be.
func (m *Model) most() int {
	if m.MaxLimit > 0 {
		return min(m.MaxLimit, 100)
	}
	return 100
}

// bounds returns which part of a list a pagination shows; ok is false when it contradicts itself.
func (p *Paging) bounds(m *Model) (start, size int, ok bool) {
	page, byPage := p.get("page")
	pageSize, bySize := p.get("pageSize")
	first, byStart := p.get("start")
	limit, byLimit := p.get("limit")
	if (byPage || bySize) && (byStart || byLimit) {
		return 0, 0, false
	}
	size = m.DefaultLimit
	switch {
	case bySize:
		size = max(pageSize, 1)
	case byLimit && limit == -1:
		size = m.most()
	case byLimit:
		size = max(limit, 1)
	}
	size = min(size, m.most())
	if byPage {
		return (max(page, 1) - 1) * size, size, true
	}
	return max(first, 0), size, true
}

// info answers pageInfo.
func (p *Paging) info(m *Model, total int, of []*Selected) answered {
	start, size, _ := p.bounds(m)
	page, pages := start/size+1, (total+size-1)/size
	if limit, ok := p.get("limit"); ok && limit == -1 && m.MaxLimit <= 0 && total-start <= size { // all that remains
		page, pages, size = 1, 1, max(total-start, 0)
	}
	out := answered{}
	for _, g := range gather(of, "Pagination") {
		var v any = "Pagination"
		switch g.Name {
		case "total":
			v = total
		case "page":
			v = page
		case "pageSize":
			v = size
		case "pageCount":
			v = pages
		}
		out = append(out, member{g.key(), v})
	}
	return out
}

// mayAsk reports whether the asker may filter and sort so.
func (x *answering) mayAsk(f *Filter, keys []SortKey) bool {
	message := ""
	if f != nil {
		if hidden := x.hidden(f, nil); len(hidden) == 1 {
			message = "Invalid key " + hidden[0]
		} else if len(hidden) > 1 {
			message = "Invalid key " + hidden[len(hidden)-1] + " at " + strings.Join(hidden, ".")
		}
	}
	for _, k := range keys {
		for i, a := range k.Path {
			if message == "" && (a.Type == "password" || a.Type == "relation" && !x.allows(a.Target, "find")) {
				message = "Invalid key " + a.Name
				if i > 0 {
					message += " at " + dotted(k.Path[:i+1])
				}
			}
		}
	}
	if message != "" {
		x.fault("BAD_USER_INPUT", message)
	}
	return message == ""
}

// hidden returns the path to the first thing in a filter that the asker may not ask for, or nil.
func (x *answering) hidden(f *Filter, path []string) []string {
	if f.Op == "into" {
		path = append(path[:len(path):len(path)], f.Attr.Name)
		if f.Attr.Type == "relation" && !x.allows(f.Attr.Target, "find") {
			return path
		}
	}
	if f.Op == "test" && f.Attr.Type == "password" {
		return append(path[:len(path):len(path)], f.Attr.Name)
	}
	for _, of := range f.Of {
		if found := x.hidden(of, path); found != nil {
			return found
		}
	}
	return nil
}
