package params

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/spelling"
	"lectern/jsontree"
	"lectern/store"
)

// A condition is a filter on the documents of a type with variables: the condition of a rule of access. It is held in
// the form of the parameter filters, and read anew whenever its variables are bound.
type condition struct {
	parser    *Parser
	typ       *contenttypes.ContentType
	filters   any // objects, lists, texts and nil
	variables []string
}

// Condition implements permission.Conditions: it reads a condition of a rule on documents of t, in the language of the
// parameter filters. Its operands may be values of JSON and variables: $user, $user.name, $role, $token and $now. An
// operand that begins with $$ is a text that begins with $. All attributes can be compared, except passwords.
func (p *Parser) Condition(t *contenttypes.ContentType, filters any) (permission.Condition, error) {
	c := &condition{parser: p, typ: t}
	var err error
	if c.filters, err = c.operands(filters); err != nil {
		return nil, err
	}
	slices.Sort(c.variables)
	c.variables = slices.Compact(c.variables)
	samples := permission.Values{}
	for _, name := range c.variables {
		if samples[name], err = p.sample(name); err != nil {
			return nil, err
		}
	}
	if _, err := c.read(samples); err != nil {
		return nil, ruleError(t, err)
	}
	return c, nil
}

// ruleError returns the error of a filter on documents of t in words for who wrote a rule.
func ruleError(t *contenttypes.ContentType, err error) error {
	var wrong *apierror.Error
	if !errors.As(err, &wrong) {
		return err
	}
	details, _ := wrong.Details.(*jsontree.Object)
	if details == nil || details.Text("key") == "" {
		return &permission.RuleError{Message: wrong.Message}
	}
	key := details.Text("key")
	e := &permission.RuleError{Path: []string{key}, Message: wrong.Message}
	if t.Attribute(key) == nil && details.Value("path") == nil {
		var names []string
		for _, a := range t.Attributes {
			names = append(names, a.Name)
		}
		e.Message += "; " + spelling.Suggest(key, names)
	}
	return e
}

// Variables implements permission.Condition.
func (c *condition) Variables() []string { return c.variables }

// Bind implements permission.Condition.
func (c *condition) Bind(v permission.Values) (f store.Filter, ok bool) {
	f, err := c.read(v)
	return f, err == nil
}

// read reads the filter with these values of the variables.
func (c *condition) read(v permission.Values) (store.Filter, error) {
	r := &request{Parser: c.parser, typ: c.typ, access: permission.FullAccess, issues: issues{reported: everyIssue},
		variables: v}
	if v == nil {
		r.variables = permission.Values{}
	}
	f := filterReader{FilterBuilder{request: r, param: filtersParameter}}
	filter := f.read(subject{schema: &c.typ.Schema}, c.filters)
	if r.issues.err == nil && filter == nil {
		return nil, errors.New("the filter says nothing")
	}
	return filter, r.issues.err
}

// operands returns filters with the operands in the form of query strings, and notes the variables among them.
func (c *condition) operands(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case *jsontree.Object:
		o := jsontree.NewObjectOf(len(v.Keys))
		for _, key := range v.Keys {
			x, wrong := c.operands(v.Value(key))
			if o.Set(key, x); err == nil {
				err = wrong
			}
		}
		return o, err
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var wrong error
			if list[i], wrong = c.operands(item); err == nil {
				err = wrong
			}
		}
		return list, err
	case string:
		if name, ok := permission.VariableIn(v); ok {
			c.variables = append(c.variables, name)
		}
		return v, nil
	}
	return operandText(v), nil
}

// CheckVariable implements permission.Conditions.
func (p *Parser) CheckVariable(name string) error {
	_, err := p.sample(name)
	return err
}

// operandText returns a value of JSON that is no object and no list as query strings have it: a text or nil.
func operandText(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return v
	}
	return string(jsontree.Append(nil, v))
}

// sample returns a value that a variable may have, of the type that it has.
func (p *Parser) sample(name string) (any, error) {
	switch name {
	case "user":
		return jsontree.Number("1"), nil
	case "role", "token":
		return "name", nil
	case "now":
		return "2026-01-31T09:30:00.000Z", nil
	}
	attribute, isUsers := strings.CutPrefix(name, "user.")
	if !isUsers {
		return nil, fmt.Errorf("there is no variable $%s; they are $user, $user.ATTRIBUTE, $role, $token and $now. "+
			"Write $$%s for a text that begins with $", name, name)
	}
	users := p.model.Type(contenttypes.UserUID)
	if users == nil {
		return nil, errors.New("there are no users whose attributes $user could name")
	}
	a := users.Attribute(attribute)
	switch {
	case a == nil:
		return nil, fmt.Errorf("$%s: users have no attribute %q", name, attribute)
	case a.Type == contenttypes.RelationType && a.Target != nil:
		return permission.Documents{"document"}, nil
	case !a.IsScalar() || a.Type == contenttypes.Password || a.Type == contenttypes.JSON:
		return nil, fmt.Errorf("$%s: a variable is a text, a number, a boolean, a time, or a relation of the user", name)
	}
	return sampleOf(a), nil
}

// sampleOf returns a value of a scalar attribute.
func sampleOf(a *contenttypes.Attribute) any {
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		return jsontree.Number("1")
	case contenttypes.BigIntegerValue:
		return "1"
	case contenttypes.BooleanValue:
		return true
	case contenttypes.DateValue:
		return "2026-01-31"
	case contenttypes.TimeValue:
		return "09:30:00.000"
	case contenttypes.DateTimeValue:
		return "2026-01-31T09:30:00.000Z"
	}
	return "name"
}

// unset is an operand of rules: a variable that has no value.
type unset struct{}

// unknown returns a comparison that is neither true nor false, as those with null are in SQL.
func unknown(a *contenttypes.Attribute) store.Filter { return compare(a, store.In, nil) }

// bound reads one comparison of a rule. It is unknown if it is with a variable that has no value: neither it nor $not
// of it holds. In a list, that is so for this one element.
func (f *filterReader) bound(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	by, operand, ok := f.operandOf(a, op, v)
	switch {
	case !ok:
		return nil
	case operand != any(unset{}):
		return f.Compare(cmp.Or(by, a), op, operand)
	case a.Type == contenttypes.ID: // as if the variable led to documents: which those are never changes
		a = cmp.Or(a.Owner.Attribute("documentId"), a)
	}
	return unknown(a)
}

// operandOf returns an operand of a with the values of its variables, and the attribute that is compared with it: what
// a relation of the user leads to is told by its documentId, in whatever version it is compared. It is nil for unset.
// ok is false if the operand cannot be compared with a.
func (f *filterReader) operandOf(a *contenttypes.Attribute, op store.Op, v any) (by *contenttypes.Attribute,
	operand any, ok bool) {
	switch v := v.(type) {
	case string:
		return f.value(a, op, v)
	case []any:
		var list []any
		for _, item := range v {
			compared, x, ok := f.operandOf(a, op, item)
			if ok && compared != nil && by != nil && compared != by {
				f.badOperand(a, "ids, or variables that lead to documents, but not both")
				ok = false
			}
			if !ok {
				return nil, nil, false
			}
			by = cmp.Or(compared, by)
			if documents, many := x.([]any); many && compared != a {
				list = append(list, documents...)
			} else {
				list = append(list, x)
			}
		}
		return by, list, true
	}
	return a, v, true
}

// value is operandOf for a text, which may be a variable.
func (f *filterReader) value(a *contenttypes.Attribute, op store.Op, text string) (by *contenttypes.Attribute,
	operand any, ok bool) {
	name, isVariable := permission.VariableIn(text)
	if !isVariable {
		text = strings.TrimPrefix(text, "$")
		return a, text, f.fits(a, op, text)
	}
	if operators[op].arity == null {
		f.badOperand(a, "true or false")
		return nil, nil, false
	}
	switch v := f.variables[name].(type) {
	case nil:
		return nil, unset{}, true
	case permission.Documents:
		if a.Type != contenttypes.ID && a.Type != contenttypes.DocumentID {
			f.badOperand(a, "a value, and $"+name+" leads to documents")
			return nil, nil, false
		}
		list := make([]any, len(v))
		for i, id := range v {
			list[i] = id
		}
		return a.Owner.Attribute("documentId"), list, true
	default:
		return a, operandText(v), true
	}
}

// fits reports whether an operand is one that a can have, and adds an issue if it is not. Query strings may have
// others: they find nothing, or stand for true.
func (f *filterReader) fits(a *contenttypes.Attribute, op store.Op, text string) bool {
	var expected string
	_, isNumber := readNumber(text)
	isFlag := text == "true" || text == "false"
	switch takes := operators[op].arity; {
	case takes == null && !isFlag, takes != null && takes != like && a.Type == contenttypes.Boolean && !isFlag:
		expected = "true or false"
	case takes == null, takes == like:
	case a.Type == contenttypes.ID && !isNumber:
		expected = "an id, or a variable such as $user"
	case a.Type == contenttypes.Enumeration && takes == folding:
		is := func(value string) bool { return strings.EqualFold(value, text) }
		if !slices.ContainsFunc(a.Enum, is) {
			expected = "one of " + strings.Join(a.Enum, ", ") + ", in any case"
		}
	case a.Type == contenttypes.Enumeration && takes != order && takes != between && !slices.Contains(a.Enum, text):
		expected = "one of " + strings.Join(a.Enum, ", ")
	}
	if expected != "" {
		f.badOperand(a, expected)
	}
	return expected == ""
}
