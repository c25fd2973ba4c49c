package answers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
)

// A writeRule is a rule of create or update, beside its condition.
type writeRule struct {
	keys  *shown  // what bodies may have; nil: all
	set   []Field // what the server writes: Literals that send the name of a variable, or a value
	unset bool    // a variable of set has no value
	check *Filter // what holds after the write; nil: anything
}

// parts adds the parts of a rule to one that is written in permissions.yaml.
func (r *writeRule) parts(rule map[string]any) any {
	if r == nil {
		if len(rule) == 0 {
			return true
		}
		return rule
	}
	if r.keys != nil {
		rule["fields"] = r.keys.names()
	}
	if r.set != nil {
		set := map[string]any{}
		for _, f := range r.set {
			set[f.Attr.Name] = f.Value.(Literal).Send
		}
		rule["set"] = set
	}
	if r.check != nil {
		rule["check"] = r.check.rule()
	}
	return rule
}

// writeRule returns a random rule of writing documents of a type; nil is none.
func (g *ruleGenerator) writeRule(t *Type, a *Asker) *writeRule {
	if g.chance(.3) {
		return nil
	}
	r := &writeRule{}
	if g.chance(.4) {
		r.keys = &shown{except: g.chance(.5)}
		g.made.Hit("rule", map[bool]string{true: "written fields except", false: "written fields"}[r.keys.except])
		for _, x := range t.Attributes {
			if !x.System && g.chance(map[bool]float64{true: .2, false: .8}[r.keys.except]) {
				r.keys.listed = append(r.keys.listed, x)
			}
		}
	}
	if r.keys != nil && len(r.keys.listed) == 0 {
		r.keys = nil
	}
	if g.chance(.6) {
		g.set(r, t, a)
	}
	if g.chance(.4) || r.keys == nil && r.set == nil {
		r.check = g.where(t, a)
		g.made.Hit("rule", "check")
	}
	if r.keys == nil && r.set == nil && r.check == nil {
		return nil
	}
	return r
}

// settableTypes are the types of attributes that rules of askers set.
var settableTypes = []string{"string", "text", "integer", "enumeration", "boolean", "datetime"}

// set chooses what the server writes.
func (g *ruleGenerator) set(r *writeRule, t *Type, a *Asker) {
	for _, x := range t.Attributes {
		if x.System || !slices.Contains(settableTypes, x.Type) || !g.chance(.3) {
			continue
		}
		l := randomLiteral(g.rng, x, g.quirk)
		l.Send = l.Keep
		if o := g.settable(x, a); o.Named {
			l = Literal{o.Text, o.Value}
			r.unset = r.unset || o.Value == nil
			g.made.Hit("rule", "set "+o.Text)
		}
		r.set = append(r.set, Field{Attr: x, Value: l})
	}
	if !t.Single && a.User != nil && g.chance(.5) {
		r.set = append(r.set, Field{Attr: author, Value: Literal{"$user", askersID}})
		g.made.Hit("rule", "set $user")
	}
	if r.set != nil {
		g.made.Hit("rule", "set")
	}
}

// settable returns a variable that an attribute can have as its value.
func (g *ruleGenerator) settable(x *Attribute, a *Asker) Operand {
	if g.chance(.5) {
		return Operand{}
	}
	switch {
	case x.Type == "text":
		return a.principal()
	case a.User == nil:
	case x.Type == "string" && x.MaxLength == nil && x.MinLength == nil:
		return g.ofUser(a, "nickname", randomLiteral(g.rng, x, g.quirk).Keep)
	case x.Type == "integer" && x.Min == nil && x.Max == nil:
		return g.ofUser(a, "rank", randomLiteral(g.rng, x, g.quirk).Keep)
	}
	return Operand{}
}

// ofUser returns the operand that names an attribute of the user of an asker, which has a value, or none, from now on.
func (g *ruleGenerator) ofUser(a *Asker, attribute string, value any) Operand {
	if _, set := a.User[attribute]; !set {
		a.User[attribute] = value
		if g.chance(.2) {
			a.User[attribute] = nil
		}
	}
	return Operand{Text: "$user." + attribute, Named: true, Value: a.User[attribute]}
}

// writes returns the rule of an asker that a write is held to beside its condition.
func (a *Asker) writes(op *Operation) *writeRule {
	switch op.Kind {
	case "create":
		return a.Create[op.Type]
	case "update":
		return a.Update[op.Type]
	}
	return nil
}

// as returns a write as the server carries it out under a rule, and the status of the answer if it refuses the body.
func (r *writeRule) as(op *Operation) (*Operation, int) {
	if r == nil {
		return op, 0
	}
	c := *op
	c.Data = nil
	for _, f := range op.Data {
		switch {
		case r.unset:
			return op, http.StatusForbidden
		case r.keys != nil && slices.Contains(r.keys.listed, f.Attr) == r.keys.except:
			return op, http.StatusBadRequest
		case !slices.ContainsFunc(r.set, func(s Field) bool { return s.Attr == f.Attr }):
			c.Data = append(c.Data, f)
		}
	}
	if r.unset {
		return op, http.StatusForbidden
	}
	c.Data = append(c.Data, r.set...)
	return &c, 0
}

// checked returns the status of a write whose outcome in w is known: 403 if what it wrote does not meet the check. It
// returns 0 if the write also wrote other localizations, which alone do not.
func (r *writeRule) checked(w *World, op *Operation, out Outcome) int {
	if r == nil || r.check == nil {
		return out.Status
	}
	doc, met := out.Row.Doc, true
	for _, row := range doc.Rows {
		if !w.meets(row, r.check, row.Status) {
			if row.Locale == out.Row.Locale && (row.Status == out.Row.Status || out.Row.Status == published) {
				return http.StatusForbidden
			}
			met = met && !doc.Type.Localized
		}
	}
	if !met {
		return 0
	}
	return out.Status
}

// plain returns a write without components and relations, whose links to what the asker does not see would stay.
func (op *Operation) plain() *Operation {
	c := *op
	c.Data = slices.DeleteFunc(slices.Clone(op.Data), func(f Field) bool { return !f.Attr.isScalar() })
	return &c
}

// expected returns the status of a write of the asker, and what the server makes of it. The status is 0 if the rules
// of other actions decide, too, or if the write is refused for another reason.
func (c *couple) expected(w *World, op *Operation) (*Operation, int) {
	rule, where := c.asker.writes(op), c.asker.Find[op.Type]
	if op.Kind == "update" {
		d := w.Document(op.Number)
		if !c.seesAll(op.Number) || where != nil && d.Row(w.locale(op.Type, op.Locale), draft) == nil {
			return nil, 0
		}
		for _, r := range d.Rows {
			if !w.meets(r, where, r.Status) {
				return nil, 0
			}
		}
	}
	if where != nil && op.Type.Drafts && op.Status != draft { // the rule of publish is that of find
		return nil, 0
	}
	done, status := rule.as(op)
	if status != 0 {
		return done, status
	}
	then := w.clone()
	out := then.Apply(done)
	if out.Status >= 400 {
		return nil, 0
	}
	return done, rule.checked(then, done, out)
}

// writeByRules makes the asker write documents, by rules that say what bodies may have, what the server writes, and
// what must hold. Both servers answer as expected, and have what is expected, whoever reads it.
func (c *couple) writeByRules(seed uint64) error {
	if !c.asker.Does {
		return nil
	}
	o := &operationGenerator{generator: generator{rng: rand.New(rand.NewPCG(seed, 9)), world: c.world,
		cover: NewCoverage(Quirks{})}, documents: 2000, items: 2000}
	runs := []*Run{{Seed: seed, Model: c.world.Model, Cover: o.cover, server: c.first, world: c.world},
		{Seed: seed, Model: c.world.Model, Cover: o.cover, server: c.second, world: c.other}}
	done := 0
	for i := 0; i < writesTried && done < writesOfAsker; i++ {
		op := o.write().plain()
		_, may := c.asker.Find[op.Type]
		if !may || op.Type.Single || !op.hasBody() {
			continue
		}
		made, status := c.expected(c.world, op)
		if _, other := c.expected(c.other, op); status == 0 || other != status || status < 300 && c.behind(made) == nil {
			continue
		}
		done++
		if err := c.writeByRule(runs, op, made, status); err != nil {
			return err
		}
	}
	return nil
}

// writeByRule does one write in both servers, which make another of it.
func (c *couple) writeByRule(runs []*Run, op, made *Operation, status int) error {
	q := call{method: op.method(), path: op.path(c.world), body: map[string]any{"data": op.body(c.world)}}
	got, err := c.askAlike(q)
	if err != nil {
		return err
	}
	if got.status != status {
		return fmt.Errorf("%s\nis to be answered %d, not %s", q, status, got)
	}
	c.rules.Hit("written", fmt.Sprint(op.Kind, " ", status))
	for _, r := range runs {
		if status < 300 {
			r.world.Apply(made)
		}
		if err := r.findMade(made, status); err != nil {
			return err
		}
		err := errors.Join(r.readBack(made, false), r.settle())
		if err == nil && op.Kind == "create" && status < 300 {
			gone := &Operation{Kind: "delete", Type: op.Type, Number: op.Number, Locale: "*"}
			err = r.write(gone, &operationGenerator{generator: generator{world: r.world, cover: r.Cover}})
		}
		if err != nil {
			return fmt.Errorf("after %s\n%w", q, err)
		}
	}
	return nil
}

// findMade takes the documentId of a document that an asker has made: the newest of its type.
func (r *Run) findMade(op *Operation, status int) error {
	if op.Kind != "create" || status >= 300 {
		return nil
	}
	_, answer, err := r.server.Do("GET", "/api/"+op.Type.Plural+
		"?locale=*&status=draft&sort=createdAt:desc&pagination[limit]=1&fields=documentId", nil)
	if err != nil {
		return err
	}
	list, _ := answer.(map[string]any)["data"].([]any)
	for _, d := range r.world.Docs {
		if d.Number == op.Number && len(list) == 1 {
			d.ID.Value = list[0].(map[string]any)["documentId"]
		}
	}
	return nil
}
