package documents

import (
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// A Fitted is a value that was written elsewhere, or under other definitions, as the store can hold it.
type Fitted struct {
	Value   any    // as it is stored; nil if the attribute cannot hold the value, because it has another type
	Problem string // the rule that the value breaks, such as "must be at most 3 characters"; "" if it breaks none
}

// Fit casts a value and checks it as AuditOf does: that of a published version by all rules, that of a draft by the rules of drafts. A value that
// breaks a rule stays as long as the attribute can hold it: answers show it, and a write of it is refused. Fit does not check whether a unique
// value is taken.
func Fit(a *contenttypes.Attribute, v any, published bool) Fitted {
	kind := a.Type.Kind()
	switch {
	case v == nil && a.Required && published:
		return Fitted{Problem: RequiredAndMissing}
	case v == nil, a.Type == contenttypes.JSON:
		return Fitted{Value: v}
	case a.Type == contenttypes.Password: // its rules are for the password, of which only a hash is stored
		if s, _ := v.(string); !passwordHash.MatchString(s) {
			return Fitted{Problem: "is no bcrypt hash of a password"}
		}
		return Fitted{Value: v}
	case kind.IsTemporal():
		cast, wrong := castTemporal(a, v)
		if wrong != nil {
			return Fitted{Problem: "is no valid " + a.Type.String()}
		}
		return Fitted{Value: cast}
	case kind == contenttypes.TextValue:
		v = scalarText(v)
	}
	st := draftStage
	if published {
		st = publishStage
	}
	cast, issues := castScalar(a, fitPath, v, true, st)
	switch {
	case len(issues) == 0:
		return Fitted{Value: cast}
	case a.Type == contenttypes.Blocks:
		return Fitted{Value: v, Problem: "is no valid list of blocks"}
	case !holds(kind, cast):
		return Fitted{Problem: otherType}
	}
	return Fitted{Value: cast, Problem: issues[0].rule()}
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

// fitPath is the path in messages that rule shortens.
var fitPath = []string{"it"}

const otherType = "has a value of another type"

// rule returns the message of an issue at fitPath without its subject, and without the value.
func (f issue) rule() string {
	rule := strings.TrimSuffix(strings.TrimPrefix(f.message, fitPath[0]+" "), ", ")
	if strings.Contains(rule, "but the final value was") {
		return otherType
	}
	return rule
}

// holds reports whether attributes of a kind can hold a value that was cast and breaks a rule.
func holds(kind contenttypes.ValueKind, v any) bool {
	_, isText := v.(string)
	return isText && (kind == contenttypes.TextValue || kind == contenttypes.EnumValue) || v != nil && kind == contenttypes.NumberValue
}

// IsUnique reports whether two published versions must not have the same value of an attribute.
func IsUnique(a *contenttypes.Attribute) bool { return !a.System && a.IsScalar() && isUnique(a) }

// ValidDocumentID reports whether an import takes a documentId.
func ValidDocumentID(id string) bool { return documentIDPattern.MatchString(id) }

// ValidLocale reports whether an import takes a locale.
func ValidLocale(code string) bool { return len(code) <= maxLocale && code != "*" }
