package staticjs

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"lectern/internal/yamlfile"
)

func text(s string) value { return value{node: &yamlfile.Node{Kind: yamlfile.Text, Text: s}} }

func number(f float64) value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return value{}
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.Contains(s, ".") {
		return value{node: &yamlfile.Node{Kind: yamlfile.Float, Text: s}}
	}
	return value{node: &yamlfile.Node{Kind: yamlfile.Int, Text: s}}
}

// eval returns the value of an expression. It is not known if running the module could give another one.
func (r *reader) eval(e js.IExpr, s *scope) value {
	r.steps++
	r.depth++
	defer func() { r.depth-- }()
	if r.steps > maxSteps || r.depth > maxDepth {
		r.over = r.over || r.steps > maxSteps
		return value{}
	}
	switch x := e.(type) {
	case *js.GroupExpr:
		return r.eval(x.X, s)
	case *js.LiteralExpr:
		return literal(x)
	case *js.TemplateExpr:
		return r.template(x, s)
	case *js.Var:
		return r.variable(string(x.Name()), s)
	case *js.ObjectExpr:
		return r.object(x, s)
	case *js.ArrayExpr:
		return r.array(x, s)
	case *js.ArrowFunc:
		return value{function: &function{x.Params, &x.Body, s}}
	case *js.FuncDecl:
		return value{function: &function{x.Params, &x.Body, s}}
	case *js.DotExpr:
		return r.member(r.eval(x.X, s), memberName(x.Y))
	case *js.IndexExpr:
		if key := r.eval(x.Y, s); key.node != nil && key.node.Kind == yamlfile.Text {
			return r.member(r.eval(x.X, s), key.node.Text)
		}
	case *js.CallExpr:
		return r.callExpr(x, s)
	case *js.UnaryExpr:
		return r.unary(x, s)
	case *js.BinaryExpr:
		return r.binary(x, s)
	case *js.CondExpr:
		if c := r.eval(x.Cond, s); c.node != nil && c.node.Kind == yamlfile.Bool {
			if c.node.Text == "true" {
				return r.eval(x.X, s)
			}
			return r.eval(x.Y, s)
		}
	}
	return value{}
}

func literal(e *js.LiteralExpr) value {
	data := string(e.Data)
	switch e.TokenType {
	case js.StringToken:
		if t, ok := unquote(data[1 : len(data)-1]); ok {
			return text(yamlfile.Literal(t))
		}
	case js.TrueToken, js.FalseToken:
		return value{node: &yamlfile.Node{Kind: yamlfile.Bool, Text: data}}
	case js.NullToken:
		return value{node: &yamlfile.Node{Kind: yamlfile.Null}}
	case js.DecimalToken, js.IntegerToken, js.HexadecimalToken, js.BinaryToken, js.OctalToken:
		data = strings.ReplaceAll(data, "_", "")
		if i, err := strconv.ParseInt(data, 0, 64); err == nil &&
			(data == "0" || data[0] != '0' || e.TokenType != js.DecimalToken) {
			return number(float64(i))
		}
		if f, err := strconv.ParseFloat(data, 64); err == nil {
			return number(f)
		}
	}
	return value{}
}

// unquote replaces the escapes of a text in JavaScript.
func unquote(s string) (string, bool) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String(), true
		}
		b.WriteString(s[:i])
		if s = s[i:]; len(s) < 2 {
			return "", false
		}
		switch c := s[1]; {
		case strings.IndexByte("nrtbfv", c) >= 0:
			b.WriteByte("\n\r\t\b\f\v"[strings.IndexByte("nrtbfv", c)])
			s = s[2:]
		case c == '\n':
			s = s[2:]
		case strings.IndexByte("0123456789xu\r", c) >= 0:
			if c != 'x' && c != 'u' || strings.HasPrefix(s, `\u{`) {
				return "", false
			}
			digits := map[byte]int{'x': 2, 'u': 4}[c]
			if len(s) < 2+digits {
				return "", false
			}
			code, err := strconv.ParseUint(s[2:2+digits], 16, 32)
			if err != nil || 0xD800 <= code && code < 0xE000 {
				return "", false
			}
			b.WriteRune(rune(code))
			s = s[2+digits:]
		default:
			s = s[1:]
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
}

// template joins the parts of a template.
func (r *reader) template(e *js.TemplateExpr, s *scope) value {
	if e.Tag != nil {
		return value{}
	}
	var b strings.Builder
	for _, part := range e.List {
		t, ok := unquote(strings.TrimSuffix(string(part.Value[1:]), "${"))
		v := r.eval(part.Expr, s)
		if !ok || v.node == nil || v.node.Kind == yamlfile.Null || v.node.Kind >= yamlfile.List {
			return value{}
		}
		b.WriteString(yamlfile.Literal(t) + v.node.Text)
	}
	t, ok := unquote(string(e.Tail[1 : len(e.Tail)-1]))
	if !ok {
		return value{}
	}
	return text(b.String() + yamlfile.Literal(t))
}

func (r *reader) variable(name string, s *scope) value {
	for ; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v
		}
		if e, ok := s.exprs[name]; ok {
			return r.eval(e, s)
		}
	}
	return value{}
}

// object returns an object without the keys whose values are not known, which it records.
func (r *reader) object(e *js.ObjectExpr, s *scope) value {
	n := &yamlfile.Node{Kind: yamlfile.Map}
	set := func(key string, v *yamlfile.Node) {
		if i := slices.IndexFunc(n.Entries, func(e yamlfile.Entry) bool { return e.Key == key }); i >= 0 {
			n.Entries[i].Value = v
			return
		}
		n.Entries = append(n.Entries, yamlfile.Entry{Key: key, Value: v})
	}
	for _, p := range e.List {
		if p.Spread {
			v := r.eval(p.Value, s)
			if v.node == nil || v.node.Kind != yamlfile.Map {
				r.skip("...", p.Value)
				continue
			}
			for _, e := range v.node.Entries {
				set(e.Key, e.Value)
			}
			continue
		}
		key, ok := r.propertyName(p, s)
		if !ok {
			r.skip("["+code(p.Value)+"]", p.Value)
			continue
		}
		r.path = append(r.path, key)
		v := r.eval(p.Value, s)
		r.path = r.path[:len(r.path)-1]
		switch {
		case v.node != nil:
			set(key, v.node)
		case v.special != undefined:
			r.skip(key, p.Value)
		}
	}
	return value{node: n}
}

// propertyName returns the name of a property, which may be computed.
func (r *reader) propertyName(p js.Property, s *scope) (string, bool) {
	if p.Name == nil { // a method, or a shorthand such as { env }
		switch x := p.Value.(type) {
		case *js.Var:
			return string(x.Name()), true
		case *js.MethodDecl:
			return x.Name.String(), true
		}
		return "", false
	}
	if p.Name.IsComputed() {
		v := r.eval(p.Name.Computed, s)
		return nodeText(v.node), v.node != nil && v.node.Kind == yamlfile.Text
	}
	if p.Name.Literal.TokenType == js.StringToken {
		data := string(p.Name.Literal.Data)
		return unquote(data[1 : len(data)-1])
	}
	return string(p.Name.Literal.Data), true
}

// array returns a list without the items whose values are not known, which it records.
func (r *reader) array(e *js.ArrayExpr, s *scope) value {
	n := &yamlfile.Node{Kind: yamlfile.List}
	for i, item := range e.List {
		key := strconv.Itoa(i)
		r.path = append(r.path, key)
		var v value
		if item.Value != nil {
			v = r.eval(item.Value, s)
		}
		r.path = r.path[:len(r.path)-1]
		switch {
		case v.node == nil && item.Value != nil:
			r.skip(key, item.Value)
		case item.Spread && v.node != nil && v.node.Kind == yamlfile.List:
			n.Items = append(n.Items, v.node.Items...)
		case item.Spread:
			r.skip(key, item.Value)
		case v.node != nil:
			n.Items = append(n.Items, v.node)
		}
	}
	return value{node: n}
}

func memberName(e js.IExpr) string {
	switch y := e.(type) {
	case js.LiteralExpr:
		return string(y.Data)
	case *js.LiteralExpr:
		return string(y.Data)
	case *js.Var:
		return string(y.Name())
	}
	return ""
}

// member returns a member of an object.
func (r *reader) member(of value, name string) value {
	switch {
	case of.special == process && name == "env":
		return value{special: processEnv}
	case of.special == processEnv && yamlfile.IsVariable(name):
		return text("${" + name + "}")
	case of.special == context && name == "env":
		return value{special: env}
	case of.node != nil && of.node.Kind == yamlfile.Map:
		if n := of.node.Get(name); n != nil {
			return value{node: n}
		}
	}
	return value{}
}

func (r *reader) unary(e *js.UnaryExpr, s *scope) value {
	v := r.eval(e.X, s)
	switch f, isNumber := numberOf(v.node); {
	case e.Op == js.NegToken && isNumber:
		return number(-f)
	case e.Op == js.PosToken && isNumber:
		return v
	case e.Op == js.NotToken && v.node != nil && v.node.Kind == yamlfile.Bool:
		return value{node: &yamlfile.Node{Kind: yamlfile.Bool, Text: strconv.FormatBool(v.node.Text != "true")}}
	}
	return value{}
}

// binary evaluates arithmetic and joined texts, and `a || b` and `a ?? b` for an environment variable a.
func (r *reader) binary(e *js.BinaryExpr, s *scope) value {
	x, y := r.eval(e.X, s), r.eval(e.Y, s)
	if e.Op == js.OrToken || e.Op == js.NullishToken {
		if name, ok := reference(x.node); ok {
			return withDefault(name, y)
		}
		return value{}
	}
	a, okA := numberOf(x.node)
	b, okB := numberOf(y.node)
	if e.Op == js.AddToken && !(okA && okB) {
		if x.node == nil || y.node == nil || x.node.Kind != yamlfile.Text && y.node.Kind != yamlfile.Text ||
			min(x.node.Kind, y.node.Kind) == yamlfile.Null || max(x.node.Kind, y.node.Kind) >= yamlfile.List {
			return value{}
		}
		return text(x.node.Text + y.node.Text)
	}
	if !okA || !okB {
		return value{}
	}
	switch e.Op {
	case js.AddToken:
		return number(a + b)
	case js.SubToken:
		return number(a - b)
	case js.MulToken:
		return number(a * b)
	case js.DivToken:
		return number(a / b)
	case js.ExpToken:
		return number(math.Pow(a, b))
	}
	return value{}
}

func numberOf(n *yamlfile.Node) (float64, bool) {
	if n == nil || n.Kind != yamlfile.Int && n.Kind != yamlfile.Float {
		return 0, false
	}
	return n.AsFloat()
}

func nodeText(n *yamlfile.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}
