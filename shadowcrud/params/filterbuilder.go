package params

import (
	"cmp"
	"fmt"
	"strings"

	"lectern/contenttypes"
	"lectern/store"
)

// A FilterBuilder makes a store.Filter and checks what it is made of: each attribute against what the caller may see, each operand
// against the type of its attribute. The filters of query strings and of GraphQL arguments are both made by one. It keeps the first
// error in the order of the checks; see faults.go.
type FilterBuilder struct {
	*request
	param  *parameter
	path   []string // of the attributes that were entered
	groups int      // that are open

	// locale is the attribute locale of the rows that are asked for, nil where they have none. A condition on it outside of groups
	// replaces the parameter locale; it becomes byLocale and is not part of the filter.
	locale   *contenttypes.Attribute
	byLocale store.Filter
}

// Filters are the conditions of a caller whose filters do not have the form of a query string. They are nil where there are none.
type Filters func(*FilterBuilder) store.Filter

// maxHops is how many relations and components the filters of a request may follow: each of them may look at all links.
const maxHops = 100

// filterBuilder returns a builder of filters on the rows that are asked for.
func (r *request) filterBuilder() FilterBuilder {
	b := FilterBuilder{request: r, param: filtersParameter}
	if r.typ.Localized {
		b.locale = r.typ.Attribute("locale")
	}
	return b
}

// Enter begins the conditions on an attribute. Those on a relation, media or component are conditions on its target. It returns false
// where the attribute can have none; otherwise Leave ends them.
func (b *FilterBuilder) Enter(a *contenttypes.Attribute) bool {
	if a.Type == contenttypes.DynamicZone {
		b.forbiddenKey(b.param.zone, a.Name)
		return false
	}
	switch {
	case a.Type == contenttypes.Password:
		b.forbiddenKey(b.param.password, a.Name)
	case a.IsScalar() && !b.access.Sees(a), !a.IsScalar() && (target(a) == nil || !b.access.Follows(a)):
		b.forbiddenKey(b.param.hidden, a.Name)
	}
	if !a.IsScalar() {
		if target(a) == nil {
			return false
		}
		whole := cmp.Or(b.whole, b.request)
		if whole.hops++; whole.hops > maxHops {
			b.invalid(b.param.shape, fmt.Sprintf("Too many relations to follow in filters: at most %d are allowed", maxHops))
			return false
		}
	}
	if !isIdentifier(a) {
		b.path = append(b.path, a.Name)
	}
	return true
}

// Leave ends the conditions on an attribute: f holds of its value or of its targets, and is nil where there is no condition. It
// returns the condition on the row that has the attribute.
func (b *FilterBuilder) Leave(a *contenttypes.Attribute, f store.Filter) store.Filter {
	if isIdentifier(a) {
		return f
	}
	b.path = b.path[:len(b.path)-1]
	switch {
	case f == nil:
		return nil
	case !a.IsScalar():
		return store.Through{Attr: a, Filter: f}
	case a == b.locale && b.groups == 0 && len(b.path) == 0:
		b.byLocale = f
		return nil
	}
	return f
}

// OpenGroup begins conditions that are joined by and, or, not. CloseGroup ends them.
func (b *FilterBuilder) OpenGroup()  { b.groups++ }
func (b *FilterBuilder) CloseGroup() { b.groups-- }

// isIdentifier reports whether an attribute is the id or the documentId, which errors name without a path of their own.
func isIdentifier(a *contenttypes.Attribute) bool {
	return a.Type == contenttypes.ID || a.Type == contenttypes.DocumentID
}

// parent is the dotted path of the attributes that were entered.
func (b *FilterBuilder) parent() string { return strings.Join(b.path, ".") }

func (b *FilterBuilder) unknownKey(key string) {
	b.unknown(b.param.key, key, b.parent(), b.param.name)
}

func (b *FilterBuilder) forbiddenKey(k rank, key string) {
	b.forbidden(k, key, join(b.parent(), key), b.param.name)
}

// And joins two conditions, either of which may be nil.
func And(a, b store.Filter) store.Filter {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	if list, ok := a.(store.And); ok {
		return append(list, b)
	}
	return store.And{a, b}
}
