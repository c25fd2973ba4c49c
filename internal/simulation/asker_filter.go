package simulation

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

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
	case "", "$eq", "$in", "$notIn", "$lt", "$lte", "$gt", "$gte", "$startsWith", "$startsWithi", "$endsWith", "$endsWithi":
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
			if indexOf([]string{"$lt", "$lte", "$gt", "$gte"}, f.Operator) >= 0 {
				a.cover.Hit("logic", "several bounds")
			}
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
