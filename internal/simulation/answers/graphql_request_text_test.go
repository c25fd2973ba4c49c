package answers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"lectern/internal/simulation/program"
)

// Types for the values of arguments, in addition to nil, bool, string, int, int64, float64, JSONText and lists.
type (
	pairs         []pair   // an input object, in order
	bare          string   // a value of an enumeration
	digits        string   // a number in its original spelling
	variableValue struct { // a value passed by a variable
		typ   string
		value any
	}
)

type pair struct {
	key   string
	value any
}

// text returns the document and the variables of a request.
func (w *World) text(r *Request) (query string, variables map[string]any) {
	p := &requestPrinter{w: w, values: map[string]any{}, args: map[*Args]string{}}
	kind := "query"
	if r.Mutation {
		kind = "mutation"
	}
	body := p.selection(r.Roots)
	head := kind + " " + r.Name
	if len(p.declared) > 0 {
		head += "(" + strings.Join(p.declared, ", ") + ")"
	}
	if head == "query " {
		head = "" // the short form of a query
	}
	return strings.Join(append([]string{head + body}, p.fragments...), "\n"), p.values
}

// A requestPrinter prints one document.
type requestPrinter struct {
	w         *World
	declared  []string // such as $name: Type
	values    map[string]any
	fragments []string
	args      map[*Args]string // the same text for every repetition of a field
	constant  bool             // the current value must not contain variables
}

func (p *requestPrinter) selection(list []*Selection) string {
	var words []string
	for _, s := range list {
		words = append(words, p.selected(s))
	}
	return "{" + strings.Join(words, " ") + "}"
}

func (p *requestPrinter) selected(s *Selection) string {
	if s.Fragment == "" {
		text := s.Name
		if s.Alias != "" {
			text = s.Alias + ": " + text
		}
		if s.Args != nil {
			text += p.arguments(s)
		}
		text += p.directives(s)
		if len(s.Of) > 0 {
			text += " " + p.selection(s.Of)
		}
		return text
	}
	switch s.Fragment {
	case "inline":
		return "... on " + s.On + p.directives(s) + " " + p.selection(s.Of)
	case "bare":
		return "..." + p.directives(s) + " " + p.selection(s.Of)
	}
	body := p.selection(s.Of)
	name := fmt.Sprintf("F%d", len(p.fragments)+1)
	p.fragments = append(p.fragments, "fragment "+name+" on "+s.On+" "+body)
	return "..." + name + p.directives(s)
}

func (p *requestPrinter) directives(s *Selection) string {
	text := ""
	for _, d := range s.Directives {
		var v any = d.If
		if d.Variable {
			v = variableValue{"Boolean!", d.If}
		}
		text += map[bool]string{true: " @skip", false: " @include"}[d.Skip] + "(if: " + p.literal(v) + ")"
	}
	return text
}

// arguments prints the arguments of a field, or nothing if there are none.
func (p *requestPrinter) arguments(s *Selection) string {
	if text, ok := p.args[s.Args]; ok {
		return text
	}
	var words []string
	for _, e := range p.w.arguments(s) {
		words = append(words, e.key+": "+p.literal(e.value))
	}
	text := ""
	if len(words) > 0 {
		text = "(" + strings.Join(words, ", ") + ")"
	}
	p.args[s.Args] = text
	return text
}

// An absent value stands for a variable that is declared without receiving a value.
type absent struct{}

// literal prints a value as a literal in the document.
func (p *requestPrinter) literal(v any) string {
	switch v := v.(type) {
	case variableValue:
		return p.variable(v)
	case nil:
		return "null"
	case bare:
		return string(v)
	case digits:
		return string(v)
	case string:
		return p.quoted(v)
	case JSONText:
		return p.literal(inOrder(v))
	case pairs:
		var words []string
		for _, e := range v {
			words = append(words, e.key+": "+p.literal(e.value))
		}
		return "{" + strings.Join(words, ", ") + "}"
	case []any:
		var words []string
		for _, x := range v {
			words = append(words, p.literal(x))
		}
		return "[" + strings.Join(words, ", ") + "]"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// quoted prints a text, sometimes as a block string.
func (p *requestPrinter) quoted(s string) string {
	if len(s)%7 == 5 && strings.TrimSpace(s) != "" && !strings.Contains(s, `"`) && !strings.HasSuffix(s, `\`) {
		return `"""` + s + `"""`
	}
	return program.JSON(s)
}

// variable declares a variable and returns its name. Sometimes the value is the default in the declaration.
func (p *requestPrinter) variable(v variableValue) string {
	if p.constant {
		return p.literal(v.value)
	}
	name := fmt.Sprintf("v%d", len(p.declared)+1)
	text := "$" + name + ": " + v.typ
	p.declared = append(p.declared, text)
	at := len(p.declared) - 1
	_, none := v.value.(absent)
	switch {
	case none:
	case at%4 == 2 && v.value != nil:
		p.constant = true
		p.declared[at] = text + " = " + p.literal(v.value)
		p.constant = false
	default:
		p.values[name] = valueJSON(v.value)
	}
	return "$" + name
}

// valueJSON converts a value for the JSON of variables.
func valueJSON(v any) any {
	switch v := v.(type) {
	case variableValue:
		return valueJSON(v.value)
	case bare:
		return string(v)
	case digits:
		return json.Number(v)
	case JSONText:
		return json.RawMessage(v)
	case pairs:
		out := map[string]any{}
		for _, e := range v {
			out[e.key] = valueJSON(e.value)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, valueJSON(x))
		}
		return out
	}
	return v
}

// inOrder parses JSON into pairs and lists, which keep the order of keys.
func inOrder(text JSONText) any {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var read func() any
	read = func() any {
		token, err := d.Token()
		if err != nil {
			panic(err)
		}
		switch token {
		case json.Delim('['):
			list := []any{}
			for d.More() {
				list = append(list, read())
			}
			d.Token()
			return list
		case json.Delim('{'):
			object := pairs{}
			for d.More() {
				key, _ := d.Token()
				object = append(object, pair{key.(string), read()})
			}
			d.Token()
			return object
		}
		if n, ok := token.(json.Number); ok {
			return digits(n)
		}
		return token
	}
	return read()
}
