package answers

import (
	"slices"
	"strings"
	"time"
)

// authorYAML is the definition of the relation to users that collection types of a signed Model have.
const authorYAML = "  author: {type: relation, relation: manyToOne, target: plugin::users-permissions.user}\n"

// author is that relation. No Schema has it, since nobody but rules asks for it; its value is the id of a user.
var author = &Attribute{Name: "author", Type: "author"}

// Ids of the two users of a signed Model, which it has before any content: the one that becomes an Asker, and another.
const (
	askersID = 1.0
	othersID = 2.0
)

// userAttributes returns the definition of what the users of a model have beside a name and an address.
func userAttributes(m *Model) string {
	return "uid: plugin::users-permissions.user\nattributes:\n  nickname: {type: string}\n  rank: {type: integer}\n" +
		"  team: {type: relation, relation: manyToOne, target: " + m.Types[0].UID + "}\n"
}

// sign adds an author to some writes.
func (o *operationGenerator) sign(op *Operation) *Operation {
	if (op.Kind == "create" || op.Kind == "update") && !op.Type.Single && o.chance(.5) {
		id := pick(o.rng, []float64{askersID, askersID, othersID})
		op.Data = append(op.Data, Field{Attr: author, Value: Literal{id, id}})
	}
	return op
}

// selfDocument stands for the document that a relation leads to, in whatever version.
var selfDocument = &Attribute{Name: "documentId", Type: "self"}

// team chooses the document that a relation of the user of an asker leads to.
func (g *ruleGenerator) team(a *Asker) {
	if d := g.document(g.world.Model.Types[0]); d != nil && g.chance(.8) {
		a.User["team"], a.Team = d.ID.text(), d.Number
	}
}

// signed returns a condition, mostly one with more conditions that name the user.
func (g *ruleGenerator) signed(f *Filter, t *Type, a *Asker) *Filter {
	for i, x := range f.Of {
		if f.Op == "into" && f.Attr.Type == "relation" {
			f.Of[i] = g.signed(x, f.Attr.Target, a)
		}
	}
	if t.Single || g.chance(.6) || f.Op == "test" && f.Attr.Type == "self" {
		return f
	}
	more := &Filter{Op: "test", Attr: author, Operator: pick(g.rng, []string{"", "$eq", "$ne", "$in", "$notIn"}),
		Operands: []Operand{{Text: "$user", Named: true}}}
	switch {
	case a.User == nil: // a rule may not name a user whom the caller cannot have
		more.Operator, more.Operands = pick(g.rng, []string{"$null", "$notNull"}), []Operand{{Text: "true", Value: true}}
	default:
		more.Operands[0].Value = askersID
		more = g.ofTeam(more, t, a)
	}
	if g.chance(.2) {
		more = &Filter{Op: "not", Of: []*Filter{more}}
	}
	return &Filter{Op: pick(g.rng, []string{"and", "or"}), Of: []*Filter{f, more}}
}

// ofTeam returns a condition that compares a relation of t with the team of the user, or f.
func (g *ruleGenerator) ofTeam(f *Filter, t *Type, a *Asker) *Filter {
	team := Operand{Text: "$user.team", Named: true, Value: a.User["team"]}
	for _, x := range t.Attributes {
		if x.Type == "relation" && x.Target == g.world.Model.Types[0] && g.chance(.5) {
			test := &Filter{Op: "test", Attr: selfDocument, Operator: pick(g.rng, []string{"", "$eq", "$in", "$ne"}),
				Operands: []Operand{team}}
			return &Filter{Op: "into", Attr: x, Of: []*Filter{test}}
		}
	}
	return f
}

// comparing are the operators that compare whole values.
var comparing = []string{"", "$eq", "$ne", "$in", "$notIn", "$lt", "$lte", "$gt", "$gte"}

// name puts variables in place of some operands.
func (g *ruleGenerator) name(f *Filter, a *Asker) {
	for _, x := range f.Of {
		g.name(x, a)
	}
	if f.Op != "test" || len(f.Operands) != 1 || f.Operands[0].Null || f.Operands[0].Named ||
		!slices.Contains(comparing, f.Operator) || g.chance(.3) {
		return
	}
	switch f.Attr.Type {
	case "string", "text":
		if g.chance(.4) {
			f.Operands[0] = a.principal()
			return
		}
	case "datetime":
		f.Operands[0] = Operand{Text: "$now", Named: true, Value: time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
		return
	}
	attribute := map[string]string{"string": "nickname", "integer": "rank"}[f.Attr.Type]
	if attribute == "" || a.User == nil {
		return
	}
	f.Operands[0] = g.ofUser(a, attribute, f.Operands[0].Value)
}

// principal returns the operand that names the role of an asker, or the token. A rule may not name what the caller has
// not.
func (a *Asker) principal() Operand {
	if a.Role == token {
		return Operand{Text: "$token", Named: true, Value: "asker"}
	}
	return Operand{Text: "$role", Named: true, Value: a.Role}
}

// visit calls do for each part of a filter.
func (f *Filter) visit(do func(*Filter)) {
	do(f)
	for _, x := range f.Of {
		x.visit(do)
	}
}

// hit counts the variables of a condition.
func (g *ruleGenerator) hit(f *Filter) {
	for _, o := range f.Operands {
		if !o.Named {
			continue
		}
		name := o.Text
		if strings.HasPrefix(name, "$user.") && name != "$user.team" {
			name = "$user.scalar"
		}
		g.made.Hit("rule", name)
		if o.Value == nil {
			g.made.Hit("rule", name+" unset")
		}
	}
}
