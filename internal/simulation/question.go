package simulation

import (
	"fmt"
	"net/url"
	"strings"
)

// A Question is a REST read.
type Question struct {
	Type        *Type
	Number      int // the document for a single read; 0 asks for the list, or for the document of a single type
	Locale      []string
	Status      string
	Publication string // publicationFilter
	HasVersion  string // hasPublishedVersion
	Search      string
	Filter      *Filter
	Sort        []SortKey
	SortForm    int
	Fields      []string
	FieldsForm  int
	Populate    *Populate
	Page        Page
}

// A Filter is a condition: and, or, not of others, a test of a scalar, or a step into a relation or component.
type Filter struct {
	Op       string // and, or, not, test, into; nothing (GraphQL) asks nothing
	Of       []*Filter
	Implicit bool // an and that is written as keys side by side
	Attr     *Attribute

	Operator string // of a test: $eq, …; "" is a bare value
	Not      bool   // the test stands below $not
	Operands []Operand
	Empty    any // of nothing: the value that is written
}

// An Operand is a value in a test, as it is written and as it is meant.
type Operand struct {
	Text  string
	Value any
	Null  bool     // a key without =
	From  *Pointer // a value that the server gave: looked up when the question is asked

	Variable, Spelled bool // in GraphQL: by a variable, in another way of writing it
}

// A Pointer names a given value of a row, or a part of its text.
type Pointer struct {
	Number         int
	Locale, Status string
	Attr           string
	From, To       int // of the text; To 0 takes all
}

// A SortKey is one order.
type SortKey struct {
	Path []*Attribute
	Desc bool
}

// A Page is a pagination: as written, and what it comes to.
type Page struct {
	Query     string // pagination[page]=2&…
	ByOffset  bool
	Page      int // from 1
	Start     int
	Size      int
	WithCount bool
}

// A Populate says what is shown below a row. Form is star, list, dotted or object.
type Populate struct {
	Form  string
	Items []*Populated
}

// A Populated is one attribute of a Populate.
type Populated struct {
	Attr     *Attribute
	Form     string // true, 1, false, options, count
	Fields   []string
	Filter   *Filter
	Sort     []SortKey
	Populate *Populate
	On       []*Variant
}

// A Variant is what is shown of one component of a zone.
type Variant struct {
	Component *Component
	Fields    []string
	Populate  *Populate
}

// Path returns the URL path and query.
func (q *Question) Path(w *World) string {
	p := "/api/" + q.Type.Plural
	switch {
	case q.Type.Single:
		p = "/api/" + q.Type.Singular
	case q.Number != 0:
		p += "/" + w.documentID(q.Number)
	}
	if s := q.query(w); s != "" {
		p += "?" + s
	}
	return p
}

func (q *Question) query(w *World) string {
	out := &query{}
	for _, l := range q.Locale {
		name := "locale"
		if len(q.Locale) > 1 {
			name = "locale[]"
		}
		out.add(name, l)
	}
	for _, kv := range [][2]string{{"status", q.Status}, {"publicationFilter", q.Publication}, {"hasPublishedVersion", q.HasVersion}, {"_q", q.Search}} {
		if kv[1] != "" {
			out.add(kv[0], kv[1])
		}
	}
	if q.Filter != nil {
		out.filter(w, "filters", q.Filter)
	}
	out.sort("sort", q.Sort, q.SortForm)
	out.fields("fields", q.Fields, q.FieldsForm)
	if q.Populate != nil {
		out.populate(w, "populate", q.Populate)
	}
	if q.Page.Query != "" {
		out.parts = append(out.parts, q.Page.Query)
	}
	return strings.Join(out.parts, "&")
}

// A query collects the pairs of a query string.
type query struct{ parts []string }

func (q *query) add(name, value string) {
	q.parts = append(q.parts, escape(name)+"="+escape(value))
}

// bare adds a key without =.
func (q *query) bare(name string) { q.parts = append(q.parts, escape(name)) }

var readable = strings.NewReplacer("%5B", "[", "%5D", "]", "%24", "$", "%2C", ",", "%3A", ":", "%2A", "*", "+", "%20")

func escape(s string) string { return readable.Replace(url.QueryEscape(s)) }

func (q *query) filter(w *World, name string, f *Filter) {
	switch f.Op {
	case "and", "or":
		for i, x := range f.Of {
			if f.Implicit {
				q.filter(w, name, x)
			} else {
				q.filter(w, fmt.Sprintf("%s[$%s][%d]", name, f.Op, i), x)
			}
		}
	case "not":
		q.filter(w, name+"[$not]", f.Of[0])
	case "into":
		q.filter(w, name+"["+f.Attr.Name+"]", f.Of[0])
	case "test":
		if f.Attr.Type != "self" {
			name += "[" + f.Attr.Name + "]"
		}
		if f.Not {
			name += "[$not]"
		}
		if f.Operator != "" {
			name += "[" + f.Operator + "]"
		}
		for i, o := range f.Operands {
			o = w.resolve(o)
			n := name
			if len(f.Operands) > 1 || f.Operator == "$between" {
				n = fmt.Sprintf("%s[%d]", name, i)
			}
			if o.Null {
				q.bare(n)
			} else {
				q.add(n, o.Text)
			}
		}
	}
}

func (q *query) sort(name string, keys []SortKey, form int) {
	for i, k := range keys {
		direction := map[bool]string{true: "desc", false: "asc"}[k.Desc]
		switch form {
		case 0: // sort[0]=a.b:desc
			word := dotted(k.Path)
			if k.Desc || i%2 == 1 {
				word += ":" + direction
			}
			n := name
			if len(keys) > 1 {
				n = fmt.Sprintf("%s[%d]", name, i)
			}
			q.add(n, word)
		case 1: // sort[a][b]=desc
			q.add(name+"["+strings.ReplaceAll(dotted(k.Path), ".", "][")+"]", direction)
		case 2: // sort[0][a][b]=desc
			q.add(fmt.Sprintf("%s[%d][%s]", name, i, strings.ReplaceAll(dotted(k.Path), ".", "][")), strings.ToUpper(direction))
		default: // sort=a,b:desc
			if i == 0 {
				var all []string
				for _, k := range keys {
					all = append(all, dotted(k.Path)+map[bool]string{true: ":desc"}[k.Desc])
				}
				q.add(name, strings.Join(all, ", "))
			}
		}
	}
}

func dotted(path []*Attribute) string {
	var names []string
	for _, a := range path {
		names = append(names, a.Name)
	}
	return strings.Join(names, ".")
}

func (q *query) fields(name string, fields []string, form int) {
	if len(fields) == 0 {
		return
	}
	switch form {
	case 0:
		q.add(name, strings.Join(fields, ","))
	case 1:
		for i, f := range fields {
			q.add(fmt.Sprintf("%s[%d]", name, i), f)
		}
	default:
		for _, f := range fields {
			q.add(name, f)
		}
	}
}

func (q *query) populate(w *World, name string, p *Populate) {
	switch p.Form {
	case "star":
		q.add(name, "*")
	case "list":
		var names []string
		for _, it := range p.Items {
			names = append(names, it.Attr.Name)
		}
		q.add(name, strings.Join(names, ","))
	case "indexed", "dotted":
		for i, word := range p.dots("") {
			q.add(fmt.Sprintf("%s[%d]", name, i), word)
		}
	default:
		for _, it := range p.Items {
			q.populated(w, name+"["+it.Attr.Name+"]", it)
		}
	}
}

// dots returns the dotted paths of a populate that is nothing but names.
func (p *Populate) dots(prefix string) []string {
	var all []string
	for _, it := range p.Items {
		if it.Populate == nil {
			all = append(all, prefix+it.Attr.Name)
		} else {
			all = append(all, it.Populate.dots(prefix+it.Attr.Name+".")...)
		}
	}
	return all
}

func (q *query) populated(w *World, name string, it *Populated) {
	switch it.Form {
	case "true", "1", "false":
		q.add(name, it.Form)
		return
	case "count":
		q.add(name+"[count]", "true")
	}
	for _, v := range it.On {
		n := name + "[on][" + v.Component.UID + "]"
		if v.Populate == nil && v.Fields == nil {
			q.add(n, "true")
			continue
		}
		q.fields(n+"[fields]", v.Fields, 1)
		if v.Populate != nil {
			q.populate(w, n+"[populate]", v.Populate)
		}
	}
	q.fields(name+"[fields]", it.Fields, len(it.Fields)%2)
	if it.Filter != nil {
		q.filter(w, name+"[filters]", it.Filter)
	}
	q.sort(name+"[sort]", it.Sort, len(it.Sort)%2)
	if it.Populate != nil {
		q.populate(w, name+"[populate]", it.Populate)
	}
}

// resolve replaces an operand that points at something given by its value.
func (w *World) resolve(o Operand) Operand {
	if o.From == nil {
		return o
	}
	var v any
	if d := w.Document(o.From.Number); d != nil {
		if r := d.Row(o.From.Locale, o.From.Status); r != nil {
			v = r.value(o.From.Attr)
		}
	}
	switch v := v.(type) {
	case float64:
		o.Value, o.Text = v, fmt.Sprint(int64(v))
	case string:
		if o.From.To > 0 && o.From.To <= len(v) {
			v = v[o.From.From:o.From.To]
		}
		o.Value, o.Text = v, v
	default: // gone: ask for what nobody has
		o.Value, o.Text = -1.0, "-1"
		if o.From.Attr != "id" {
			o.Value, o.Text = "2001-01-01T00:00:00.000Z", "2001-01-01T00:00:00.000Z"
		}
	}
	return o
}
