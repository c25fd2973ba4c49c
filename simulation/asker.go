package simulation

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// An asker makes random questions about a World.
type asker struct {
	rng     *rand.Rand
	world   *World
	quirk   Quirks
	cover   *Coverage
	graphql bool // questions are put in GraphQL
	plain   bool // nothing is filtered or sorted
	aliases int  // given out in the request that is made
	writes  bool // the request is a mutation: what it answers with cannot be filtered or sorted by what the server gives only then
}

func (a *asker) chance(p float64) bool { return a.rng.Float64() < p }

// Question returns a random question that has an answer (no error in it).
func (a *asker) Question() *Question {
	q := &Question{Type: pick(a.rng, a.world.Model.Types)}
	if q.Type.Single && a.chance(.5) {
		q.Type = pick(a.rng, a.world.Model.Types[:4])
	}
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
	if a.chance(.12) && (!single || a.chance(.2)) {
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

// showSorted names what is sorted by among the fields, where a server would show it anyway.
func (a *asker) showSorted(q *Question) {
	if !a.quirk.NumbersAsSQL || len(q.Fields) == 0 {
		return
	}
	for _, k := range q.Sort {
		if len(k.Path) == 1 && indexOf(q.Fields, k.Path[0].Name) < 0 {
			q.Fields = append(q.Fields, k.Path[0].Name)
		}
	}
}

// document returns some document of a type.
func (a *asker) document(t *Type) *Document {
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

// versions chooses locale, status and state of publication.
func (a *asker) versions(q *Question) {
	q.Status = Least(a.cover, a.rng, []string{"", "", published, draft, draft, "junk"}, func(s string) string { return versionCell("none", s) })
	if a.chance(.5) {
		q.Status = pick(a.rng, []string{"", published, draft})
	}
	form := pick(a.rng, []string{"none", "none", "default", "other"})
	if a.chance(.3) {
		form = Least(a.cover, a.rng, []string{"none", "default", "other", "all", "unknown", "several"}, func(l string) string { return versionCell(l, q.Status) })
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
		q.Publication = Least(a.cover, a.rng, fixedCells["publication"], func(s string) string { return "publication: " + s })
		a.cover.Hit("read", "publicationFilter")
		a.cover.Hit("publication", q.Publication)
	}
	if a.chance(.06) {
		q.HasVersion = pick(a.rng, []string{"true", "false"})
		a.cover.Hit("read", "hasPublishedVersion")
	}
}

func (a *asker) search() string {
	s := pick(a.rng, append(words[:len(words):len(words)], "7", "12", "-3", "a@", "Green"))
	if len(s) > 3 && a.chance(.4) {
		s = string([]rune(s)[:3])
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
func (a *asker) page() Page {
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

// fields chooses some scalar attributes.
func (a *asker) fields(attrs []*Attribute) []string {
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
func (a *asker) sort(q *Question) {
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

// path leads to a scalar, now and then through relations and components.
func (a *asker) path(s *Schema, drafts bool, depth int) []*Attribute {
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

// canEnter reports whether filters and sorts may go through x.
func (a *asker) canEnter(x *Attribute, drafts bool) bool {
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

func (a *asker) inside(x *Attribute, drafts bool) (*Schema, bool) {
	if x.Type == "component" {
		return &x.Component.Schema, drafts
	}
	return &x.Target.Schema, x.Target.Drafts
}

// filter returns a condition on a row of s.
func (a *asker) filter(s *Schema, drafts bool, depth int) *Filter {
	x, deeper := a.rng.Float64(), .64
	if a.typeOf(s) == nil { // relations in components are seldom come by
		deeper = .8
	}
	switch {
	case depth > 0 && x < .30:
		return a.group(s, drafts, depth, pick(a.rng, []string{"and", "or", "keys"}))
	case depth > 0 && x < .38 && (depth == 3 || !a.quirk.NotInRelation):
		return &Filter{Op: "not", Of: []*Filter{a.filter(s, drafts, depth-1)}}
	case depth > 0 && x < deeper:
		if f := a.into(s, drafts, depth); f != nil {
			return f
		}
	}
	return a.test(s)
}

func (a *asker) group(s *Schema, drafts bool, depth int, op string) *Filter {
	f := &Filter{Op: op}
	if op == "keys" {
		f.Op, f.Implicit = "and", true
		if a.graphql && a.chance(.3) {
			return a.several(s)
		}
	}
	seen := map[string]bool{}
	for range 2 + a.rng.IntN(3) {
		x := a.filter(s, drafts, depth-1)
		if f.Implicit {
			if x.Implicit || seen[x.key()] || x.grouped() && a.quirk.NotInRelation {
				continue
			}
			seen[x.key()] = true
		}
		f.Of = append(f.Of, x)
	}
	if len(f.Of) == 0 {
		return a.test(s)
	}
	if a.graphql && f.Implicit && a.chance(.15) {
		f.Of = append(f.Of, a.nothing(s, seen)...)
	}
	return f
}

// names reports whether a filter tests an attribute of that name.
func (f *Filter) names(name string) bool {
	for _, x := range f.Of {
		if x.names(name) {
			return true
		}
	}
	return f.Op == "test" && f.Attr.Name == name
}

// grouped reports whether $and, $or or $not is written anywhere in a filter but below a field.
func (f *Filter) grouped() bool {
	for _, x := range f.Of {
		if x.grouped() {
			return true
		}
	}
	return f.Attr == nil && !f.Implicit
}

// key is what a filter would be written under.
func (f *Filter) key() string {
	if f.Attr != nil {
		return f.Attr.Name
	}
	return "$" + f.Op
}

// into goes through a relation, component or localizations.
func (a *asker) into(s *Schema, drafts bool, depth int) *Filter {
	var steps []*Attribute
	for _, x := range s.Attributes {
		if a.canEnter(x, drafts) {
			steps = append(steps, x)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	x := pick(a.rng, steps)
	var of *Filter
	if x.Type == "relation" && a.chance(.25) {
		of = a.testLink(x)
	} else {
		in, d := a.inside(x, drafts)
		of = a.filter(in, d, depth-1)
	}
	return &Filter{Op: "into", Attr: x, Of: []*Filter{of}}
}

var self = &Attribute{Name: "self", Type: "self"}

// testLink asks for the target of a relation itself.
func (a *asker) testLink(x *Attribute) *Filter {
	if a.graphql {
		return a.linkTest(x)
	}
	f := &Filter{Op: "test", Attr: self, Operator: pick(a.rng, []string{"$null", "$notNull", "", "$eq", "$in", "$notIn", "$ne"})}
	f.Operands = []Operand{a.flag()}
	if f.Operator != "$null" && f.Operator != "$notNull" {
		f.Operands = []Operand{a.given(x.Target, "id")}
	}
	return f
}

// flag is the operand of $null and $notNull.
func (a *asker) flag() Operand {
	if a.graphql {
		return Operand{Value: a.chance(.6), Variable: a.chance(.1)}
	}
	return pick(a.rng, []Operand{{Text: "true", Value: true}, {Text: "false", Value: false}, {Text: "1", Value: true},
		{Text: "0", Value: false}, {Text: "t", Value: true}, {Null: true, Value: false}, {Text: "true", Value: true}})
}

// given points at something that the server gave to a row of t.
func (a *asker) given(t *Type, attr string) Operand {
	p := &Pointer{Attr: attr, Number: -1}
	if d := a.document(t); d != nil {
		r := pick(a.rng, d.Rows)
		p.Number, p.Locale, p.Status = d.Number, r.Locale, r.Status
	}
	return Operand{From: p}
}

// A choice is what a test may be.
type choice struct {
	attr *Attribute
	op   string
}

// test compares one scalar of s, mostly in a way that was used least.
func (a *asker) test(s *Schema) *Filter {
	owner := a.typeOf(s)
	var attrs []*Attribute
	for _, x := range s.Attributes {
		if x.isScalar() && x.shown() && len(a.operatorsOf(x)) > 0 && x.Name != "publishedAt" && !(x.System && owner == nil && a.graphql) {
			attrs = append(attrs, x)
		}
	}
	var choices []choice
	for _, x := range attrs {
		ops := a.operatorsOf(x)
		if owner == nil && x.Type == "id" {
			ops = []string{"$null", "$notNull"}
		}
		for _, op := range ops {
			choices = append(choices, choice{x, op})
		}
	}
	c := Least(a.cover, a.rng, choices, func(c choice) string { return testCell(c.op, c.attr.Type) })
	x := c.attr
	f := &Filter{Op: "test", Attr: x, Operator: c.op}
	if a.graphql {
		a.compare(f, owner)
		return f
	}
	f.Not = a.chance(.08)
	n := 1
	switch f.Operator {
	case "$between":
		n = 2
	case "", "$eq", "$in", "$notIn":
		n = 1 + a.rng.IntN(3)
	}
	if f.Not && f.Operator == "" { // what $not of a list is, nobody says
		n = 1
	}
	for range n {
		f.Operands = append(f.Operands, a.operand(f, owner))
	}
	if a.chance(.05) && indexOf(nullable, f.Operator) >= 0 && !f.Not {
		f.Operands = []Operand{{Null: true}}
	}
	return f
}

func (a *asker) typeOf(s *Schema) *Type {
	for _, t := range a.world.Model.Types {
		if &t.Schema == s {
			return t
		}
	}
	return nil
}

// nullable are the operators that say what they make of null.
var nullable = []string{"", "$eq", "$ne", "$in", "$gt"}

// operand returns something to compare with: mostly what some row has.
func (a *asker) operand(f *Filter, owner *Type) Operand {
	if f.Operator == "$null" || f.Operator == "$notNull" {
		return a.flag()
	}
	isLike := indexOf(likeOperators, f.Operator) >= 0
	switch {
	case f.Attr.Type == "locale":
		s := pick(a.rng, a.world.Model.Locales)
		if isLike {
			s = s[:1]
		}
		return Operand{Text: s, Value: s}
	case f.Attr.System:
		o := a.given(owner, f.Attr.Name)
		if isLike && !(a.graphql && f.Attr.Type == "datetime") {
			o.From.From, o.From.To = a.cut(10)
		}
		return o
	}
	v := randomLiteral(a.rng, f.Attr, a.quirk).Keep
	text := textOf(v)
	if word := scalarWord(f.Attr.Type); a.graphql && word != "String" && (word != "JSON" || !isLike) {
		return Operand{Text: text, Value: v}
	}
	if isLike {
		text = a.part(text)
		if strings.HasSuffix(f.Operator, "i") {
			text = a.flip(text)
		}
		return Operand{Text: text, Value: text}
	}
	if indexOf(caseOperators, f.Operator) >= 0 {
		switch v := v.(type) {
		case string:
			text = a.flip(v)
			return Operand{Text: text, Value: text}
		}
		return Operand{Text: text, Value: v}
	}
	return Operand{Text: a.spell(f.Attr.Type, v), Value: v}
}

func (a *asker) cut(n int) (from, to int) {
	from = a.rng.IntN(n)
	return from, from + 1 + a.rng.IntN(n-from)
}

// part returns a piece of a text.
func (a *asker) part(s string) string {
	r := []rune(s)
	if len(r) == 0 || len(r) > 40 {
		return "a"
	}
	switch a.rng.IntN(3) {
	case 0:
		return string(r[:1+a.rng.IntN(len(r))])
	case 1:
		return string(r[a.rng.IntN(len(r)):])
	}
	from, to := a.cut(len(r))
	return string(r[from:min(to, len(r))])
}

// flip changes the case of some letters.
func (a *asker) flip(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case a.chance(.5) || a.quirk.ASCIICase && r > 127:
			return r
		case strings.ToUpper(string(r)) == string(r):
			return []rune(strings.ToLower(string(r)))[0]
		}
		return []rune(strings.ToUpper(string(r)))[0]
	}, s)
}

// spell writes a value in one of the ways a query may.
func (a *asker) spell(typ string, v any) string {
	text := textOf(v)
	if a.chance(.6) {
		return text
	}
	switch typ {
	case "integer", "float", "decimal":
		return strconv.FormatFloat(v.(float64), 'e', -1, 64)
	case "boolean":
		if v.(bool) {
			return pick(a.rng, []string{"t", "1", "true"})
		}
		return pick(a.rng, []string{"f", "0", "false"})
	case "date":
		return text + pick(a.rng, []string{"T23:59:00Z", " 10:00"})
	case "time":
		return strings.TrimSuffix(text, ".000")
	case "datetime":
		return spellMoment(a.rng, text)
	}
	return text
}

func spellMoment(rng *rand.Rand, text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	switch rng.IntN(3) {
	case 0:
		return t.In(time.FixedZone("", 2*3600)).Format("2006-01-02T15:04:05.000-07:00")
	case 1:
		if ms := t.UnixMilli(); ms > 1e9 {
			return strconv.FormatInt(ms, 10)
		}
	}
	return strings.Replace(text, "T", " ", 1)
}

func (a *asker) countFilter(f *Filter) {
	switch f.Op {
	case "test":
		if f.Attr.Type != "self" {
			a.cover.Hits[testCell(f.Operator, f.Attr.Type)]++
		}
		if f.Not {
			a.cover.Hit("logic", "not below field")
		}
		if len(f.Operands) > 0 && f.Operands[0].Null {
			a.cover.Hit("logic", "null operand")
		}
		if len(f.Operands) > 1 {
			a.cover.Hit("logic", "several operands")
		}
	case "into":
		if f.Attr.Type == "relation" {
			a.cover.Hit("logic", "relation")
			a.cover.Hit("filter relation", f.Attr.kind())
		} else {
			a.cover.Hit("logic", f.Attr.Type)
		}
	default:
		word := f.Op
		if f.Implicit {
			word = "keys"
		}
		a.cover.Hit("logic", word)
	}
	for _, x := range f.Of {
		a.countFilter(x)
	}
}
