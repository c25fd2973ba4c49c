package simulation

import "strings"

// mutation returns a random mutation of one or several writes.
func (o *operator) mutation() *Operation {
	o.aliases, o.writes, o.plain = 0, true, false
	r := &Request{Mutation: true, Limited: o.chance(.06), Name: pick(o.rng, []string{"", "M"})}
	taken := map[*Type]bool{}
	for range 1 + o.rng.IntN(10)/7 + o.rng.IntN(10)/8 {
		op := o.write()
		if taken[op.Type] {
			continue
		}
		taken[op.Type] = true
		if len(r.Roots) > 0 { // what it linked to may be gone by then
			op.Data = withoutRelations(op.Data)
		}
		o.adapt(op)
		s := &Selected{Name: op.field(), Args: &Args{Write: op}}
		switch {
		case op.Kind == "delete":
			s.Of = o.decorated([]*Selected{{Name: "documentId"}}, "DeleteMutationResponse")
		default:
			s.Of = o.selection(&op.Type.Schema, op.Type.Drafts, 1)
		}
		o.writeSpelling(s.Args)
		if len(r.Roots) > 0 {
			o.rename(s)
		}
		r.Roots = append(r.Roots, s)
	}
	o.cover.Hit("request", map[bool]string{true: "one mutation", false: "several mutations"}[len(r.Roots) == 1])
	if r.Limited {
		o.cover.Hit("request", "limited mutation")
	}
	return &Operation{Kind: "mutate", Graph: r}
}

// field is the name of the mutation that does an operation.
func (op *Operation) field() string {
	verb := op.Kind
	switch {
	case verb == "create" && op.Type.Single:
		verb = "update"
	case verb == "discard-draft":
		verb = "discardDraft"
	}
	return verb + op.Type.word()
}

// adapt makes a write one that GraphQL has words for.
func (o *operator) adapt(op *Operation) {
	if !op.Type.Localized {
		op.Locale = ""
	}
	if op.Kind == "delete" && op.Locale == "xx" {
		op.Locale = "it"
	}
	if op.Kind == "delete" && o.quirk.DeleteLosesLocale {
		op.Locale = ""
	}
	if op.Kind != "create" && !op.Type.Single && o.chance(.04) {
		op.Number = nobody
	}
	for i := range op.Data {
		f := &op.Data[i]
		if _, ok := f.Value.(Literal); ok {
			f.Variable = o.chance(.12)
		}
	}
}

func (o *operator) writeSpelling(args *Args) {
	for _, name := range []string{"documentId", "status", "data", "locale"} {
		if o.chance(.2) {
			args.Variable = append(args.Variable, name)
		}
	}
	if args.Write.Status == draft && o.chance(.2) { // a status of null is not the default one
		args.Null = append(args.Null, "status")
		o.cover.Hit("write", "status null")
	}
}

func withoutRelations(fields []Field) []Field {
	var kept []Field
	for _, f := range fields {
		switch f.Value.(type) {
		case *Edit, *NewItem, []*NewItem:
		default:
			if f.Attr.Type != "relation" {
				kept = append(kept, f)
			}
		}
	}
	return kept
}

// graphqlEdit returns what GraphQL can say of a relation: a document, a list of them, or null.
func (o *operator) graphqlEdit(a *Attribute, at spot, targets []Target) (Field, bool) {
	f := Field{Attr: a}
	for i := range targets {
		targets[i] = Target{Number: targets[i].Number}
	}
	var list []Target
	for _, i := range o.rng.Perm(len(targets))[:min(len(targets), 1+o.rng.IntN(3))] {
		if _, ok := o.world.end(targets[i], at.op.Type, at.locale); ok || o.chance(.03) {
			list = append(list, targets[i])
		}
	}
	switch {
	case a.toMany():
		f.Value = &Edit{Form: "list", Set: list}
	case len(list) == 0:
		return f, false
	default:
		f.Value = &Edit{Form: "bare", Set: list[:1]}
	}
	return f, true
}

// attach chooses files, or none.
func (o *operator) attach(a *Attribute) any {
	files := o.rng.Perm(len(o.world.Files))
	switch {
	case a.Multiple:
		files = files[:o.rng.IntN(4)]
	case o.chance(.15):
		return nil
	default:
		files = files[:1]
	}
	o.cover.Hit("write", "media")
	return &Attached{files}
}

// Mutate carries out the writes of a mutation and returns the data and the errors of its answer, and what came of each write.
func (w *World) Mutate(r *Request) (any, []*Fault, []Outcome) {
	x := &answering{world: w, limited: r.Limited}
	out := answered{}
	var outcomes []Outcome
	for _, g := range gather(r.Roots, "Mutation") {
		v, _ := x.at(g.key(), func() (any, bool) {
			v, outcome := x.write(g)
			outcomes = append(outcomes, outcome)
			return v, true
		})
		out = append(out, member{g.key(), v})
	}
	return out, x.faults, outcomes
}

// forbidden is the outcome of what the asker may not do.
var forbidden = Outcome{Status: 403}

func (x *answering) write(g *gathered) (any, Outcome) {
	op := g.Args.Write
	if !x.allows(op.Type, op.action()) {
		x.fault("FORBIDDEN", "Forbidden access")
		return nil, forbidden
	}
	if op.Kind == "delete" {
		return x.deleted(op, g)
	}
	out := x.world.Apply(x.world.heeded(op, x.limited))
	status := op.answerStatus()
	switch {
	case out.Status == 404 && op.Kind == "update":
		return nil, out
	case out.Status == 404:
		x.fault("STRAPI_NOT_FOUND_ERROR", "")
		return nil, out
	case out.Status == 400:
		x.fault("BAD_USER_INPUT", "")
		return nil, out
	}
	row := out.Row
	if row == nil { // of a document action: the draft that is left
		doc := x.world.Document(op.Number)
		if op.Type.Single {
			doc = x.world.Single(op.Type)
		}
		row = doc.Row(x.world.locale(op.Type, op.Locale), draft)
	}
	x.view = view{status: status}
	v, ok := x.object(place{row: row, status: status}, &op.Type.Schema, g.of)
	if !ok {
		v = nil
	}
	return v, out
}

// heeded is a write without what the asker may not write: links to what he may not find.
func (w *World) heeded(op *Operation, limited bool) *Operation {
	if !limited {
		return op
	}
	c := *op
	c.Data = w.heededFields(op.Data)
	return &c
}

func (w *World) heededFields(fields []Field) []Field {
	var kept []Field
	for _, f := range fields {
		if f.Attr.Type == "relation" && indexOf(w.Model.Permitted, f.Attr.Target.UID+".find") < 0 {
			continue
		}
		switch v := f.Value.(type) {
		case *NewItem:
			f.Value = w.heededItem(v)
		case []*NewItem:
			list := []*NewItem{}
			for _, it := range v {
				list = append(list, w.heededItem(it))
			}
			f.Value = list
		}
		kept = append(kept, f)
	}
	return kept
}

func (w *World) heededItem(it *NewItem) *NewItem {
	if w.Quirk.OpenComponents {
		return it
	}
	c := *it
	c.Fields = w.heededFields(it.Fields)
	return &c
}

// action is the permission that a write takes.
func (op *Operation) action() string {
	switch {
	case op.Kind == "create" && op.Type.Single:
		return "update"
	case op.Kind == "discard-draft":
		return "discardDraft"
	}
	return op.Kind
}

// answerStatus is the version that a write answers with.
func (op *Operation) answerStatus() string {
	switch op.Kind {
	case "unpublish", "discard-draft":
		return draft
	case "publish":
		return published
	}
	if op.Status == "" {
		return published
	}
	return op.Status
}

// deleted answers with the id that was asked for; a single type must be there.
func (x *answering) deleted(op *Operation, g *gathered) (any, Outcome) {
	w := x.world
	var id any = w.documentID(op.Number)
	if op.Type.Single {
		d := w.Single(op.Type)
		if d == nil {
			x.fault("STRAPI_NOT_FOUND_ERROR", "Document not found")
			return nil, missing
		}
		id = d.ID
	}
	out := w.Apply(op)
	v := answered{}
	for _, g := range gather(g.of, "DeleteMutationResponse") {
		if g.Name == "__typename" {
			v = append(v, member{g.key(), "DeleteMutationResponse"})
		} else {
			v = append(v, member{g.key(), id})
		}
	}
	return v, out
}

// codeOf is the code under which GraphQL tells an error of REST.
func codeOf(name string) string {
	if name == "ValidationError" {
		return "BAD_USER_INPUT"
	}
	var b strings.Builder
	b.WriteString("STRAPI")
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToUpper(string(r)))
	}
	return b.String()
}
