package answers

import "fmt"

// A Redefinition changes a definition: it adds an attribute to a type, or makes an integer attribute one of
// floating-point numbers.
type Redefinition struct {
	Type    *Type
	Attr    *Attribute
	Convert bool
}

// apply changes the model, until it is reset.
func (d *Redefinition) apply(m *Model) {
	t, a, former := d.Type, d.Attr, d.Type.Attributes
	if d.Convert {
		a.Type = "float"
		m.undo = append(m.undo, func() { a.Type = "integer" })
		return
	}
	t.Attributes = append(former[:len(former):len(former)], a)
	m.undo = append(m.undo, func() { t.Attributes = former })
}

// reset undoes all redefinitions.
func (m *Model) reset() {
	for i := len(m.undo) - 1; i >= 0; i-- {
		m.undo[i]()
	}
	m.undo = nil
}

func (d *Redefinition) word() string {
	return pickOf(d.Convert, "attribute converted", "attribute added")
}

func (d *Redefinition) describe() string {
	return fmt.Sprintf("%s: %s of %s", d.word(), d.Attr.Name, d.Type.Singular)
}

// remembered returns an operation that concerns what a run remembers.
func (o *operationGenerator) remembered() *Operation {
	if d := o.redefinition(); d != nil {
		return &Operation{Kind: "redefine", Redefinition: d}
	}
	x := o.rng.Float64()
	op := &Operation{Kind: "asOf", Type: pick(o.rng, o.world.Model.Types), Moment: o.rng.IntN(len(o.past.Moments)),
		ByTime: o.chance(.3)}
	then := o.generator
	then.world = o.past.Moments[op.Moment].World
	number := o.number(op.Type, then)
	switch {
	case x < .15:
		op.Kind, op.Number = "history", number
	case x < .40:
		op.Kind, op.Number, op.ByTime = "restore", number, false
		op.Locale = pick(o.rng, append([]string{"", ""}, o.world.Model.Locales...))
		op.Status = pick(o.rng, []string{"", draft, published})
	default:
		op.Ask = then.plainQuestion(op.Type, number)
	}
	return op
}

// number returns a document that was there at a moment, or is there now, or never was.
func (o *operationGenerator) number(t *Type, then generator) int {
	if d := then.document(t); d != nil && o.chance(.8) {
		return d.Number
	}
	if d := o.document(t); d != nil {
		return d.Number
	}
	return o.documents + 1000
}

// plainQuestion returns a question about one document without conditions.
func (a *generator) plainQuestion(t *Type, number int) *Question {
	q := &Question{Type: t, Number: number}
	a.versions(q)
	q.Publication, q.HasVersion = "", ""
	if a.chance(.4) {
		q.Fields, q.FieldsForm = a.fields(t.Attributes), a.rng.IntN(3)
	}
	switch {
	case a.chance(.2):
	case a.graphql: // runs in GraphQL attach files, of which the evaluator knows some keys only
		q.Populate = everything(t.Attributes)
	default:
		q.Populate = unconditional(a.populate(&t.Schema, t.Drafts, 2))
	}
	return q
}

// unconditional returns a populate without filters and sorts.
func unconditional(p *Populate) *Populate {
	if p == nil {
		return nil
	}
	for _, it := range p.Items {
		it.Filter, it.Sort, it.Populate = nil, nil, unconditional(it.Populate)
		for _, v := range it.On {
			v.Populate = unconditional(v.Populate)
		}
		if it.Form == "options" && it.Fields == nil && it.Populate == nil && it.On == nil {
			it.Form = "true"
		}
	}
	return p
}

// redefinition returns a random change of definitions, mostly nil. Each run adds an attribute early, and converts one
// later.
func (o *operationGenerator) redefinition() *Redefinition {
	moments := len(o.past.Moments)
	switch {
	case moments > 35 && o.cover.Hits["past: attribute converted"] == 0 || o.chance(.004):
		return o.conversion()
	case moments > 15 && len(o.world.Added) == 0 || o.chance(.01):
		t := pick(o.rng, o.world.Model.Types)
		typ := pick(o.rng, []string{"string", "integer", "boolean", "date", "json"})
		a := &Attribute{Name: fmt.Sprintf("added%d", len(o.world.Added)+1), Type: typ, Localized: t.Localized &&
			o.chance(.6)}
		return &Redefinition{Type: t, Attr: a}
	}
	return nil
}

// conversion returns a change of the type of a random attribute, nil if there is none that can be changed.
func (o *operationGenerator) conversion() *Redefinition {
	t := pick(o.rng, o.world.Model.Types)
	for _, a := range t.Attributes {
		if a.Type == "integer" && !a.System {
			return &Redefinition{Type: t, Attr: a, Convert: true}
		}
	}
	return nil
}
