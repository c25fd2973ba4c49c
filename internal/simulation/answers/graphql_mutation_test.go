package answers

import (
	"cmp"
	"strings"
)

// mutation returns a random mutation with one or more writes.
func (o *operationGenerator) mutation() *Operation {
	o.aliases, o.writes, o.plain = 0, true, false
	r := &Request{Mutation: true, Limited: o.chance(.06), Name: pick(o.rng, []string{"", "M"})}
	taken := map[*Type]bool{}
	for range 1 + o.rng.IntN(10)/7 + o.rng.IntN(10)/8 {
		op := o.write()
		if taken[op.Type] {
			continue
		}
		taken[op.Type] = true
		if len(r.Roots) > 0 { // an earlier write may have deleted a document that this one links to
			op.Data = withoutRelations(op.Data)
		}
		o.adapt(op)
		s := &Selection{Name: op.field(), Args: &Args{Write: op}}
		switch {
		case op.Kind == "delete":
			s.Of = o.decorated([]*Selection{{Name: "documentId"}}, "DeleteMutationResponse")
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

// field returns the name of the mutation field for an operation.
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

// adapt changes a write so that GraphQL can express it.
func (o *operationGenerator) adapt(op *Operation) {
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

func (o *operationGenerator) writeSpelling(args *Args) {
	for _, name := range []string{"documentId", "status", "data", "locale"} {
		if o.chance(.2) {
			args.Variable = append(args.Variable, name)
		}
	}
	if args.Write.Status == draft && o.chance(.2) { // a null status does not mean the default status
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

// graphqlEdit returns a relation's value in GraphQL: a document, a list of documents, or null.
func (o *operationGenerator) graphqlEdit(a *Attribute, at writeContext, targets []Target) (Field, bool) {
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
func (o *operationGenerator) attach(a *Attribute) any {
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

// Mutate carries out the writes of a mutation. It returns the expected data and errors, and the outcome of each write.
// It calls settle behind each write, since the answers to that one and to later ones may show positions that it leaves
// unknown.
func (w *World) Mutate(r *Request, settle func() error) (any, []*Issue, []Outcome, error) {
	x := &evaluation{world: w, limited: r.Limited, settle: settle}
	out := orderedObject{}
	var outcomes []Outcome
	for _, g := range collectFields(r.Roots, "Mutation") {
		v, _ := x.at(g.key(), func() (any, bool) {
			v, outcome := x.write(g)
			outcomes = append(outcomes, outcome)
			return v, true
		})
		out = append(out, member{g.key(), v})
	}
	return out, x.issues, outcomes, x.failed
}

// forbidden is the outcome of a write without permission.
var forbidden = Outcome{Status: 403}

func (x *evaluation) write(g *collectedField) (any, Outcome) {
	op := g.Args.Write
	if !x.allows(op.Type, op.action()) {
		x.report("FORBIDDEN", "Forbidden access")
		return nil, forbidden
	}
	if op.Kind == "delete" {
		return x.deleted(op, g)
	}
	out := x.world.Apply(x.world.permittedWrite(op, x.limited))
	if x.failed = cmp.Or(x.failed, x.settle()); x.failed != nil {
		return nil, out
	}
	status := op.answerStatus()
	switch {
	case out.Status == 404 && op.Kind == "update":
		return nil, out
	case out.Status == 404:
		x.report("STRAPI_NOT_FOUND_ERROR", "")
		return nil, out
	case out.Status == 400:
		x.report("BAD_USER_INPUT", "")
		return nil, out
	}
	row := out.Row
	if row == nil { // the row of a document action is the remaining draft
		doc := x.world.Document(op.Number)
		if op.Type.Single {
			doc = x.world.Single(op.Type)
		}
		row = doc.Row(x.world.locale(op.Type, op.Locale), draft)
	}
	x.view = view{status: status}
	v, ok := x.object(instance{row: row, status: status}, &op.Type.Schema, g.of)
	if !ok {
		v = nil
	}
	return v, out
}

// permittedWrite returns a write without the parts that a limited principal may not write: links to types that it may
// not find.
func (w *World) permittedWrite(op *Operation, limited bool) *Operation {
	if !limited {
		return op
	}
	c := *op
	c.Data = w.permittedFields(op.Data)
	return &c
}

func (w *World) permittedFields(fields []Field) []Field {
	var kept []Field
	for _, f := range fields {
		if f.Attr.Type == "relation" && indexOf(w.Model.Permitted, f.Attr.Target.UID+".find") < 0 {
			continue
		}
		switch v := f.Value.(type) {
		case *NewItem:
			f.Value = w.permittedItem(v)
		case []*NewItem:
			list := []*NewItem{}
			for _, it := range v {
				list = append(list, w.permittedItem(it))
			}
			f.Value = list
		}
		kept = append(kept, f)
	}
	return kept
}

func (w *World) permittedItem(it *NewItem) *NewItem {
	if w.Quirk.OpenComponents {
		return it
	}
	c := *it
	c.Fields = w.permittedFields(it.Fields)
	return &c
}

// action returns the permission that a write needs.
func (op *Operation) action() string {
	switch {
	case op.Kind == "create" && op.Type.Single:
		return "update"
	case op.Kind == "discard-draft":
		return "discardDraft"
	}
	return op.Kind
}

// answerStatus returns the version in the response to a write.
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

// deleted evaluates a delete, which answers with the documentId in its arguments. A single type must have a document to
// delete.
func (x *evaluation) deleted(op *Operation, g *collectedField) (any, Outcome) {
	w := x.world
	var id any = w.documentID(op.Number)
	if op.Type.Single {
		d := w.Single(op.Type)
		if d == nil {
			x.report("STRAPI_NOT_FOUND_ERROR", "Document not found")
			return nil, missing
		}
		id = d.ID
	}
	out := w.Apply(op)
	v := orderedObject{}
	for _, g := range collectFields(g.of, "DeleteMutationResponse") {
		if g.Name == "__typename" {
			v = append(v, member{g.key(), "DeleteMutationResponse"})
		} else {
			v = append(v, member{g.key(), id})
		}
	}
	return v, out
}

// codeOf returns the GraphQL error code for the name of a REST error.
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
