package answers

import (
	"sort"
	"strings"
)

// An Issue is an error in a GraphQL response.
type Issue struct {
	Message string // "" matches any message
	Code    string
	Path    []any
}

// An evaluation computes the expected response to a GraphQL request.
type evaluation struct {
	world   *World
	limited bool
	asker   *Asker // for whom world is what they see of it; nil: for others
	view    view   // the view of the current root field
	issues  []*Issue
	path    []any
	settle  func() error // of a mutation: settles the positions that a write leaves unknown
	failed  error        // the first error of settle
}

// Answer returns the expected data of a query, nil when it is null, and the expected errors.
func (w *World) Answer(r *Request) (any, []*Issue) {
	return (&evaluation{world: w, limited: r.Limited}).answer(r)
}

// AnswerTo is Answer to a query of an asker.
func (w *World) AnswerTo(a *Asker, r *Request) (any, []*Issue) {
	return (&evaluation{world: w, asker: a}).answer(r)
}

func (x *evaluation) answer(r *Request) (any, []*Issue) {
	w := x.world
	out, complete := orderedObject{}, true
	for _, g := range collectFields(r.Roots, "Query") {
		v, ok := any("Query"), true
		if g.Name != "__typename" {
			v, ok = x.root(g)
		}
		if complete = complete && ok; !complete &&
			!w.Quirk.ErrorsUnordered { // the server does not resolve the remaining root fields
			break
		}
		out = append(out, member{g.key(), v})
	}
	if !complete {
		return nil, x.issues
	}
	return out, x.issues
}

// at evaluates one step below the current path.
func (x *evaluation) at(element any, do func() (any, bool)) (any, bool) {
	x.path = append(x.path, element)
	v, ok := do()
	x.path = x.path[:len(x.path)-1]
	return v, ok
}

func (x *evaluation) report(code, message string) {
	x.issues = append(x.issues, &Issue{message, code, append([]any(nil), x.path...)})
}

func (x *evaluation) allows(t *Type, action string) bool {
	return !x.limited || indexOf(x.world.Model.Permitted, t.UID+"."+action) >= 0
}

// root evaluates a field of Query. It returns false for a null where the schema allows none.
func (x *evaluation) root(g *collectedField) (any, bool) {
	return x.at(g.key(), func() (any, bool) {
		q := &g.Args.Question
		if whole := x.world; x.asker != nil {
			x.world = whole.seenBy(x.asker, q.status())
			defer func() { x.world = whole }()
		}
		w := x.world
		action, nonNull := "find", g.Args.Form == "list"
		if g.Args.Form == "one" {
			action = "findOne"
		}
		if !x.allows(q.Type, action) {
			x.report("FORBIDDEN", "Forbidden access")
			return nil, !nonNull
		}
		if !x.pages(g.Args) || !x.permits(q.Filter, q.Sort) {
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
					return x.orNull(x.object(instance{row: r, status: q.status()}, &q.Type.Schema, g.of))
				}
			}
			return nil, true
		}
		instances := instancesOf(rows, q.status())
		if g.Args.Form == "list" {
			return x.list(instances, &q.Type.Schema, g.Args.Paging, g.of)
		}
		return x.connection(instances, &q.Type.Schema, q.Type.word()+"EntityResponseCollection", g.Args.Paging, g.of)
	})
}

func (x *evaluation) orNull(v any, ok bool) (any, bool) {
	if !ok {
		return nil, true
	}
	return v, true
}

func instancesOf(rows []*Row, status string) []instance {
	var list []instance
	for _, r := range rows {
		list = append(list, instance{row: r, status: status})
	}
	return list
}

// object evaluates the selections on a row or component.
func (x *evaluation) object(p instance, s *Schema, of []*Selection) (any, bool) {
	typ := x.world.Model.word(s)
	out := orderedObject{}
	for _, g := range collectFields(of, typ) {
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

// attribute evaluates a field that shows an attribute.
func (x *evaluation) attribute(p instance, g *collectedField, typ string) (any, bool) {
	a := g.Attr
	switch {
	case a.isScalar():
		v := p.shown(a)
		if v == nil && a.Required {
			x.report("INTERNAL_SERVER_ERROR", "Cannot return null for non-nullable field "+typ+"."+a.Name+".")
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
		x.report("FORBIDDEN", "Forbidden access")
		return nil, !flat
	}
	in := x.world.schemaOf(a)
	if g.Args != nil && !(x.pages(g.Args) && x.permits(g.Args.Filter, g.Args.Sort)) {
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

// schemaOf returns the schema of an attribute's targets.
func (w *World) schemaOf(a *Attribute) *Schema {
	switch {
	case a.Type == "media":
		return fileSchema
	case a.Component != nil:
		return &a.Component.Schema
	}
	return &a.Target.Schema
}

func (p instance) id() float64 {
	f, _ := p.value("id").(float64)
	return f
}

// shown returns a scalar as GraphQL prints it.
func (p instance) shown(a *Attribute) any {
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

// targets returns the rows or components that a field shows, filtered and sorted.
func (x *evaluation) targets(p instance, g *collectedField) []instance {
	w := x.world
	var list []instance
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

func (x *evaluation) list(instances []instance, s *Schema, page *Paging, of []*Selection) (any, bool) {
	list := []any{}
	for i, p := range x.world.page(instances, page) {
		v, _ := x.at(i, func() (any, bool) { return x.orNull(x.object(p, s, of)) })
		list = append(list, v)
	}
	return list, true
}

// page returns the part of a list that a pagination selects.
func (w *World) page(instances []instance, page *Paging) []instance {
	start, size, _ := page.bounds(w.Model)
	start = min(start, len(instances))
	return instances[start:min(start+size, len(instances))]
}

// connection evaluates nodes and pageInfo. Neither a node nor the list of nodes may be null; a null in them makes the
// connection null.
func (x *evaluation) connection(instances []instance, s *Schema, typ string, page *Paging,
	of []*Selection) (any, bool) {
	out := orderedObject{}
	for _, g := range collectFields(of, typ) {
		v, ok := any(typ), true
		switch g.Name {
		case "nodes":
			v, ok = x.at(g.key(), func() (any, bool) { return x.nodes(x.world.page(instances, page), s, g.of) })
		case "pageInfo":
			v = page.info(x.world.Model, len(instances), g.of)
		}
		if !ok {
			return nil, true
		}
		out = append(out, member{g.key(), v})
	}
	return out, true
}

func (x *evaluation) nodes(instances []instance, s *Schema, of []*Selection) (any, bool) {
	list := []any{}
	for i, p := range instances {
		v, ok := x.at(i, func() (any, bool) { return x.object(p, s, of) })
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// pages reports whether the pagination is valid.
func (x *evaluation) pages(a *Args) bool {
	if a.Paging == nil || indexOf(a.Null, "pagination") >= 0 || indexOf(a.Omitted, "pagination") >= 0 {
		return true
	}
	if _, _, ok := a.Paging.bounds(x.world.Model); !ok {
		x.report("STRAPI_PAGINATION_ERROR", "Cannot use both page & offset pagination in the same query")
		return false
	}
	return true
}

// get returns a field of a pagination; ok is false if it is missing or null.
func (p *Paging) get(name string) (int, bool) {
	if p != nil {
		if i := indexOf(p.Fields, name); i >= 0 {
			n, ok := p.Values[i].(int)
			return n, ok
		}
	}
	return 0, false
}

// maxListLength returns how long any list in a response may be.
func (m *Model) maxListLength() int {
	if m.MaxLimit > 0 {
		return min(m.MaxLimit, 100)
	}
	return 100
}

// bounds returns the part of a list that a pagination selects; ok is false when its fields contradict each other.
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
		size = m.maxListLength()
	case byLimit:
		size = max(limit, 1)
	}
	size = min(size, m.maxListLength())
	if byPage {
		return (max(page, 1) - 1) * size, size, true
	}
	return max(first, 0), size, true
}

// info evaluates pageInfo.
func (p *Paging) info(m *Model, total int, of []*Selection) orderedObject {
	start, size, _ := p.bounds(m)
	page, pages := start/size+1, (total+size-1)/size
	if limit, ok := p.get("limit"); ok && limit == -1 && m.MaxLimit <= 0 &&
		total-start <= size { // the page shows everything that remains
		page, pages, size = 1, 1, max(total-start, 0)
	}
	out := orderedObject{}
	for _, g := range collectFields(of, "Pagination") {
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

// permits reports whether the principal may use the filter and the sort keys.
func (x *evaluation) permits(f *Filter, keys []SortKey) bool {
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
		x.report("BAD_USER_INPUT", message)
	}
	return message == ""
}

// hidden returns the path to the first attribute in a filter that the principal may not use, or nil.
func (x *evaluation) hidden(f *Filter, path []string) []string {
	if f.Op == "into" || f.Op == "nothing" && f.Attr != nil {
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
