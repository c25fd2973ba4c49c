package values

import (
	"strings"

	"lectern/contenttypes"
	"lectern/documents/issues"
	"lectern/documents/passwords"
	"lectern/jsontree"
)

// A Fitted is a value that was written elsewhere, or under other definitions, as the store can hold it.
type Fitted struct {
	Value   any    // as it is stored; nil if the attribute cannot hold the value, because it has another type
	Problem string // the rule that the value breaks, such as "must be at most 3 characters"; "" if it breaks none
}

// Fit casts a value and checks it as the search for misfits does: that of a published version by all rules, that of a
// draft by the rules of drafts. A value that breaks a rule stays as long as the attribute can hold it: answers show it,
// and a write of it is refused. Fit does not check whether a unique value is taken.
func Fit(a *contenttypes.Attribute, v any, published bool) Fitted {
	kind := a.Type.Kind()
	switch {
	case v == nil && a.Required && published:
		return Fitted{Problem: RequiredAndMissing}
	case v == nil, a.Type == contenttypes.JSON:
		return Fitted{Value: v}
	case a.Type == contenttypes.Password: // its rules are for the password, of which only a hash is stored
		if s, _ := v.(string); !passwords.IsHash(s) {
			return Fitted{Problem: "is no bcrypt hash of a password"}
		}
		return Fitted{Value: v}
	case kind.IsTemporal():
		cast, wrong := CastTime(a, v)
		if wrong != nil {
			return Fitted{Problem: "is no valid " + a.Type.String()}
		}
		return Fitted{Value: cast}
	case kind == contenttypes.TextValue:
		v = scalarText(v)
	}
	st := DraftStage
	if published {
		st = PublishStage
	}
	cast, broken := Cast(a, fitPath, v, true, st)
	switch {
	case len(broken) == 0:
		return Fitted{Value: cast}
	case a.Type == contenttypes.Blocks:
		return Fitted{Value: v, Problem: "is no valid list of blocks"}
	case !holds(kind, cast):
		return Fitted{Problem: otherType}
	}
	return Fitted{Value: cast, Problem: rule(broken[0])}
}

// FitItems returns the rule that n components of an attribute break in a published version, "" if they break none.
func FitItems(a *contenttypes.Attribute, n int) (problem string) {
	switch {
	case a.Type == contenttypes.ComponentType && !a.Repeatable:
		if n == 0 && a.Required {
			return RequiredAndMissing
		}
	case a.Min != nil && (a.Required || n > 0) && float64(n) < *a.Min:
		return "must have at least " + jsontree.FormatNumber(*a.Min) + " items"
	case a.Max != nil && float64(n) > *a.Max:
		return "must have at most " + jsontree.FormatNumber(*a.Max) + " items"
	}
	return ""
}

// RequiredAndMissing is the problem of a required value that is null.
const RequiredAndMissing = "is required and missing"

// TakesOnly says which files a media attribute may hold.
func TakesOnly(a *contenttypes.Attribute) string {
	return "takes only " + strings.Join(a.AllowedTypes, ", ")
}

// fitPath is the path in messages that rule shortens.
var fitPath = []string{"it"}

const otherType = "has a value of another type"

// Problems returns the rules that a value breaks at a stage, each such as "must be at most 3 characters".
func Problems(a *contenttypes.Attribute, v any, st Stage) (rules []string) {
	_, list := Cast(a, fitPath, v, true, st)
	for _, f := range list {
		rules = append(rules, rule(f))
	}
	return rules
}

// rule returns the message of an issue at fitPath without its subject, and without the value.
func rule(f issues.Issue) string {
	rule := strings.TrimSuffix(strings.TrimPrefix(f.Message, fitPath[0]+" "), ", ")
	if strings.Contains(rule, "but the final value was") {
		return otherType
	}
	return rule
}

// holds reports whether attributes of a kind can hold a value that was cast and breaks a rule.
func holds(kind contenttypes.ValueKind, v any) bool {
	_, isText := v.(string)
	return isText && (kind == contenttypes.TextValue || kind == contenttypes.EnumValue) || v != nil &&
		kind == contenttypes.NumberValue
}
