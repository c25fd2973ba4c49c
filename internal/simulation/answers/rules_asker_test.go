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
	Role string            // public, the type of the user's role, or token
	Find map[*Type]*Filter // which documents the asker may find; nil: all of the type
	User map[string]any    // attributes of the user
	Does bool              // the asker may write what they find, read its history, and stream lists
	Key  string            // JWT of the user, or the key of the token
}

// Roles of an Asker that are no roles of users: of those who send no credential, and of a token.
const (
	public = "public"
	token  = "token"
)

// userAttributes are what the users of a model have beside a name and an address, as a definition in YAML says it.
const userAttributes = "uid: plugin::users-permissions.user\nattributes:\n" +
	"  nickname: {type: string}\n  rank: {type: integer}\n"

// A ruleGenerator makes askers with rules about the content of a World.
type ruleGenerator struct{ generator }

func newRuleGenerator(seed uint64, w *World) *ruleGenerator {
	return &ruleGenerator{generator{rng: rand.New(rand.NewPCG(seed, 5)), world: w, cover: NewCoverage(Quirks{})}}
}

// Asker returns a caller with random rules. Each of them leaves documents out, if a few attempts find one that does.
func (g *ruleGenerator) Asker() *Asker {
	a := &Asker{Role: pick(g.rng, []string{public, token, "member", "member"}), Find: map[*Type]*Filter{},
		Does: g.chance(.5)}
	if a.Role == "member" {
		a.User = map[string]any{}
	}
	all := g.chance(.6)
	for _, t := range g.world.Model.Types {
		switch x := g.rng.Float64(); {
		case x < .8:
			a.Find[t] = g.where(t, a)
		case all || x < .9:
			a.Find[t] = nil
		}
	}
	return a
}

// findsAll reports whether the asker may find every type, though not all of its documents.
func (a *Asker) findsAll(m *Model) bool { return len(a.Find) == len(m.Types) }

// where returns a condition that some documents of a type meet, and others do not.
func (g *ruleGenerator) where(t *Type, a *Asker) *Filter {
	var f *Filter
	for range 40 {
		f = g.filter(&t.Schema, t.Drafts, 1+g.rng.IntN(2))
		if !fit(f) {
			continue
		}
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
	g.name(f, a)
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

// comparing are the operators that compare whole values.
var comparing = []string{"", "$eq", "$ne", "$in", "$notIn", "$lt", "$lte", "$gt", "$gte"}

// name puts attributes of the user in place of some operands.
func (g *ruleGenerator) name(f *Filter, a *Asker) {
	for _, x := range f.Of {
		g.name(x, a)
	}
	if f.Op != "test" || a.User == nil || len(f.Operands) != 1 || f.Operands[0].Null ||
		!slices.Contains(comparing, f.Operator) || g.chance(.4) {
		return
	}
	attribute := map[string]string{"string": "nickname", "integer": "rank"}[f.Attr.Type]
	if attribute == "" {
		return
	}
	o := &f.Operands[0]
	if v, set := a.User[attribute]; set {
		o.Value = v
	} else if g.chance(.2) {
		o.Value = nil
	}
	a.User[attribute] = o.Value
	o.Text, o.Named = "$user."+attribute, true
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
		rule := any(true)
		if where != nil {
			rule = map[string]any{"where": where.rule()}
		}
		actions := map[string]any{"find": rule}
		if !t.Single {
			actions["findOne"] = true
		}
		if a.Does {
			a.addActions(actions, t, rule)
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
		actions["create"], actions["stream"] = true, true
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
	if f.Attr == self {
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

// sees reports whether an asker sees a version in answers that show versions with a status.
func (a *Asker) sees(w *World, r *Row, status string) bool {
	if r.Doc.Type.Drafts {
		status = r.Status
	}
	where, may := a.Find[r.Doc.Type]
	return may && (where == nil || w.holds(where, instance{row: r, status: status}, false))
}

// seenBy returns what there is for an asker in answers that show versions with a status: a copy of the content without
// what the asker does not see.
func (w *World) seenBy(a *Asker, status string) *World {
	seen := w.clone()
	seen.Whole = w
	for i, d := range w.Docs {
		var rows []*Row
		for j, r := range d.Rows {
			if a.sees(w, r, status) {
				rows = append(rows, seen.Docs[i].Rows[j])
			}
		}
		seen.Docs[i].Rows = rows
	}
	return seen
}

// listing describes everything in a World that answers with a status can show.
func (w *World) listing(status string) string {
	var b strings.Builder
	for _, d := range w.Docs {
		for _, r := range d.Rows {
			if !d.Type.Drafts || r.Status == status {
				shown := w.show(r, view{status: status}, nil, everything(d.Type.Attributes))
				fmt.Fprintf(&b, "%s %s %s %s\n", d.Type.UID, r.Locale, r.Status, printed(shown))
			}
		}
	}
	return b.String()
}

// shownTo describes everything that answers can show an asker.
func (w *World) shownTo(a *Asker) string {
	return w.seenBy(a, published).listing(published) + w.seenBy(a, draft).listing(draft)
}
