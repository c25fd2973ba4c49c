package auth

import (
	"bytes"
	"fmt"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// Rules holds the rules of the permissions of a role or a token, by permission ("uid.action"), in the form of
// permissions.yaml.
type Rules map[string]*jsontree.Object

// A RuleReader compiles permissions and their rules.
type RuleReader struct {
	Model      *contenttypes.Model
	Conditions permission.Conditions // reads the conditions of rules; may be nil if there are no rules
	Drafts     Drafts
	Failed     func(error) // is called with each rule that cannot be read
}

// access returns what permissions and their rules allow. A permission whose rule cannot be read is not granted:
// permissions may be older than the model.
func (c RuleReader) access(permissions []string, rules Rules) *permission.Access {
	permissions = c.Drafts.with(permissions)
	if len(rules) == 0 {
		return permission.NewAccess(permissions)
	}
	var granted []string
	var limits []*permission.Rule
	for _, p := range permissions {
		if written := rules[p]; written != nil {
			rule, err := permission.ReadRule(c.Model, p, written, c.Conditions)
			if err != nil {
				c.failed(fmt.Errorf("%s is not granted, since its rule cannot be read: %w", p, err))
				continue
			}
			limits = append(limits, rule)
		}
		granted = append(granted, p)
	}
	return permission.NewAccess(granted, limits...)
}

// Token returns what a token of this declaration may do.
func (c RuleReader) Token(d Declaration, actions *Actions) *permission.Access {
	switch d.Kind {
	case FullAccess:
		return permission.FullAccess
	case ReadOnly:
		return permission.NewAccess(c.Drafts.with(actions.named("find", "findOne", "findUsage", permission.FindDrafts)))
	}
	return c.access(d.Permissions, d.Rules).Bind(permission.Values{"token": d.Name})
}

func (c RuleReader) failed(err error) {
	if c.Failed != nil {
		c.Failed(err)
	}
}

// ruleText returns a rule as it is stored; nil for none.
func ruleText(rule *jsontree.Object) []byte {
	if rule == nil {
		return nil
	}
	return jsontree.Append(nil, rule)
}

func sameRule(a, b *jsontree.Object) bool { return bytes.Equal(ruleText(a), ruleText(b)) }

// ruleValue returns a rule as an attribute of a document.
func ruleValue(rule *jsontree.Object) any {
	if rule == nil {
		return nil
	}
	return rule
}

// maxRuleDepth is how deep the objects and lists of a stored rule may be nested.
const maxRuleDepth = 100

// readRule reads a stored rule; nil if there is none. An unreadable one is an empty object, which no rule is: its
// permission is not granted.
func readRule(text []byte) *jsontree.Object {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	v, _ := jsontree.Parse(text, maxRuleDepth)
	if rule, ok := v.(*jsontree.Object); ok {
		return rule
	}
	return jsontree.NewObject()
}
