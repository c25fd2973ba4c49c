package answers

import (
	"fmt"

	"lectern/internal/simulation/program"
)

// An Operation is a request that is sent to the server and applied to the World. It names documents and components by
// number, and so is still valid when earlier operations are removed.
type Operation struct {
	Kind   string // create, update, delete, publish, unpublish, discard-draft, restart, ask, asOf, history, restore, redefine, batch; in GraphQL query and mutate
	Type   *Type
	Number int    // number of the document
	Locale string // as sent; "" means the default locale
	Status string // as sent; "" publishes
	Data   []Field
	Ask    *Question
	Graph  *Request // the request of a query or mutation

	Batch  []*Operation // the writes of a batch
	Atomic bool         // whether all of them are refused if one is

	Moment       int  // of asOf and restore: which of the moments of the Past
	ByTime       bool // of asOf: name the moment by its time
	Redefinition *Redefinition
}

// A Field is one key of a body. Value is nil (null), a Literal, []*NewItem, *NewItem, *Edit or *Attached.
type Field struct {
	Attr     *Attribute
	Value    any
	Variable bool // passed by a variable in GraphQL
}

// A NewItem is a component in a body: a new one, or if Keep is set, the component with that number with changes.
type NewItem struct {
	Number    int
	Keep      int
	Component *Component
	Zone      bool
	Fields    []Field
}

// An Edit is the value of a relation in a body. Form is bare (one value), list, set, or change (connect and
// disconnect).
type Edit struct {
	Form       string
	Set        []Target
	Connect    []Target
	Disconnect []Target
}

// A Target is a document that an Edit names.
type Target struct {
	Number   int
	Locale   string // written only if the type of the target is localized and that of the source is not
	ByID     bool   // by numeric id in place of documentId
	Wrapped  bool   // written as {documentId: …} in place of a plain value
	Position string // start, end, before, after or ""
	Next     int    // the document that before and after refer to
}

// path returns the URL path of an operation.
func (op *Operation) path(w *World) string {
	p := "/api/" + op.Type.Plural
	if op.Type.Single {
		p = "/api/" + op.Type.Singular
	} else if op.Kind != "create" {
		p += "/" + w.documentID(op.Number)
	}
	switch op.Kind {
	case "publish", "unpublish", "discard-draft":
		p += "/actions/" + op.Kind
	}
	if op.Kind == "history" || op.Kind == "restore" {
		return p
	}
	sep := "?"
	for _, kv := range [][2]string{{"locale", op.Locale}, {"status", op.Status}} {
		if kv[1] != "" {
			p += sep + kv[0] + "=" + kv[1]
			sep = "&"
		}
	}
	return p
}

// method returns the HTTP method of an operation.
func (op *Operation) method() string {
	switch op.Kind {
	case "update":
		return "PUT"
	case "delete":
		return "DELETE"
	case "ask":
		return "GET"
	}
	if op.Kind == "create" && op.Type.Single {
		return "PUT"
	}
	return "POST"
}

// body returns the data object of a write, for encoding/json.
func (op *Operation) body(w *World) map[string]any { return w.fields(op.Data) }

func (w *World) fields(fields []Field) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		switch v := f.Value.(type) {
		case nil:
			out[f.Attr.Name] = nil
		case Literal:
			out[f.Attr.Name] = v.Send
		case *NewItem:
			out[f.Attr.Name] = w.item(v)
		case []*NewItem:
			list := []any{}
			for _, it := range v {
				list = append(list, w.item(it))
			}
			out[f.Attr.Name] = list
		case *Attached:
			out[f.Attr.Name] = w.attached(f.Attr, v)
		case *Edit:
			out[f.Attr.Name] = w.edit(v)
		}
	}
	return out
}

func (w *World) item(it *NewItem) map[string]any {
	out := w.fields(it.Fields)
	if it.Keep != 0 {
		if old := w.Item(it.Keep); old != nil {
			out["id"] = old.ID.Value
		}
	}
	if it.Zone {
		out["__component"] = it.Component.UID
	}
	return out
}

// edit returns the value of a relation in a body.
func (w *World) edit(e *Edit) any {
	set := []any{}
	for _, t := range e.Set {
		set = append(set, w.target(t))
	}
	switch e.Form {
	case "bare":
		return set[0]
	case "list":
		return set
	case "set":
		return map[string]any{"set": set}
	}
	out := map[string]any{}
	for word, targets := range map[string][]Target{"connect": e.Connect, "disconnect": e.Disconnect} {
		var list []any
		for _, t := range targets {
			list = append(list, w.target(t))
		}
		if len(list) > 0 {
			out[word] = list
		}
	}
	return out
}

// target returns a target in a body.
func (w *World) target(t Target) any {
	if d := w.Document(t.Number); t.ByID && d != nil && d.Rows[0].ID.Value != nil {
		id := d.Rows[0].ID.Value
		if t.Wrapped {
			return map[string]any{"id": id}
		}
		return id
	}
	id := w.reference(t.Number)
	if !t.Wrapped && t.Locale == "" && t.Position == "" {
		return id
	}
	out := map[string]any{"documentId": id}
	if t.Locale != "" {
		out["locale"] = t.Locale
	}
	switch t.Position {
	case "start", "end":
		out["position"] = map[string]any{t.Position: true}
	case "before", "after":
		out["position"] = map[string]any{t.Position: w.reference(t.Next)}
	}
	return out
}

// documentID returns the documentId of a document, which may be deleted. It returns an unknown id if the document never
// existed.
func (w *World) documentID(number int) string {
	for _, d := range w.Docs {
		if d.Number == number {
			if s, ok := d.ID.Value.(string); ok {
				return s
			}
		}
	}
	return "nosuchdocumentnosuchdocu"
}

// Item returns the component with that number in a draft, or in a row of a type without drafts.
func (w *World) Item(number int) *Item {
	for _, d := range w.Docs {
		for _, r := range d.Rows {
			if it := findItem(r.Items, number); it != nil {
				return it
			}
		}
	}
	return nil
}

func findItem(all map[string][]*Item, number int) *Item {
	for _, items := range all {
		for _, it := range items {
			if it.Number == number {
				return it
			}
			if in := findItem(it.Items, number); in != nil {
				return in
			}
		}
	}
	return nil
}

// describe returns a description of an operation, by which a person can repeat it.
func (op *Operation) describe(w *World) string {
	switch op.Kind {
	case "restart":
		return "restart"
	case "batch":
		return op.describeBatch(w)
	case "ask":
		return "GET " + op.Ask.Path(w)
	case "asOf":
		return fmt.Sprintf("GET %s as of moment %d", op.Ask.Path(w), op.Moment)
	case "history":
		return "GET " + op.path(w) + "/_history"
	case "redefine":
		return op.Redefinition.describe()
	case "restore":
		return fmt.Sprintf("POST %s/actions/restore?locale=%s, %s, of moment %d  (document %d)", op.path(w), op.Locale,
			op.Status, op.Moment, op.Number)
	case "query", "mutate":
		return op.Graph.describe(w)
	}
	s := op.method() + " " + op.path(w)
	if op.Kind == "create" || op.Kind == "update" {
		s += " " + program.JSON(map[string]any{"data": op.body(w)})
	}
	return fmt.Sprintf("%s  (document %d)", s, op.Number)
}
