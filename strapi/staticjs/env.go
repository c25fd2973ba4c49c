package staticjs

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"lectern/internal/yamlfile"
)

// converters are the members of env that convert the variable to the type that its reader expects anyway.
var converters = []string{"int", "float", "bool", "oneOf"}

// callExpr evaluates calls of env, such as env('HOST', '0.0.0.0') and env.int('PORT', 1337), and calls without
// arguments of functions of the module.
func (r *reader) callExpr(e *js.CallExpr, s *scope) value {
	if member, ok := e.X.(*js.DotExpr); ok && r.eval(member.X, s).special == env {
		return r.envCall(memberName(member.Y), e.Args.List, s)
	}
	switch f := r.eval(e.X, s); {
	case f.special == env:
		return r.envCall("", e.Args.List, s)
	case f.function != nil && len(e.Args.List) == 0:
		return r.call(f.function)
	}
	return value{}
}

// envCall returns a reference to the variable that a call of env reads.
func (r *reader) envCall(converter string, args []js.Arg, s *scope) value {
	if len(args) == 0 || slices.ContainsFunc(args, func(a js.Arg) bool { return a.Rest }) {
		return value{}
	}
	name := r.eval(args[0].Value, s)
	if name.node == nil || !yamlfile.IsVariable(name.node.Text) {
		return value{}
	}
	last := args[len(args)-1].Value
	switch {
	case converter == "array" && len(args) == 2:
		// Lectern has no lists of variables. The default at least says what the setting is without the variable.
		if v := r.eval(last, s); v.node != nil && v.node.Kind == yamlfile.List {
			r.unread = append(r.unread, Unread{Path: strings.Join(r.path, "."), Code: "the variable " + name.node.Text +
				", whose default is used"})
			return v
		}
	case converter != "" && !slices.Contains(converters, converter):
	case len(args) == 1, converter == "oneOf" && len(args) == 2:
		return text("${" + name.node.Text + "}")
	default:
		return withDefault(name.node.Text, r.eval(last, s))
	}
	return value{}
}

// withDefault returns a reference to a variable with a default, if a reference can hold the default.
func withDefault(name string, fallback value) value {
	switch n := fallback.node; {
	case fallback.special == undefined || n != nil && n.Kind == yamlfile.Null:
		return text("${" + name + "}")
	case n == nil || n.Kind >= yamlfile.List || strings.ContainsAny(n.Text, "}") || strings.Contains(n.Text, "${"):
		return value{}
	default:
		return text("${" + name + ":" + n.Text + "}")
	}
}

// reference returns the variable that a text consists of, if it has no default.
func reference(n *yamlfile.Node) (name string, ok bool) {
	if n == nil || n.Kind != yamlfile.Text {
		return "", false
	}
	name, ok = strings.CutPrefix(n.Text, "${")
	name, closed := strings.CutSuffix(name, "}")
	return name, ok && closed && yamlfile.IsVariable(name)
}
