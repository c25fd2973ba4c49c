// Package staticjs reads the value that a JavaScript or TypeScript module exports, without running it.
//
// It is for the configuration files of Strapi projects. Most of them are literals, with the values of environment
// variables in between:
//
//	module.exports = ({ env }) => ({
//		host: env('HOST', '0.0.0.0'),
//		port: env.int('PORT', 1337),
//	});
//
// Read returns that object, with env('HOST', '0.0.0.0') as the text ${HOST:0.0.0.0}, which Lectern's own configuration
// files have for it. It follows literals, constants of the module, spreads, calls of env and its variants, arithmetic
// of numbers, templates, and functions that return such values. All other expressions are Unread: Read leaves their
// keys out and lists them.
//
// Package github.com/tdewolff/parse/v2/js parses JavaScript. Types of TypeScript are blanked out before
// (typescript.go).
package staticjs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"lectern/internal/yamlfile"
)

// An Unread part of a module has a value that only running the module would tell.
type Unread struct {
	Path string // the keys that lead to it, joined by dots
	Code string // the expression, shortened
}

// Read returns the value that a module exports: that of module.exports or of export default. If that is a function, the
// value is what the function returns. Texts hold references to environment variables as ${NAME} or ${NAME:default}; all
// other text is escaped by yamlfile.Literal. The error says why there is no value at all.
func Read(name string, source []byte) (_ *yamlfile.Node, unread []Unread, err error) {
	if len(source) > yamlfile.MaxFileBytes {
		return nil, nil, errors.New("the file is larger than 512 KiB")
	}
	if !utf8.Valid(source) {
		return nil, nil, errors.New("the file is not in UTF-8")
	}
	source = append([]byte(nil), source...) // the parser writes behind its input
	if ext := path.Ext(name); ext == ".ts" || ext == ".mts" || ext == ".cts" {
		source = blankTypes(source)
	}
	ast, err := js.Parse(parse.NewInputBytes(source), js.Options{})
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		return nil, nil, fmt.Errorf("the file cannot be parsed: %s", message)
	}
	r := &reader{}
	exported := r.module(&ast.BlockStmt)
	if exported == nil {
		return nil, nil, errors.New("the file exports nothing that can be read without running it")
	}
	v := r.eval(exported, r.globals)
	if v.function != nil {
		v = r.call(v.function)
	}
	if r.over {
		return nil, nil, fmt.Errorf("the file makes more than %d values", maxSteps)
	}
	if v.node == nil {
		return nil, nil, fmt.Errorf("the file exports %s, which cannot be read without running it", code(exported))
	}
	return v.node, r.unread, nil
}

// maxSteps bounds the expressions that are evaluated, since constants may be used many times within each other.
const maxSteps = yamlfile.MaxNodes

// maxDepth bounds how deep calls and constants lead into each other.
const maxDepth = yamlfile.MaxDepth

// A reader evaluates the expressions of one module.
type reader struct {
	globals *scope
	path    []string
	unread  []Unread
	steps   int
	depth   int
	over    bool // there were more than maxSteps
}

// A value is what an expression stands for. The zero value stands for one that is not known.
type value struct {
	node     *yamlfile.Node
	function *function
	special  special
}

// special is an object of the runtime that a few expressions use.
type special uint8

const (
	none       special = iota
	undefined          // the value undefined
	context            // the argument of an exported function, which has a member env
	env                // the function env
	process            // the object process
	processEnv         // the object process.env
)

// A function is an arrow function or a function expression with the scope that it was defined in.
type function struct {
	params js.Params
	body   *js.BlockStmt
	scope  *scope
}

// A scope holds constants by name. The expression of a constant is evaluated when it is used.
type scope struct {
	outer  *scope
	values map[string]value
	exprs  map[string]js.IExpr
}

func newScope(outer *scope) *scope {
	return &scope{outer: outer, values: map[string]value{}, exprs: map[string]js.IExpr{}}
}

// module collects the constants of a module, and returns what it exports.
func (r *reader) module(block *js.BlockStmt) (exported js.IExpr) {
	r.globals = newScope(nil)
	r.globals.values["process"] = value{special: process}
	r.globals.values["undefined"] = value{special: undefined}
	for _, statement := range block.List {
		switch s := statement.(type) {
		case *js.ExportStmt:
			if s.Default {
				exported = s.Decl
			} else if s.Decl != nil {
				r.declare(s.Decl, r.globals)
			}
		case *js.ExprStmt:
			if e, ok := s.Value.(*js.BinaryExpr); ok && e.Op == js.EqToken && isModuleExports(e.X) {
				exported = e.Y
			}
		case *js.VarDecl:
			r.declare(s, r.globals)
		case *js.FuncDecl:
			r.declare(s, r.globals)
		}
	}
	return exported
}

// isModuleExports reports whether an assignment to the expression is an export.
func isModuleExports(e js.IExpr) bool {
	switch code(e) {
	case "module.exports", "exports.default", "module.exports.default":
		return true
	}
	return false
}

// declare adds the constants of a declaration to a scope. It leaves out those that are taken apart from other values.
func (r *reader) declare(e any, in *scope) {
	switch d := e.(type) {
	case *js.VarDecl:
		for _, item := range d.List {
			if v, ok := item.Binding.(*js.Var); ok && item.Default != nil {
				in.exprs[string(v.Name())] = item.Default
			}
		}
	case *js.FuncDecl:
		if d.Name != nil {
			in.values[string(d.Name.Name())] = value{function: &function{d.Params, &d.Body, in}}
		}
	}
}

// call returns what a function returns if it is called as Strapi calls an exported function. The function may declare
// constants and return a value. The value of a function with other statements is not known, unless they are harmless.
func (r *reader) call(f *function) value {
	s := newScope(f.scope)
	for i, param := range f.params.List {
		if i == 0 {
			bindContext(param.Binding, s)
		}
	}
	for _, statement := range f.body.List {
		switch st := statement.(type) {
		case *js.VarDecl, *js.FuncDecl:
			r.declare(st, s)
		case *js.ReturnStmt:
			if st.Value == nil {
				return value{}
			}
			return r.eval(st.Value, s)
		default:
			if !harmless(st) {
				return value{}
			}
		}
	}
	return value{}
}

// harmless reports whether a statement changes no value: it writes to the console, or throws an error.
func harmless(statement js.IStmt) bool {
	switch s := statement.(type) {
	case nil, *js.DirectivePrologueStmt, *js.EmptyStmt, *js.Comment, *js.ThrowStmt:
		return true
	case *js.ExprStmt:
		call, ok := s.Value.(*js.CallExpr)
		return ok && strings.HasPrefix(code(call.X), "console.")
	case *js.IfStmt:
		return harmless(s.Body) && harmless(s.Else)
	case *js.BlockStmt:
		return !slices.ContainsFunc(s.List, func(st js.IStmt) bool { return !harmless(st) })
	}
	return false
}

// bindContext binds the argument of an exported function: by one name, or taken apart as in ({ env }).
func bindContext(binding js.IBinding, s *scope) {
	switch b := binding.(type) {
	case *js.Var:
		s.values[string(b.Name())] = value{special: context}
	case *js.BindingObject:
		for _, item := range b.List {
			name, ok := item.Value.Binding.(*js.Var)
			if !ok {
				continue
			}
			from := string(name.Name())
			if item.Key != nil {
				from = item.Key.String()
			}
			if from == "env" {
				s.values[string(name.Name())] = value{special: env}
			}
		}
	}
}

// skip records that the value at the present path, below key, is not known.
func (r *reader) skip(key string, e js.IExpr) {
	r.unread = append(r.unread, Unread{Path: strings.Join(append(r.path[:len(r.path):len(r.path)], key), "."),
		Code: code(e)})
}

// code returns an expression as text of one line, of at most 100 characters.
func code(e js.INode) string {
	var b strings.Builder
	e.JS(&b)
	text := []rune(strings.Join(strings.Fields(b.String()), " "))
	if len(text) > 100 {
		return string(text[:100]) + "…"
	}
	return string(text)
}
