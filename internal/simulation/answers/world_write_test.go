package answers

import "unicode/utf16"

// An Outcome is the expected result of a write: the HTTP status and the row in the response.
type Outcome struct {
	Status int
	Row    *Row
	Reason string // reason for a refusal
}

func refused(reason string) Outcome { return Outcome{Status: 400, Reason: reason} }

var missing = Outcome{Status: 404}

// Apply carries out a write and returns the expected outcome. A refused write changes nothing.
func (w *World) Apply(op *Operation) Outcome {
	doc := w.Document(op.Number)
	if op.Type.Single {
		doc = w.Single(op.Type)
	}
	locale := w.locale(op.Type, op.Locale)
	switch op.Kind {
	case "create", "update":
		return w.save(op, doc, locale)
	case "delete":
		return w.delete(doc, op)
	}
	if doc == nil || doc.Row(locale, draft) == nil {
		return missing
	}
	switch op.Kind {
	case "publish":
		row := doc.Row(locale, draft)
		if problem := w.problem(row); problem != "" {
			return refused(problem)
		}
		row.Updated = &Generated{Kind: "time"}
		return Outcome{Status: 200, Row: w.publish(row)}
	case "unpublish":
		return w.unpublish(doc, locale)
	}
	return w.discard(doc, locale)
}

func (w *World) locale(t *Type, locale string) string {
	switch {
	case !t.Localized:
		return ""
	case locale == "":
		return w.Model.Locales[0]
	}
	return locale
}

// save creates or updates a document in one localization.
func (w *World) save(op *Operation, doc *Document, locale string) Outcome {
	status := 200
	isNew := doc == nil
	if isNew {
		if op.Kind == "update" && !op.Type.Single {
			return missing
		}
		if !op.Type.Single {
			status = 201
		}
		if doc = w.made(op); doc == nil { // a document that is restored gets its id back
			doc = &Document{Number: op.Number, Type: op.Type, ID: &Generated{Kind: "documentId"}}
		}
	}
	if locale == "*" {
		return refused("locale *")
	}
	version := published
	if op.Type.Drafts {
		version = draft
	}
	old := doc.Row(locale, version)
	var row *Row
	if old == nil {
		row = w.localization(doc, locale, version)
	} else {
		row = old.copy(true)
	}
	publishing := op.Status == "" || op.Status == published
	data := op.Data
	if old == nil && !isNew && op.Kind != "restore" {
		data = sharedNullsOut(doc, data)
	}
	problem := w.assign(row.Fields, row.Items, data)
	if problem == "" {
		problem = w.unlinkable(op.Data, op.Type, locale)
	}
	if problem == "" {
		problem = w.unplaceable(row, op.Data)
	}
	if problem == "" && (version == published || publishing) {
		problem = w.problem(row)
	}
	if problem != "" {
		return refused(problem)
	}
	row.Updated, row.Added = &Generated{Kind: "time"}, len(w.Added)
	if version == published {
		row.Published = &Generated{Kind: "time"}
	}
	if indexOf(w.Docs, doc) < 0 {
		w.Docs = append(w.Docs, doc)
	}
	doc.put(row)
	w.relate(row, op.Data)
	w.share(row)
	if version == draft && publishing {
		row = w.publish(row)
	}
	return Outcome{Status: status, Row: row}
}

// sharedNullsOut removes shared attributes that are null from data. A new localization gets the existing values
// nevertheless.
func sharedNullsOut(doc *Document, data []Field) []Field {
	var kept []Field
	for _, f := range data {
		if f.Value != nil || !doc.shares(f.Attr) {
			kept = append(kept, f)
		}
	}
	return kept
}

// localization returns a new row with defaults and with the shared values of the document's rows in the same version.
func (w *World) localization(doc *Document, locale, version string) *Row {
	row := &Row{Doc: doc, Locale: locale, Status: version, ID: &Generated{Kind: "id"},
		Created: &Generated{Kind: "time"},
		Fields:  map[string]any{}, Items: map[string][]*Item{}}
	from := doc.other(locale, version)
	for _, a := range doc.Type.Attributes {
		switch {
		case from != nil && doc.shares(a):
			row.Fields[a.Name] = from.Fields[a.Name]
			row.Items[a.Name] = copyItems(from.Items[a.Name], false)
		case a.Default != nil:
			row.Fields[a.Name] = a.Default.Keep
		}
	}
	return row
}

func (d *Document) other(locale, status string) *Row {
	for _, r := range d.Rows {
		if r.Locale != locale && r.Status == status {
			return r
		}
	}
	return nil
}

// shares reports whether a has the same value in all localizations of a document.
func (d *Document) shares(a *Attribute) bool {
	return d.Type.Localized && !a.System && !a.Localized && a.Type != "uid" && a.Type != "relation"
}

// put adds a row, or replaces the row with the same locale and status.
func (d *Document) put(row *Row) {
	for i, r := range d.Rows {
		if r.Locale == row.Locale && r.Status == row.Status {
			d.Rows[i] = row
			return
		}
	}
	d.Rows = append(d.Rows, row)
}

// share copies the shared values of row to the other rows of its version.
func (w *World) share(row *Row) {
	for _, r := range row.Doc.Rows {
		if r == row || r.Status != row.Status {
			continue
		}
		for _, a := range row.Doc.Type.Attributes {
			if row.Doc.shares(a) {
				r.Fields[a.Name] = row.Fields[a.Name]
				r.Items[a.Name] = copyItems(row.Items[a.Name], false)
			}
		}
		r.Updated, r.Added = &Generated{Kind: "time"}, len(w.Added)
		if r.Published != nil {
			r.Published = &Generated{Kind: "time"}
		}
	}
}

// publish makes the published row a copy of the draft, including its links.
func (w *World) publish(row *Row) *Row {
	pub := row.copy(false)
	pub.Status, pub.ID, pub.Published = published, &Generated{Kind: "id"}, &Generated{Kind: "time"}
	pub.Added = len(w.Added)
	appears := row.Doc.Row(row.Locale, published) == nil
	row.Doc.put(pub)
	for _, a := range row.Doc.Type.Attributes {
		if a.Type == "relation" && linkSetOf(a, draft) == draft {
			w.copyEnds(a, row.end(), published, w.Ends(a, row.end(), draft), appears)
		}
	}
	w.share(pub)
	return pub
}

func (w *World) unpublish(doc *Document, locale string) Outcome {
	row := doc.Row(locale, published)
	if row == nil {
		return missing
	}
	doc.remove(row)
	return Outcome{Status: 200}
}

// discard makes the draft a copy of the published row.
func (w *World) discard(doc *Document, locale string) Outcome {
	pub := doc.Row(locale, published)
	if pub == nil {
		return missing
	}
	row := pub.copy(false)
	row.Status, row.ID, row.Published = draft, &Generated{Kind: "id"}, nil
	row.Added = len(w.Added)
	doc.put(row)
	for _, a := range doc.Type.Attributes {
		if a.Type == "relation" && linkSetOf(a, draft) == draft {
			w.copyEnds(a, row.end(), draft, append(w.Ends(a, row.end(), published), w.unpublished(a, row)...), true)
		}
	}
	w.share(row)
	return Outcome{Status: 200}
}

// unpublished returns the drafts that were never published and that link to row by an attribute of their own.
// Discarding the draft of row does not change those links.
func (w *World) unpublished(a *Attribute, row *Row) []End {
	var ends []End
	shown := w.Ends(a, row.end(), published)
	for _, e := range w.Ends(a, row.end(), draft) {
		if a.Mapped && a.toMany() && e.Doc.Row(e.Locale, published) == nil && indexOf(shown, e) < 0 {
			ends = append(ends, e)
		}
	}
	return ends
}

func (d *Document) remove(row *Row) {
	var kept []*Row
	for _, r := range d.Rows {
		if r != row {
			kept = append(kept, r)
		}
	}
	d.Rows = kept
}

// delete removes one localization or all of them. Removing nothing is not an error.
func (w *World) delete(doc *Document, op *Operation) Outcome {
	if doc == nil {
		return Outcome{Status: 204}
	}
	locale := w.locale(op.Type, op.Locale)
	for _, r := range doc.Rows {
		if locale == "*" || r.Locale == locale {
			doc.remove(r)
			w.forget(r.end())
		}
	}
	return Outcome{Status: 204}
}

// assign sets fields and items from a body. It returns the first problem that even a draft may not have, or "".
func (w *World) assign(fields map[string]any, items map[string][]*Item, data []Field) string {
	for _, f := range data {
		problem := ""
		switch v := f.Value.(type) {
		case nil:
			switch {
			case f.Attr.Type == "dynamiczone" || f.Attr.Repeatable:
				problem = f.Attr.Name + " is null"
			case f.Attr.isNested():
				items[f.Attr.Name] = nil
			default:
				fields[f.Attr.Name] = nil
			}
		case Literal:
			fields[f.Attr.Name] = w.stored(f.Attr, v.Keep)
			if !withinMost(f.Attr, v.Keep) {
				problem = f.Attr.Name + " is too great or too long"
			}
		case *Attached:
			fields[f.Attr.Name] = v
		case *NewItem:
			items[f.Attr.Name], problem = w.build([]*NewItem{v}, items[f.Attr.Name])
		case []*NewItem:
			items[f.Attr.Name], problem = w.build(v, items[f.Attr.Name])
		}
		if problem != "" {
			return problem
		}
	}
	return ""
}

// stored returns the value of an attribute that becomes v. A password gets a Hash, unless a former version is restored,
// which has one.
func (w *World) stored(a *Attribute, v any) any {
	if _, password := v.(string); password && a.Type == "password" {
		w.Hashes++
		return Hash(w.Hashes)
	}
	return v
}

// build makes the components of an attribute from a body and the existing components.
func (w *World) build(wanted []*NewItem, old []*Item) ([]*Item, string) {
	list := []*Item{}
	for _, n := range wanted {
		it := &Item{Number: n.Number, Component: n.Component, ID: &Generated{Kind: "id"}, Fields: map[string]any{},
			Items: map[string][]*Item{}, Ends: map[string][]End{}}
		if n.Keep != 0 {
			if it = itemOf(old, n.Keep); it == nil {
				return nil, "a component of elsewhere"
			}
		} else {
			for _, a := range n.Component.Attributes {
				if a.Default != nil {
					it.Fields[a.Name] = a.Default.Keep
				}
			}
		}
		if problem := w.assign(it.Fields, it.Items, n.Fields); problem != "" {
			return nil, problem
		}
		list = append(list, it)
	}
	return list, ""
}

func itemOf(items []*Item, number int) *Item {
	for _, it := range items {
		if it.Number == number {
			return it
		}
	}
	return nil
}

// withinMost checks the limits that apply to drafts as well.
func withinMost(a *Attribute, v any) bool {
	switch v := v.(type) {
	case float64:
		return a.Max == nil || v <= *a.Max
	case string:
		most := 1 << 30
		if a.MaxLength != nil {
			most = *a.MaxLength
		} else if a.Type == "string" {
			most = 255
		}
		return units(v) <= most
	}
	return true
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// problem returns the reason why a row cannot be published, or "".
func (w *World) problem(row *Row) string {
	for _, a := range row.Doc.Type.Attributes {
		v := row.Fields[a.Name]
		if (!a.Unique && a.Type != "uid") || v == nil || v == "" {
			continue
		}
		for _, r := range w.rows(row.Doc.Type) {
			if r.Doc != row.Doc && r.Status == published && r.Locale == row.Locale && r.Fields[a.Name] == v {
				return a.Name + " is taken"
			}
		}
	}
	return faultOf(row.Doc.Type.Attributes, row.Fields, row.Items)
}

func faultOf(attrs []*Attribute, fields map[string]any, items map[string][]*Item) string {
	for _, a := range attrs {
		v := fields[a.Name]
		if a.Required && v == nil {
			return a.Name + " is missing"
		}
		switch v := v.(type) {
		case float64:
			if a.Min != nil && v < *a.Min {
				return a.Name + " is too small"
			}
		case string:
			if a.MinLength != nil && units(v) < *a.MinLength {
				return a.Name + " is too short"
			}
		}
		if a.isNested() && a.Max != nil && float64(len(items[a.Name])) > *a.Max {
			return a.Name + " has too many"
		}
		for _, it := range items[a.Name] {
			if problem := faultOf(it.Component.Attributes, it.Fields, it.Items); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// copy returns a row with the same values. If same is set, components keep their numbers and ids.
func (r *Row) copy(same bool) *Row {
	c := *r
	c.Fields = map[string]any{}
	for k, v := range r.Fields {
		c.Fields[k] = v
	}
	c.Items = map[string][]*Item{}
	for k, v := range r.Items {
		c.Items[k] = copyItems(v, same)
	}
	return &c
}

func copyItems(items []*Item, same bool) []*Item {
	var list []*Item
	for _, it := range items {
		c := &Item{Component: it.Component, ID: &Generated{Kind: "id"}, Fields: map[string]any{},
			Items: map[string][]*Item{}, Ends: map[string][]End{}}
		if same {
			c.Number, c.ID = it.Number, it.ID
		}
		for k, v := range it.Fields {
			c.Fields[k] = v
		}
		for k, v := range it.Items {
			c.Items[k] = copyItems(v, same)
		}
		for k, v := range it.Ends {
			c.Ends[k] = append([]End(nil), v...)
		}
		list = append(list, c)
	}
	return list
}
