package params

import (
	"cmp"
	"fmt"
	"strings"

	"lectern/contenttypes"
	"lectern/store"
)

// A FilterBuilder builds a store.Filter from a query string or GraphQL arguments. It checks that the caller may see
// each attribute, and that each operand fits the type of its attribute. It reports one issue: see issues.go.
type FilterBuilder struct {
	*request
	param  *parameter
	path   []string // the attributes between Enter and Leave, the outermost first
	groups int      // number of open groups

	// locale is the attribute locale of the rows; nil if they have none. A condition on it outside of groups becomes
	// byLocale and is not part of the filter: it replaces the parameter locale.
	locale   *contenttypes.Attribute
	byLocale store.Filter
}

// Filters builds the filters of a caller without a query string.
type Filters func(*FilterBuilder) store.Filter

// maxHops is how many relations and components the filters of a request may follow. Following one may read all its
// links.
const maxHops = 100

// filterBuilder returns a builder of filters on the rows of the request.
func (r *request) filterBuilder() FilterBuilder {
	b := FilterBuilder{request: r, param: filtersParameter}
	if r.typ.Localized {
		b.locale = r.typ.Attribute("locale")
	}
	return b
}

// Enter begins the conditions on an attribute; for a relation, media or component, on its targets. Leave ends them. If
// Enter returns false, the attribute cannot have conditions, and Leave must not be called.
func (b *FilterBuilder) Enter(a *contenttypes.Attribute) bool {
	if a.Type == contenttypes.DynamicZone {
		b.forbiddenKey(b.param.zone, a.Name)
		return false
	}
	switch {
	case a.Type == contenttypes.Password:
		b.forbiddenKey(b.param.password, a.Name)
	case !a.IsScalar() && a.TargetSchema() == nil, b.variables == nil && !b.maySee(a):
		b.forbiddenKey(b.param.hidden, a.Name)
	}
	if !a.IsScalar() {
		if a.TargetSchema() == nil {
			return false
		}
		top := cmp.Or(b.top, b.request)
		if top.hops++; top.hops > maxHops {
			b.invalid(b.param.shape, fmt.Sprintf("Too many relations to follow in filters: at most %d are allowed",
				maxHops))
			return false
		}
	}
	if !isIdentifier(a) {
		b.path = append(b.path, a.Name)
	}
	return true
}

// maySee reports whether the caller may compare the value of an attribute, or those of its targets.
func (b *FilterBuilder) maySee(a *contenttypes.Attribute) bool {
	if a.IsScalar() {
		return b.access.Sees(a)
	}
	return b.access.Follows(a)
}

// Leave ends the conditions on an attribute. f is the condition on its value or targets, or nil. Leave returns the
// condition on the row that has the attribute.
func (b *FilterBuilder) Leave(a *contenttypes.Attribute, f store.Filter) store.Filter {
	if isIdentifier(a) {
		return f
	}
	b.path = b.path[:len(b.path)-1]
	switch {
	case f == nil:
		return nil
	case !a.IsScalar():
		if sight := b.sight(); sight != nil && a.Target != nil {
			f = store.Seen{Filter: f, Sight: sight}
		}
		return store.Through{Attr: a, Filter: f}
	case a == b.locale && b.groups == 0 && len(b.path) == 0:
		b.byLocale = f
		return nil
	}
	return f
}

// OpenGroup begins the conditions of a logical operator: and, or, not. CloseGroup ends them.
func (b *FilterBuilder) OpenGroup() { b.groups++ }

// CloseGroup ends the conditions that OpenGroup began.
func (b *FilterBuilder) CloseGroup() { b.groups-- }

// isIdentifier reports whether an attribute is the id or the documentId. They are not part of the path in errors.
func isIdentifier(a *contenttypes.Attribute) bool {
	return a.Type == contenttypes.ID || a.Type == contenttypes.DocumentID
}

// parent returns the dotted path of the attributes that were entered.
func (b *FilterBuilder) parent() string { return strings.Join(b.path, ".") }

func (b *FilterBuilder) unknownKey(key string) {
	b.unknown(b.param.key, key, b.parent(), b.param.name)
}

func (b *FilterBuilder) forbiddenKey(p precedence, key string) {
	b.forbidden(p, key, join(b.parent(), key), b.param.name)
}

// And returns a condition that holds if a and b do. Either may be nil.
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
