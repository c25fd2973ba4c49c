package permission

import (
	"errors"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Rule limits what a granted action does. It is made by ReadRule and never changes.
type Rule struct {
	Type *contenttypes.ContentType // of the documents that the action touches

	action string       // its name, such as find
	where  Condition    // which documents the action touches; nil: all
	fields *fields      // the attributes that are read or may be written; nil: all
	set    []assignment // what the server writes
	check  Condition    // what holds after a write; nil: anything
	text   string       // as it was read
}

// An assignment is a value that the server writes, whatever the caller sends. It may be a variable.
type assignment struct {
	attr  *contenttypes.Attribute
	value any
}

// A Condition is a filter on the documents of a type whose variables are bound for each caller.
type Condition interface {
	// Variables returns the names of its variables, such as "user.team".
	Variables() []string
	// Bind returns the filter for a caller with these values. Comparisons with variables that have none are unknown:
	// neither they nor their negations hold. ok is false if a value cannot be compared: then no document meets the
	// condition.
	Bind(Values) (f store.Filter, ok bool)
}

// Conditions reads the parts of rules that need the language of filters. An error says what is wrong in words for who
// wrote the rule.
type Conditions interface {
	// Condition reads a filter on documents of t in the form that query strings have.
	Condition(t *contenttypes.ContentType, filters any) (Condition, error)
	// CheckVariable returns an error if there is no variable of this name.
	CheckVariable(name string) error
}

// A RuleError says what is wrong in a rule.
type RuleError struct {
	Path    []string // the keys that lead to the mistake
	Message string
}

// Error names the part of the rule that is wrong, and says what is.
func (e *RuleError) Error() string {
	if len(e.Path) == 0 {
		return e.Message
	}
	return e.Path[0] + ": " + e.Message
}

func wrongRule(message string, path ...string) error { return &RuleError{path, message} }

// parts lists what rules of an action may have, by its name.
var parts = map[string][]string{
	"find":         {"where", "fields"},
	"findOne":      {"where"},
	"findDrafts":   {"where"},
	"create":       {"fields", "set", "check"},
	"update":       {"where", "fields", "set", "check"},
	"delete":       {"where"},
	"publish":      {"where"},
	"unpublish":    {"where"},
	"discardDraft": {"where"},
	"preview":      {"where"},
	"restore":      {"where", "check"},
}

// partsOfBuiltIns lists the same for the built-in types that rules can limit, by uid.
var partsOfBuiltIns = map[string]map[string][]string{
	contenttypes.UserUID: {"find": {"where", "fields"}, "findOne": {"where"}, "update": {"where", "fields", "check"},
		"destroy": {"where"}},
	contenttypes.FileUID: {"find": {"where"}, "findOne": {"where"}, "destroy": {"where"}},
}

// writeOf returns the name of the write that an action carries out: LimitOf knows rules by it.
func writeOf(action string) string {
	if action == "destroy" {
		return "delete"
	}
	return action
}

// ReadRule reads the rule of an action, written "uid.action". An error is a *RuleError.
func ReadRule(m *contenttypes.Model, action string, rule *jsontree.Object, c Conditions) (*Rule, error) {
	g := parseGrant(action)
	r := &Rule{Type: typeOf(m, g.subject), action: g.action, text: string(jsontree.Append(nil, rule))}
	if r.Type == nil {
		return nil, wrongRule("no rule can limit the actions of " + g.subject + "; write true")
	}
	allowed := parts
	if r.Type.BuiltIn {
		allowed = partsOfBuiltIns[r.Type.UID]
	}
	has := allowed[r.action]
	switch {
	case has == nil:
		return nil, wrongRule("no rule can limit " + r.action + " of " + g.subject + "; write true")
	case len(rule.Keys) == 0:
		return nil, wrongRule("the rule says nothing; write true, or " + strings.Join(has, ", "))
	}
	for _, key := range rule.Keys {
		if !slices.Contains(has, key) {
			return nil, wrongRule("a rule of "+r.action+" has "+strings.Join(has, ", ")+", and nothing else", key)
		}
		if err := r.read(key, rule.Value(key), c); err != nil {
			return nil, err
		}
	}
	r.action = writeOf(r.action)
	if role := r.Type.Attribute("role"); r.Type.UID == contenttypes.UserUID && r.action == "update" &&
		(r.fields == nil || r.fields.others && r.fields.writes(role)) {
		return nil, wrongRule("say by fields what may be written, without role: else callers could give themselves another one")
	}
	return r, nil
}

// read reads one part of a rule.
func (r *Rule) read(key string, v any, c Conditions) (err error) {
	switch key {
	case "where":
		r.where, err = readCondition(r.Type, key, v, c)
	case "check":
		r.check, err = readCondition(r.Type, key, v, c)
	case "fields":
		r.fields, err = readFields(r.Type, v, r.action == "find")
	case "set":
		r.set, err = readSet(r.Type, v, c)
	}
	return err
}

func readCondition(t *contenttypes.ContentType, key string, v any, c Conditions) (Condition, error) {
	o, ok := v.(*jsontree.Object)
	if !ok || len(o.Keys) == 0 {
		return nil, wrongRule("write a filter, such as {state: approved}, or leave "+key+" out", key)
	}
	condition, err := c.Condition(t, v)
	var wrong *RuleError
	switch {
	case errors.As(err, &wrong):
		return nil, wrongRule(wrong.Message, append([]string{key}, wrong.Path...)...)
	case err != nil:
		return nil, wrongRule(err.Error(), key)
	}
	return condition, nil
}

// Variables returns the names of the variables that the rule uses.
func (r *Rule) Variables() (names []string) {
	for _, c := range []Condition{r.where, r.check} {
		if c != nil {
			names = append(names, c.Variables()...)
		}
	}
	for _, s := range r.set {
		if name, ok := VariableIn(s.value); ok {
			names = append(names, name)
		}
	}
	return names
}

// VariableIn returns the name of the variable that a value of a rule is: a text that begins with one $.
func VariableIn(v any) (name string, ok bool) {
	text, _ := v.(string)
	if !strings.HasPrefix(text, "$") || strings.HasPrefix(text, "$$") {
		return "", false
	}
	return text[1:], true
}

// typeOf returns the content-type whose documents the actions of a uid touch; nil if no rule can limit them.
func typeOf(m *contenttypes.Model, uid string) *contenttypes.ContentType {
	if uid == grantOn(contenttypes.FileUID, "").subject {
		return m.Type(contenttypes.FileUID)
	}
	t := m.Type(uid)
	if t == nil || t.BuiltIn && partsOfBuiltIns[uid] == nil {
		return nil
	}
	return t
}
