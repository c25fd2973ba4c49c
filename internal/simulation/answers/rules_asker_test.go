package answers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"lectern/internal/simulation/program"
)

// An Asker is a caller whom rules limit: the public, a user, or a token.
type Asker struct {
	Role           string               // public, the type of the user's role, or token
	Find           map[*Type]*Filter    // which documents the asker may find; nil: all of the type
	One            map[*Type]*Filter    // the rules of findOne that take its place
	Drafts         map[*Type]*Filter    // and those of findDrafts
	Shown          map[*Type]*shown     // which attributes the asker reads; nil: all but private ones
	Create, Update map[*Type]*writeRule // what holds for writes; nil: nothing
	User           map[string]any       // attributes of the user
	Granted        bool                 // drafts are shown to those alone who have a rule of findDrafts for them
	Does           bool                 // the asker may write what they find, read its history, and stream lists
	Team           int                  // the number of the document that the user's relation team leads to
	Key            string               // JWT of the user, or the key of the token
}

// Roles of an Asker that are no roles of users: of those who send no credential, and of a token.
const (
	public = "public"
	token  = "token"
)

// A ruleGenerator makes askers with rules about the content of a World.
type ruleGenerator struct {
	generator
	made    *Coverage // what the rules have
	granted bool      // drafts need a permission of their own
}

func newRuleGenerator(seed uint64, w *World) *ruleGenerator {
	return &ruleGenerator{generator{rng: rand.New(rand.NewPCG(seed, 5)), world: w, cover: NewCoverage(Quirks{})},
		&Coverage{Hits: map[string]int{}}, seed%3 == 0}
}

// Asker returns a caller with random rules. Each of them leaves documents out, if a few attempts find one that does.
func (g *ruleGenerator) Asker() *Asker {
	a := &Asker{Role: pick(g.rng, []string{public, token, "member", "member"}), Find: map[*Type]*Filter{},
		One: map[*Type]*Filter{}, Drafts: map[*Type]*Filter{}, Shown: map[*Type]*shown{},
		Create: map[*Type]*writeRule{}, Update: map[*Type]*writeRule{}, Does: g.chance(.5), Granted: g.granted}
	if a.Role == "member" {
		a.User = map[string]any{}
		g.team(a)
	}
	all := g.chance(.6)
	for _, t := range g.world.Model.Types {
		switch x := g.rng.Float64(); {
		case x < .8:
			a.Find[t] = g.where(t, a)
		case all || x < .9:
			a.Find[t] = nil
		}
		g.ownRules(t, a)
	}
	return a
}

// expected reports whether the evaluator knows the answers to an asker: to one who may find every type, though not all
// of its documents, and whose drafts need no permission of their own.
func (a *Asker) expected(m *Model) bool { return len(a.Find) == len(m.Types) && !a.Granted }

// where returns a condition that some documents of a type meet, and others do not.
func (g *ruleGenerator) where(t *Type, a *Asker) *Filter {
	var f *Filter
	for range 40 {
		f = g.filter(&t.Schema, t.Drafts, 1+g.rng.IntN(2))
		if !fit(f) {
			continue
		}
		f = g.signed(f, t, a)
		g.name(f, a)
		met, rows := 0, g.world.rows(t)
		for _, r := range rows {
			if g.world.holds(f, instance{row: r, status: r.Status}, false) {
				met++
			}
		}
		if met > 0 && met < len(rows) || len(rows) < 2 {
			break
		}
	}
	if !fit(f) {
		return nil
	}
	f.visit(g.hit)
	return f
}

// fit reports whether a filter can be a rule: whether it follows from what bodies of writes say. Ids and times are
// known only after a write.
func fit(f *Filter) bool {
	if f.Op == "test" {
		if f.Attr.Type == "enumeration" && slices.Contains(caseOperators, f.Operator) {
			return false
		}
		isNull := f.Operator == "$null" || f.Operator == "$notNull"
		return f.Attr == self && isNull || f.Attr != self && !f.Attr.System
	}
	return !slices.ContainsFunc(f.Of, func(x *Filter) bool { return !fit(x) })
}

// permissions returns the permissions.yaml that has the rules of an asker.
func (a *Asker) permissions(m *Model) string {
	var b strings.Builder
	if a.Role == token {
		b.WriteString("tokens:\n- name: asker\n  type: custom\n  permissions:\n")
	} else {
		fmt.Fprintf(&b, "roles:\n  %s:\n", a.Role)
	}
	for _, t := range m.Types {
		where, may := a.Find[t]
		if !may {
			continue
		}
		rule := ruleOf(where)
		actions := map[string]any{"find": rule}
		if shown := a.Shown[t]; shown != nil {
			actions["find"] = shown.rule(where)
		}
		if !t.Single {
			actions["findOne"] = ruleOf(a.One[t])
		}
		if own := a.Drafts[t]; own != nil {
			actions["findDrafts"] = ruleOf(own)
		}
		if a.Does {
			a.addActions(actions, t, rule)
			update := map[string]any{}
			if where != nil {
				update["where"] = where.rule()
			}
			actions["update"] = a.Update[t].parts(update)
		}
		fmt.Fprintf(&b, "    %s: %s\n", t.UID, program.JSON(actions))
	}
	if a.Does {
		b.WriteString("    plugin::upload.content-api: [upload]\n")
	}
	return b.String()
}

// addActions adds the actions beside reading. Those that write are limited to what the asker finds.
func (a *Asker) addActions(actions map[string]any, t *Type, rule any) {
	writes := []string{"update", "delete"}
	if t.Drafts {
		writes = append(writes, "publish", "unpublish", "discardDraft")
	}
	for _, action := range writes {
		actions[action] = rule
	}
	actions["history"], actions["restore"] = true, rule
	if !t.Single {
		actions["create"], actions["stream"] = a.Create[t].parts(map[string]any{}), true
	}
}

// rule returns a filter as a rule has it, for encoding/json.
func (f *Filter) rule() any {
	switch f.Op {
	case "not":
		return map[string]any{"$not": f.Of[0].rule()}
	case "into":
		return map[string]any{f.Attr.Name: f.Of[0].rule()}
	case "and", "or":
		list, keys := []any{}, map[string]any{}
		for _, x := range f.Of {
			one := x.rule()
			list = append(list, one)
			if f.Implicit {
				for k, v := range one.(map[string]any) {
					keys[k] = v
				}
			}
		}
		if f.Implicit {
			return keys
		}
		return map[string]any{"$" + f.Op: list}
	}
	v := f.operandsOfRule()
	if f.Operator != "" {
		v = map[string]any{f.Operator: v}
	}
	if f.Not {
		v = map[string]any{"$not": v}
	}
	if f.Attr.Type == "self" {
		return v
	}
	return map[string]any{f.Attr.Name: v}
}

func (f *Filter) operandsOfRule() any {
	list := []any{}
	for _, o := range f.Operands {
		list = append(list, f.operandOfRule(o))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (f *Filter) operandOfRule(o Operand) any {
	text := textOf(o.Value)
	switch v := o.Value.(type) {
	case bool, float64:
		if !o.Named && !slices.Contains(likeOperators, f.Operator) {
			return v
		}
	}
	switch {
	case o.Null:
		return nil
	case o.Named:
		return o.Text
	case slices.Contains(likeOperators, f.Operator):
		text = o.Text
	}
	if strings.HasPrefix(text, "$") {
		return "$" + text
	}
	return text
}
