package answers

import (
	"fmt"
	"reflect"
)

// An operationGenerator makes random operations on a World.
type operationGenerator struct {
	generator
	batching  bool  // whether some writes are sent several at a time
	restarts  bool  // whether the server can be restarted
	past      *Past // what the run remembers; nil: nothing
	documents int   // how many document numbers are in use
	items     int
}

// Operation returns a random operation. There are about two questions for each write.
func (o *operationGenerator) Operation() *Operation {
	if o.past != nil && len(o.past.Moments) > 3 && o.chance(.5) {
		return o.remembered()
	}
	x := o.rng.Float64()
	switch {
	case x < .003 && o.restarts:
		return &Operation{Kind: "restart"}
	case x < .66 && o.graphql && len(o.world.Docs) > 5:
		return &Operation{Kind: "query", Graph: o.Request()}
	case x < .95 && o.graphql:
		return o.mutation()
	case x < .66 && len(o.world.Docs) > 5:
		return &Operation{Kind: "ask", Ask: o.Question()}
	}
	if o.batching && o.chance(.15) {
		return o.batch()
	}
	return o.write()
}

// documentsPerType is the number of documents of a type above which no more are created.
const documentsPerType = 14

func (o *operationGenerator) write() *Operation {
	t := pick(o.rng, o.world.Model.Types)
	op := &Operation{Type: t}
	d := o.document(t)
	if t.Single {
		d = o.world.Single(t)
	}
	switch x := o.rng.Float64(); {
	case d == nil, !t.Single && x < .35 && o.count(t) < documentsPerType:
		o.documents++
		op.Kind, op.Number = "create", o.documents
	case x < .70:
		op.Kind, op.Number = "update", d.Number
	case x < .80 || o.quirk.NoActions || !t.Drafts:
		op.Kind, op.Number = "delete", d.Number
	default:
		op.Kind, op.Number = pick(o.rng, []string{"publish", "unpublish", "discard-draft"}), d.Number
	}
	op.Locale = o.locale(op, d)
	if op.Kind == "create" || op.Kind == "update" {
		if t.Drafts || o.chance(.2) {
			op.Status = pick(o.rng, []string{"", published, draft, draft})
		}
		o.fill(op, d)
	}
	return op
}

func (o *operationGenerator) count(t *Type) int {
	n := 0
	for _, d := range o.world.Docs {
		if d.Type == t && len(d.Rows) > 0 {
			n++
		}
	}
	return n
}

// locale chooses the locale of a write. It adds a localization only if all rows agree on their shared values, since it
// is not defined which row a new localization copies them from.
func (o *operationGenerator) locale(op *Operation, d *Document) string {
	if !op.Type.Localized {
		return pick(o.rng, []string{"", "", "", "fr"})
	}
	locale := pick(o.rng, append([]string{"", ""}, o.world.Model.Locales...))
	if d == nil || op.Kind == "create" {
		return locale
	}
	if op.Kind == "delete" {
		return pick(o.rng, []string{locale, "*", "xx"})
	}
	if d.Row(o.world.locale(op.Type, locale), draft) == nil && (!d.agrees() || o.chance(.6)) {
		locale = pick(o.rng, d.Rows).Locale
	}
	return locale
}

// agrees reports whether all rows have the same shared values.
func (d *Document) agrees() bool {
	for _, a := range d.Type.Attributes {
		if !d.shares(a) {
			continue
		}
		for _, r := range d.Rows[1:] {
			if r.Fields[a.Name] != d.Rows[0].Fields[a.Name] || !sameItems(r.Items[a.Name], d.Rows[0].Items[a.Name]) {
				return false
			}
		}
	}
	return true
}

func sameItems(a, b []*Item) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Component != b[i].Component || !reflect.DeepEqual(a[i].Fields, b[i].Fields) {
			return false
		}
		for _, x := range a[i].Component.Attributes {
			if !sameItems(a[i].Items[x.Name], b[i].Items[x.Name]) ||
				fmt.Sprint(a[i].Ends[x.Name]) != fmt.Sprint(b[i].Ends[x.Name]) {
				return false
			}
		}
	}
	return true
}

// fill makes the body of a write.
func (o *operationGenerator) fill(op *Operation, d *Document) {
	locale := o.world.locale(op.Type, op.Locale)
	var row *Row
	if op.Kind == "update" && d != nil {
		row = d.Row(locale, draft)
	}
	share := .8
	if row != nil {
		share = .35
	}
	at := writeContext{op: op, row: row, locale: locale}
	required := .93
	if o.graphql && op.Status == draft { // a response could not show a draft without its required values
		required = 0
	}
	for _, a := range op.Type.Attributes {
		if a.System || a.Type == "media" && !o.graphql || o.rarely(a) || !o.chance(share) &&
			!(row == nil && a.Required && o.chance(required)) {
			continue
		}
		var items []*Item
		var ends []End
		if row != nil {
			items = row.Items[a.Name]
			if a.Type == "relation" {
				ends = o.common(a, row)
			}
		}
		if f, ok := o.field(a, at, items, ends); ok {
			op.Data = append(op.Data, f)
		}
	}
}

// rarely reports whether to leave out a value. It leaves out most passwords, since hashing them is slow.
func (o *operationGenerator) rarely(a *Attribute) bool { return a.Type == "password" && o.chance(.95) }

// A writeContext describes the write for which a value is generated.
type writeContext struct {
	op     *Operation
	row    *Row // the row that is changed; nil for a new one
	locale string
}

func (o *operationGenerator) field(a *Attribute, at writeContext, items []*Item, ends []End) (Field, bool) {
	f := Field{Attr: a}
	switch a.Type {
	case "relation":
		return o.relation(a, at, ends)
	case "media":
		f.Value = o.attach(a)
		return f, true
	case "component":
		if !a.Repeatable {
			if at.row != nil && o.chance(.1) {
				return f, true
			}
			f.Value = o.newItem(a.Component, at, items, false)
			return f, true
		}
		fallthrough
	case "dynamiczone":
		list := []*NewItem{}
		for range o.rng.IntN(4) {
			c := a.Component
			if c == nil {
				c = pick(o.rng, a.Components)
			}
			list = append(list, o.newItem(c, at, unused(items, list), a.Type == "dynamiczone"))
		}
		f.Value = list
		return f, true
	}
	if o.chance(.06) && (!a.Required || o.chance(.2) || o.graphql && at.op.Status == draft) {
		return f, true
	}
	l := randomLiteral(o.rng, a, o.quirk)
	if a.Type == "uid" && o.chance(.93) {
		l = same(fmt.Sprintf("%v-%d", l.Keep, o.documents*10+o.rng.IntN(10)))
	}
	if a.Max != nil && a.Type == "integer" && o.chance(.03) {
		l = Literal{99, 99.0}
	}
	f.Value = l
	return f, true
}

// unused returns the items that are not in list yet.
func unused(items []*Item, list []*NewItem) []*Item {
	var rest []*Item
	for _, it := range items {
		taken := false
		for _, n := range list {
			taken = taken || n.Keep == it.Number
		}
		if !taken {
			rest = append(rest, it)
		}
	}
	return rest
}

// newItem makes a component for a body, or changes an existing one.
func (o *operationGenerator) newItem(c *Component, at writeContext, items []*Item, zone bool) *NewItem {
	o.items++
	n := &NewItem{Number: o.items, Component: c, Zone: zone}
	var old *Item
	for _, it := range items {
		if it.Component == c && it.Number != 0 && it.ID.Value != nil && o.chance(.5) {
			old = it
			break
		}
	}
	share := .75
	if old != nil {
		n.Keep, share = old.Number, .4
	}
	for _, a := range c.Attributes {
		if a.System || o.rarely(a) || !o.chance(share) && !(old == nil && a.Required) {
			continue
		}
		var inner []*Item
		var ends []End
		if old != nil {
			inner, ends = old.Items[a.Name], old.Ends[a.Name]
		}
		if f, ok := o.field(a, at, inner, ends); ok {
			n.Fields = append(n.Fields, f)
		}
	}
	return n
}

// countWrite counts a write in the coverage, by its outcome.
func (o *operationGenerator) countWrite(op *Operation, out Outcome, wasThere bool) {
	o.cover.Hit("operation", op.Kind)
	switch out.Status {
	case 400:
		o.cover.Hit("write", "refused")
		return
	case 404:
		o.cover.Hit("write", "missing")
		return
	}
	if out.Row != nil && (op.Kind == "create" || op.Kind == "update") {
		o.cover.Hit("write", out.Row.Status)
		if !wasThere && op.Kind == "update" {
			o.cover.Hit("write", "new localization")
		}
	}
	o.countFields(op.Data)
}

func (o *operationGenerator) countFields(data []Field) {
	for _, f := range data {
		switch v := f.Value.(type) {
		case nil:
			if f.Attr.Type == "relation" {
				o.cover.Hit("edit", "null")
			}
		case *NewItem:
			o.countItem(v)
		case []*NewItem:
			for _, n := range v {
				o.countItem(n)
			}
		case *Edit:
			o.cover.Hit("write relation", f.Attr.kind())
			o.countEdit(v)
		}
	}
}

func (o *operationGenerator) countItem(n *NewItem) {
	word := "new component"
	if n.Keep != 0 {
		word = "kept component"
	}
	o.cover.Hit("write", word)
	if n.Zone {
		o.cover.Hit("write", "zone")
	}
	o.countFields(n.Fields)
}

func (o *operationGenerator) countEdit(e *Edit) {
	if e.Form != "change" {
		o.cover.Hit("edit", e.Form)
	}
	if e.Connect != nil {
		o.cover.Hit("edit", "connect")
	}
	if e.Disconnect != nil {
		o.cover.Hit("edit", "disconnect")
	}
	for _, t := range append(append([]Target{}, e.Set...), e.Connect...) {
		if t.Position != "" {
			o.cover.Hit("edit", "position")
		}
		if t.ByID {
			o.cover.Hit("edit", "by id")
		}
	}
}
