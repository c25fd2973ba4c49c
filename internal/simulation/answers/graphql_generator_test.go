package answers

import (
	"fmt"
)

// Request returns a random query.
func (a *generator) Request() *Request {
	a.aliases, a.writes, a.plain = 0, false, a.chance(.2)
	r := &Request{Limited: a.chance(.12)}
	if a.chance(.3) {
		r.Name = "Q"
	}
	for n := 1 + a.rng.IntN(12)/8 + a.rng.IntN(12)/9; len(r.Roots) < n; {
		s := a.rootField()
		if len(r.Roots) > 0 { // two fields of one name need aliases
			a.rename(s)
		}
		r.Roots = append(r.Roots, s)
	}
	a.cover.Hit("request", map[bool]string{true: "one root field", false: "several root fields"}[len(r.Roots) == 1])
	if r.Limited {
		a.cover.Hit("request", "limited principal")
	}
	r.Roots = a.decorated(r.Roots, "Query")
	return r
}

func (a *generator) rename(s *Selection) {
	a.aliases++
	s.Alias = fmt.Sprintf("a%d", a.aliases)
	a.cover.Hit("select", "alias")
}

// rootField returns a random field of Query.
func (a *generator) rootField() *Selection {
	args := &Args{Question: Question{Type: a.typeToAsk()}}
	q := &args.Question
	s := &Selection{Name: q.Type.listField(), Args: args}
	d := a.document(q.Type)
	switch x := a.rng.Float64(); {
	case q.Type.Single:
		args.Form, s.Name = "single", q.Type.oneField()
	case x < .15 && d != nil:
		args.Form, s.Name, q.Number = "one", q.Type.oneField(), d.Number
		if a.chance(.05) {
			q.Number = nobody
		}
	case x < .45:
		args.Form, s.Name = "connection", q.Type.listField()+"_connection"
	default:
		args.Form = "list"
	}
	a.cover.Hit("root", args.Form)
	a.graphqlVersions(q)
	if args.Form == "list" || args.Form == "connection" {
		a.narrow(args, &q.Type.Schema, q.Type.Drafts, 3, 2)
	}
	if args.Form == "connection" {
		s.Of = a.connection(&q.Type.Schema, q.Type.Drafts, q.Type.word()+"EntityResponseCollection", true, 2)
	} else {
		s.Of = a.selection(&q.Type.Schema, q.Type.Drafts, 2+a.rng.IntN(2))
	}
	a.spelling(args, "filters", "pagination", "sort", "status", "hasPublishedVersion", "publicationFilter", "locale")
	return s
}

// nobody is the number of a document that never existed.
const nobody = 1 << 30

// graphqlVersions chooses locale, status and publication filter.
func (a *generator) graphqlVersions(q *Question) {
	q.Status = Least(a.cover, a.rng, []string{"", published, draft},
		func(s string) string { return versionCell("none", s) })
	if q.Type.Localized {
		form := Least(a.cover, a.rng, graphqlLocales, func(l string) string { return versionCell(l, q.Status) })
		switch form {
		case "default":
			q.Locale = []string{a.world.Model.Locales[0]}
		case "other":
			q.Locale = []string{pick(a.rng, a.world.Model.Locales[1:])}
		case "all":
			q.Locale = []string{"*"}
		case "unknown":
			q.Locale = []string{"it"}
		}
		a.cover.Hits[versionCell(form, q.Status)]++
	} else {
		a.cover.Hits[versionCell("none", q.Status)]++
	}
	if a.chance(.15) {
		q.Publication = Least(a.cover, a.rng, fixedCells["publication"],
			func(s string) string { return "publication: " + s })
		a.cover.Hit("publication", q.Publication)
	}
	if a.chance(.08) {
		q.HasVersion = pick(a.rng, []string{"true", "false"})
		a.cover.Hit("request", "hasPublishedVersion")
	}
}

var graphqlLocales = []string{"none", "default", "other", "all", "unknown"}

// narrow chooses filters, sort and pagination for a list of s.
func (a *generator) narrow(args *Args, s *Schema, drafts bool, depth, sorts int) {
	where := "list"
	if args.Form != "" {
		where = "root"
	}
	if a.chance(.015) && !a.plain {
		a.forbiddenKey(args, s)
		return
	}
	if !a.writes && !a.plain && a.chance(pickOf(where == "root", .75, .35)) {
		args.Filter = a.filter(s, drafts, depth)
		a.countFilter(args.Filter)
		a.cover.Hit(where, "filters")
	}
	if !a.writes && !a.plain && a.chance(pickOf(where == "root", .6, .4)) {
		args.Sort, args.SortForm = a.sortKeys(s, drafts, sorts), a.rng.IntN(4)
		if len(args.Sort) > 0 {
			a.cover.Hit(where, "sort")
		}
	}
	if a.chance(.45) {
		args.Paging = a.paging(args.Form != "")
		a.cover.Hit(where, "pagination")
	}
}

// forbiddenKey adds a filter or sort by a password, which nobody may use.
func (a *generator) forbiddenKey(args *Args, s *Schema) {
	for _, x := range s.Attributes {
		if x.Type != "password" {
			continue
		}
		if a.chance(.5) {
			args.Sort = []SortKey{{[]*Attribute{x}, a.chance(.5)}}
			return
		}
		f := &Filter{Op: "test", Attr: x, Operator: "$eq", Operands: []Operand{{Text: "x", Value: "x"}}}
		args.Filter = &Filter{Op: "and", Of: []*Filter{a.test(s), f}}
	}
}

func (a *generator) sortKeys(s *Schema, drafts bool, depth int) []SortKey {
	var keys []SortKey
	seen := map[string]bool{}
	for range 1 + a.rng.IntN(2) {
		path := a.path(s, drafts, depth)
		if path == nil || seen[dotted(path)] {
			continue
		}
		seen[dotted(path)] = true
		keys = append(keys, SortKey{path, a.chance(.5)})
		for _, x := range path[:len(path)-1] {
			a.cover.Hit("sort", map[bool]string{true: "through relation", false: "through component"}[x.isLink()])
		}
	}
	return keys
}

// paging chooses an argument pagination.
func (a *generator) paging(root bool) *Paging {
	form := pick(a.rng, []string{"page", "page", "offset", "offset", "odd", "none", "both"})
	a.cover.Hit("page", form)
	p := &Paging{Fields: []string{}, Values: []any{}}
	add := func(name string, v any) {
		if v == 500 && a.quirk.NoAmountLimit {
			v = 50
		}
		if len(p.Fields) == 0 || a.chance(.7) {
			p.Fields, p.Values = append(p.Fields, name), append(p.Values, v)
		}
	}
	switch form {
	case "page":
		add("page", 1+a.rng.IntN(3))
		add("pageSize", 1+a.rng.IntN(6))
	case "offset":
		add("limit", 1+a.rng.IntN(6))
		add("start", a.rng.IntN(6))
	case "odd":
		add(pick(a.rng, []string{"page", "pageSize"}), pick(a.rng, []any{0, -2, nil, 500}))
		if root && a.chance(.6) {
			p.Fields, p.Values = []string{"start", "limit"},
				[]any{pick(a.rng, []any{0, 2, nil, -5, 1000}), pick(a.rng, []any{-1, -1, 0, 500, -7, nil})}
			if a.quirk.NullLimit && p.Values[1] == nil {
				p.Values[0] = nil
			}
			if a.quirk.NegativePages && p.Values[1] == -1 {
				p.Values[0] = 0
			}
			if a.quirk.NoAmountLimit && p.Values[1] == 500 {
				p.Values[1] = 50
			}
		}
	case "both":
		if a.chance(.2) {
			p.Fields, p.Values = []string{"page", "limit"}, []any{1, 2}
			a.cover.Hit("fault", "both paginations")
		}
	}
	return p
}

// spelling chooses which arguments are passed by variables, and which are null or omitted where that means the same.
func (a *generator) spelling(args *Args, names ...string) {
	for _, name := range names {
		switch x := a.rng.Float64(); {
		case x < .15:
			args.Variable = append(args.Variable, name)
			a.cover.Hit("argument", "variable")
		case args.has(name):
		case x < .18 && !(a.quirk.NullPagination && name == "pagination") &&
			!(a.quirk.NullHasVersion && name == "hasPublishedVersion"):
			args.Null = append(args.Null, name)
			a.cover.Hit("argument", "null")
		case x < .22:
			args.Omitted = append(args.Omitted, name)
			a.cover.Hit("argument", "variable without a value")
		}
	}
}

// has reports whether an argument has a value, or cannot have one.
func (a *Args) has(name string) bool {
	list := a.Form == "" || a.Form == "list" || a.Form == "connection"
	switch name {
	case "filters":
		return !list || a.Filter != nil
	case "pagination":
		return !list || a.Paging != nil
	case "sort":
		return !list || a.Sort != nil
	case "status":
		return a.Status != ""
	case "hasPublishedVersion":
		return a.HasVersion != ""
	case "publicationFilter":
		return a.Publication != ""
	}
	return !a.Type.Localized || len(a.Locale) > 0
}

// connection selects parts of a connection.
func (a *generator) connection(s *Schema, drafts bool, typ string, info bool, depth int) []*Selection {
	var list []*Selection
	if a.chance(.9) || !info {
		list = append(list, &Selection{Name: "nodes", Of: a.selection(s, drafts, depth)})
	}
	if info && (len(list) == 0 || a.chance(.6)) {
		var parts []*Selection
		for _, i := range a.rng.Perm(4)[:1+a.rng.IntN(4)] {
			parts = append(parts, &Selection{Name: []string{"total", "page", "pageSize", "pageCount"}[i]})
		}
		list = append(list, &Selection{Name: "pageInfo", Of: a.decorated(parts, "Pagination")})
		a.cover.Hit("select", "pageInfo")
	}
	a.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return a.decorated(list, typ)
}

// selection selects random fields of a document or component.
func (a *generator) selection(s *Schema, drafts bool, depth int) []*Selection {
	var list []*Selection
	for _, i := range a.rng.Perm(len(s.Attributes)) {
		x := s.Attributes[i]
		if x.Private || x.Type == "id" && a.typeOf(s) != nil {
			continue
		}
		switch {
		case x.Type == "password":
			if !a.quirk.PasswordsShown && a.chance(.1) {
				list = append(list, &Selection{Name: x.Name, Attr: x})
			}
		case x.isScalar():
			if a.chance(.3) {
				list = append(list, &Selection{Name: x.Name, Attr: x})
			}
		case depth > 0 && a.chance(.4) && a.canShow(x, drafts):
			list = append(list, a.leads(x, drafts, depth-1))
		}
	}
	if len(list) == 0 {
		list = append(list, a.anyField(s))
	}
	return a.decorated(list, a.world.Model.word(s))
}

// canShow reports whether the evaluator can predict what the server shows under x.
func (a *generator) canShow(x *Attribute, drafts bool) bool {
	switch x.Type {
	case "localizations":
		return !a.quirk.LocalizationsFilter
	case "relation":
		return !(a.writes && a.quirk.JoinsAllVersions && !drafts && x.Target.Drafts)
	}
	return true
}

// anyField selects the id of a document or component.
func (a *generator) anyField(s *Schema) *Selection {
	x := s.Find("documentId")
	if x == nil {
		x = s.Find("id")
	}
	if x == nil {
		return &Selection{Name: "__typename"}
	}
	return &Selection{Name: x.Name, Attr: x}
}

// leads selects an attribute together with random fields of its targets.
func (a *generator) leads(x *Attribute, drafts bool, depth int) *Selection {
	s := &Selection{Name: x.Name, Attr: x}
	switch x.Type {
	case "dynamiczone":
		s.Of = a.zoneSelection(x, drafts, depth)
		return s
	}
	in, d := a.world.schemaOf(x), drafts
	if x.Target != nil {
		d = x.Target.Drafts
	}
	if x.Type == "relation" {
		a.cover.Hit("show relation", x.kind())
	} else {
		a.cover.Hit("select", pick2(x.Repeatable, "repeatable", x.Type))
	}
	if !x.toMany() && !x.Repeatable {
		s.Of = a.selection(in, d, depth)
		return s
	}
	s.Args = &Args{}
	if x.Type == "localizations" && x.Owner.Single { // it takes no arguments
		s.Of = a.selection(in, d, depth)
		return s
	}
	a.narrow(s.Args, in, d, 2, pickOf(x.isLink() && !a.quirk.NestedSortFails, 1, 0))
	if s.Connection = x.isLink() && a.chance(.4); s.Connection {
		s.Name += "_connection"
		s.Of = a.connection(in, d, a.world.Model.word(in)+"RelationResponseCollection", false, depth)
		if x.Type == "relation" {
			a.cover.Hit("show connection", x.kind())
		}
	} else {
		s.Of = a.selection(in, d, depth)
	}
	a.spelling(s.Args, "filters", "pagination", "sort")
	return s
}

func pickOf[T any](first bool, x, y T) T {
	if first {
		return x
	}
	return y
}

// zoneSelection selects fields of the components of a zone, in one or more fragments for each component.
func (a *generator) zoneSelection(x *Attribute, drafts bool, depth int) []*Selection {
	var list []*Selection
	if a.chance(.6) {
		list = append(list, &Selection{Name: "__typename"})
	}
	for _, c := range x.Components {
		if a.chance(.75) || len(list) == 0 {
			list = append(list, &Selection{Fragment: pick(a.rng, []string{"inline", "named"}), On: c.word(),
				Of: a.selection(&c.Schema, drafts, depth)})
		}
	}
	if a.chance(.2) {
		list = append(list, &Selection{Fragment: "inline", On: "Error",
			Of: []*Selection{{Name: "code"}, {Name: "message"}}})
	}
	a.cover.Hit("select", "dynamiczone")
	return list
}

// decorated adds aliases, __typename, directives, fragments and repeated fields to a selection.
func (a *generator) decorated(list []*Selection, typ string) []*Selection {
	if a.chance(.1) {
		at := a.rng.IntN(len(list) + 1)
		list = append(list[:at:at], append([]*Selection{{Name: "__typename"}}, list[at:]...)...)
		a.cover.Hit("select", "__typename")
	}
	var again []*Selection
	for _, s := range list {
		if s.Alias == "" && a.chance(.1) {
			a.rename(s)
		}
		if a.chance(.05) {
			again = append(again, a.repeated(s))
		}
		if a.chance(.05) {
			a.direct(s)
		}
	}
	list = append(list, again...)
	if a.chance(.15) {
		from := a.rng.IntN(len(list))
		to := from + 1 + a.rng.IntN(len(list)-from)
		f := &Selection{Fragment: pick(a.rng, []string{"named", "inline", "bare"}), On: typ,
			Of: append([]*Selection(nil), list[from:to]...)}
		if a.chance(.25) {
			a.direct(f)
		}
		a.cover.Hit("select", f.Fragment+" fragment")
		list = append(list[:from:from], append([]*Selection{f}, list[to:]...)...)
	}
	return list
}

// repeated returns a copy of a field with fewer selections.
func (a *generator) repeated(s *Selection) *Selection {
	c := *s
	c.Directives = nil
	if len(c.Of) > 0 {
		c.Of = c.Of[a.rng.IntN(len(c.Of)):]
	}
	a.cover.Hit("select", "repeated")
	return &c
}

func (a *generator) direct(s *Selection) {
	d := Directive{Skip: a.chance(.5), Variable: a.chance(.5)}
	d.If = d.Skip != a.chance(.6)
	s.Directives = append(s.Directives, d)
	a.cover.Hit("select", pick2(d.Skip, "skip", "include"))
}
