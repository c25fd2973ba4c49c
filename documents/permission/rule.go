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

	action string    // its name, such as find
	where  Condition // which documents the action touches; nil: all
	text   string    // as it was read
}

// Variables returns the names of the variables that the rule uses.
func (r *Rule) Variables() []string {
	if r.where == nil {
		return nil
	}
	return r.where.Variables()
}

// A Condition is a filter on the documents of a type whose variables are bound for each caller.
type Condition interface {
	// Variables returns the names of its variables, such as "user.team".
	Variables() []string
	// Bind returns the filter for a caller with these values. ok is false if one of the variables has none: then no
	// document meets the condition.
	Bind(Values) (f store.Filter, ok bool)
}

// Conditions reads the conditions of rules: filters on documents of t in the form that query strings have. An error
// says what is wrong in words for who wrote the rule.
type Conditions interface {
	Condition(t *contenttypes.ContentType, filters any) (Condition, error)
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

// reads are the actions that read documents.
var reads = []string{"find"}

// ReadRule reads the rule of an action, written "uid.action". An error is a *RuleError.
func ReadRule(m *contenttypes.Model, action string, rule *jsontree.Object, c Conditions) (*Rule, error) {
	g := parseGrant(action)
	r := &Rule{Type: typeOf(m, g.subject), action: g.action, text: string(jsontree.Append(nil, rule))}
	if r.Type == nil {
		return nil, wrongRule("no rule can limit " + g.subject + ", whose routes are about no documents; write true")
	}
	if !slices.Contains(reads, r.action) {
		return nil, wrongRule("no rule can limit " + r.action + "; write true. Rules limit " + strings.Join(reads, ", "))
	}
	if len(rule.Keys) == 0 {
		return nil, wrongRule("the rule says nothing; write true, or say where the action may be used")
	}
	for _, key := range rule.Keys {
		switch v := rule.Value(key); key {
		case "where":
			var err error
			if r.where, err = readCondition(r.Type, key, v, c); err != nil {
				return nil, err
			}
		default:
			return nil, wrongRule("a rule of "+r.action+" has where, and nothing else", key)
		}
	}
	return r, nil
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

// typeOf returns the content-type whose documents the actions of a uid touch; nil if they are about no documents of one
// type.
func typeOf(m *contenttypes.Model, uid string) *contenttypes.ContentType {
	t := m.Type(uid)
	if t == nil || t.BuiltIn {
		return nil
	}
	return t
}
