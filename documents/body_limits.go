package documents

import (
	"fmt"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
)

// WriteLimits limit the body of one create or update, since all other writes wait while it is carried out. 0 means no
// limit.
type WriteLimits struct {
	Links      int // links to documents in relations and media, at any depth
	Components int // components, at any depth
}

// check returns an error if a body exceeds a limit.
func (l WriteLimits) check(t *contenttypes.ContentType, data *jsontree.Object) *apierror.Error {
	if l == (WriteLimits{}) {
		return nil
	}
	var used WriteLimits
	used.count(&t.Schema, data)
	return l.exceeded(used)
}

// checkAll returns an error if the bodies of several operations together exceed a limit.
func (l WriteLimits) checkAll(list []Operation) error {
	if l == (WriteLimits{}) {
		return nil
	}
	var used WriteLimits
	for i := range list {
		if list[i].Data != nil {
			used.count(&list[i].Type.Schema, list[i].Data)
		}
	}
	if err := l.exceeded(used); err != nil {
		return err
	}
	return nil
}

// exceeded returns an error if there are more links or components than allowed.
func (l WriteLimits) exceeded(used WriteLimits) *apierror.Error {
	switch {
	case l.Links > 0 && used.Links > l.Links:
		return tooMuch(used.Links, "links to documents", "limits.links", l.Links, apierror.Links)
	case l.Components > 0 && used.Components > l.Components:
		return tooMuch(used.Components, "components", "limits.components", l.Components, apierror.Components)
	}
	return nil
}

func tooMuch(n int, what, setting string, most int, reason apierror.Reason) *apierror.Error {
	return &apierror.Error{Status: 413, Name: "PayloadTooLargeError", Reason: reason,
		Message: fmt.Sprintf("The body has %d %s, and %s allows %d in one write", n, what, setting, most)}
}

// count adds the links and components in the data of a document or component.
func (l *WriteLimits) count(s *contenttypes.Schema, data *jsontree.Object) {
	for _, key := range data.Keys {
		a, v := s.Attribute(key), data.Value(key)
		switch {
		case a == nil || v == nil || a.IsScalar():
		case a.IsRelation():
			l.Links += linksIn(v)
		default:
			l.countItems(a, v)
		}
	}
}

// countItems adds the components in an attribute's value and everything in them.
func (l *WriteLimits) countItems(a *contenttypes.Attribute, v any) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	l.Components += len(list)
	for _, item := range list {
		o, isObject := item.(*jsontree.Object)
		if !isObject {
			continue
		}
		if c := a.ComponentNamed(o.Text("__component")); c != nil {
			l.count(&c.Schema, o)
		}
	}
}

// linksIn returns how many documents the value of a relation names: alone, in a list, or under set, connect and
// disconnect.
func linksIn(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case *jsontree.Object:
		n := 0
		for _, key := range []string{"set", "connect", "disconnect"} {
			if list, given := v.Get(key); given {
				n += linksIn(list)
			}
		}
		return max(n, 1)
	}
	return 1
}
