package answers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator makes random questions about a World.
type generator struct {
	rng     *rand.Rand
	world   *World
	quirk   Quirks
	cover   *Coverage
	graphql bool // make GraphQL queries in place of REST questions
	plain   bool // use neither filters nor sorts
	aliases int  // number of aliases used in the current request
	writes  bool // the request is a mutation: filters and sorts may not use values that the server generates during the write
}

func (a *generator) chance(p float64) bool { return a.rng.Float64() < p }

// Question returns a random question that the server must answer without an error.
func (a *generator) Question() *Question {
	q := &Question{Type: a.typeToAsk()}
	reading := "list"
	if q.Type.Single {
		reading = "single type"
	} else if d := a.document(q.Type); d != nil && a.chance(.12) {
		q.Number, reading = d.Number, "one"
	}
	a.cover.Hit("read", reading)
	a.versions(q)
	single := reading != "list"
	if a.chance(.85) && (!single || a.chance(.2)) {
		q.Filter = a.filter(&q.Type.Schema, q.Type.Drafts, 3)
		if reading == "one" && a.quirk.OneLosesFilters && q.Filter.names("documentId") {
			q.Filter = nil
		} else {
			a.countFilter(q.Filter)
		}
	}
	if a.chance(.12) && (!single || a.chance(.2)) && a.canSearch(q.Type) {
		q.Search = a.search()
		a.cover.Hit("read", "search")
	}
	if !single {
		q.Page = a.page()
		a.sort(q)
	}
	if a.chance(.5) {
		q.Fields = a.fields(q.Type.Attributes)
		q.FieldsForm = a.rng.IntN(3)
		a.cover.Hit("fields", []string{"list", "indexed", "repeated"}[q.FieldsForm])
	}
	if a.chance(.45) {
		q.Populate = a.populate(&q.Type.Schema, q.Type.Drafts, 2)
		if a.quirk.LocalizationsFilter && !single {
			q.Populate = withoutLocalizations(q.Populate, q.Type)
		}
		a.countPopulate(q.Populate)
	}
	a.showSorted(q)
	return q
}

// typeToAsk returns a random type, and types that hold many documents more often.
func (a *generator) typeToAsk() *Type {
	asked, collections := a.world.Model.asked()
	t := pick(a.rng, asked)
	if t.Single && a.chance(.5) {
		t = pick(a.rng, collections)
	}
	return t
}

// showSorted adds the sort keys to the selected fields if the server would show them anyway.
func (a *generator) showSorted(q *Question) {
	if !a.quirk.NumbersAsSQL || len(q.Fields) == 0 {
		return
	}
	for _, k := range q.Sort {
		if len(k.Path) == 1 && indexOf(q.Fields, k.Path[0].Name) < 0 {
			q.Fields = append(q.Fields, k.Path[0].Name)
		}
	}
}

// document returns a random document of a type.
func (a *generator) document(t *Type) *Document {
	var all []*Document
	for _, d := range a.world.Docs {
		if d.Type == t && len(d.Rows) > 0 {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return pick(a.rng, all)
}

// versions chooses locale, status and publication filter.
func (a *generator) versions(q *Question) {
	q.Status = Least(a.cover, a.rng, []string{"", "", published, draft, draft, "junk"},
		func(s string) string { return versionCell("none", s) })
	if a.chance(.5) {
		q.Status = pick(a.rng, []string{"", published, draft})
	}
	form := pick(a.rng, []string{"none", "none", "default", "other"})
	if a.chance(.3) {
		form = Least(a.cover, a.rng, []string{"none", "default", "other", "all", "unknown", "several"},
			func(l string) string { return versionCell(l, q.Status) })
	}
	if form == "other" && len(a.world.Model.Locales) == 1 {
		form = "unknown"
	}
	switch form {
	case "default":
		q.Locale = []string{pick(a.rng, []string{"", a.world.Model.Locales[0]})}
	case "other":
		q.Locale = []string{pick(a.rng, a.world.Model.Locales[1:])}
	case "all":
		q.Locale = []string{"*"}
	case "unknown":
		q.Locale = []string{"xx"}
	case "several":
		q.Locale = []string{"fr", pick(a.rng, []string{"de", "en"})}
	}
	a.cover.Hits[versionCell(form, q.Status)]++
	if a.chance(.12) {
		q.Publication = Least(a.cover, a.rng, fixedCells["publication"],
			func(s string) string { return "publication: " + s })
		a.cover.Hit("read", "publicationFilter")
		a.cover.Hit("publication", q.Publication)
	}
	if a.chance(.06) {
		q.HasVersion = pick(a.rng, []string{"true", "false"})
		a.cover.Hit("read", "hasPublishedVersion")
	}
}

// canSearch reports whether the evaluator can predict what a search in a type finds.
func (a *generator) canSearch(t *Type) bool {
	if *newIDs { // the reference searches in ids, too
		return false
	}
	return !a.quirk.SearchLeaks || !slices.ContainsFunc(t.Attributes, func(x *Attribute) bool { return x.Private })
}

func (a *generator) search() string {
	if a.quirk.SearchLeaks && a.world.Samples != nil {
		return pick(a.rng, []string{"12", "7", "100%", "日本", "[x]", "uid-3", "=",
			"-"}) // without letters that have two cases, except in lower case alone
	}
	s := pick(a.rng, append(words[:len(words):len(words)], "7", "12", "-3", "a@", "Green"))
	if r := []rune(s); len(r) > 3 && a.chance(.4) {
		s = string(r[:3])
	}
	if a.quirk.SearchLeaks {
		s = strings.ReplaceAll(s, "_", "")
	}
	if s == "" {
		s = "a"
	}
	return s
}

// page chooses a pagination.
func (a *generator) page() Page {
	p := Page{Page: 1, Size: 25, WithCount: true}
	form := pick(a.rng, []string{"none", "none", "page", "offset", "odd"})
	switch form {
	case "page":
		p.Page, p.Size = 1+a.rng.IntN(3), 1+a.rng.IntN(8)
		p.Query = fmt.Sprintf("pagination[page]=%d&pagination[pageSize]=%d", p.Page, p.Size)
	case "offset":
		p.ByOffset, p.Start, p.Size = true, a.rng.IntN(8), 1+a.rng.IntN(8)
		p.Query = fmt.Sprintf("pagination[start]=%d&pagination[limit]=%d", p.Start, p.Size)
	case "odd":
		odd := pick(a.rng, []Page{
			{Query: "pagination[page]=0&pagination[pageSize]=4", Page: 1, Size: 4},
			{Query: "pagination[page]=-2&pagination[pageSize]=0", Page: 1, Size: 1},
			{Query: "pagination[pageSize]=500", Page: 1, Size: 100},
			{Query: "pagination[pageSize]=many", Page: 1, Size: 100},
			{Query: "pagination[pageSize]=1e1&pagination[page]=0x1", Page: 1, Size: 10},
			{Query: "pagination[limit]=-1", ByOffset: true, Size: 1},
			{Query: "pagination[start]=-5", ByOffset: true, Size: 25},
			{Query: "pagination[start]=1000&pagination[limit]=3", ByOffset: true, Start: 1000, Size: 3},
		})
		p = odd
		p.WithCount = true
	}
	a.cover.Hit("page", form)
	if a.chance(.1) {
		p.WithCount = false
		a.cover.Hit("page", "without count")
		p.Query = strings.TrimPrefix(p.Query+"&pagination[withCount]="+pick(a.rng, []string{"false", "f", "0"}), "&")
	}
	return p
}

// fields chooses some scalar attributes to show.
func (a *generator) fields(attrs []*Attribute) []string {
	var names []string
	for _, x := range attrs {
		if x.isScalar() && x.shown() && a.chance(.4) {
			names = append(names, x.Name)
		}
	}
	if a.chance(.05) {
		names = append(names, "*")
	}
	if len(names) == 0 {
		names = []string{"id"}
	}
	return names
}

// sort chooses the order of a list.
func (a *generator) sort(q *Question) {
	if a.chance(.35) {
		return
	}
	seen := map[string]bool{}
	for range 1 + a.rng.IntN(2) {
		path := a.path(&q.Type.Schema, q.Type.Drafts, 2)
		if path == nil || seen[dotted(path)] {
			continue
		}
		seen[dotted(path)] = true
		q.Sort = append(q.Sort, SortKey{path, a.chance(.5)})
	}
	q.SortForm = a.rng.IntN(4)
	for _, k := range q.Sort {
		a.cover.Hit("sort", []string{"indexed", "object", "array of objects", "list"}[q.SortForm])
		if k.Desc {
			a.cover.Hit("sort", "desc")
		}
		for _, x := range k.Path[:len(k.Path)-1] {
			a.cover.Hit("sort", map[bool]string{true: "through relation", false: "through component"}[x.isLink()])
		}
	}
}

// path returns a random path to a scalar, which may lead through relations and components.
func (a *generator) path(s *Schema, drafts bool, depth int) []*Attribute {
	var scalars, steps []*Attribute
	for _, x := range s.Attributes {
		switch {
		case x.Private || x.Type == "json" || x.Type == "blocks" || x.Type == "password":
		case x.isScalar():
			scalars = append(scalars, x)
		case a.canEnter(x, drafts):
			steps = append(steps, x)
		}
	}
	if depth > 0 && len(steps) > 0 && a.chance(.3) {
		x := pick(a.rng, steps)
		in, d := a.inside(x, drafts)
		return append([]*Attribute{x}, a.path(in, d, depth-1)...)
	}
	if len(scalars) == 0 {
		return nil
	}
	return []*Attribute{pick(a.rng, scalars)}
}

// canEnter reports whether filters and sorts may lead through x.
func (a *generator) canEnter(x *Attribute, drafts bool) bool {
	if x.Private {
		return false
	}
	switch x.Type {
	case "component":
		return true
	case "localizations":
		return !a.quirk.LocalizationsFilter
	case "relation":
		return !a.quirk.JoinsAllVersions || drafts || !x.Target.Drafts
	}
	return false
}

func (a *generator) inside(x *Attribute, drafts bool) (*Schema, bool) {
	if x.Type == "component" {
		return &x.Component.Schema, drafts
	}
	return &x.Target.Schema, x.Target.Drafts
}
