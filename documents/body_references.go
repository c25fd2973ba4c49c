package documents

import (
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
)

// referenceKey is the only key of a reference.
const referenceKey = "$ref"

// Reference returns the name in a reference, {"$ref": name}. A reference stands for the documentId of the document that
// an earlier operation of WriteAll creates under that name. It may stand wherever the value of a relation has a
// documentId.
func Reference(v any) (name string, ok bool) {
	o, isObject := v.(*jsontree.Object)
	if !isObject || len(o.Keys) != 1 {
		return "", false
	}
	name, ok = o.Value(referenceKey).(string)
	return name, ok
}

// A resolver replaces references by documentIds. It keeps the first error.
type resolver struct {
	find func(name string) (documentID string, err error)
	err  error
}

func (r *resolver) documentID(name string) (id string) {
	id, err := r.find(name)
	if r.err == nil {
		r.err = err
	}
	return id
}

// object replaces the references in the relations of a document or component. Values of other attributes stay, whatever
// they look like.
func (r *resolver) object(s *contenttypes.Schema, data *jsontree.Object) {
	for _, key := range data.Keys {
		a, v := s.Attribute(key), data.Value(key)
		switch {
		case a == nil || a.IsScalar():
		case a.IsRelation():
			data.Set(key, r.value(v))
		default:
			r.items(a, v)
		}
	}
}

// items replaces the references in the components of an attribute.
func (r *resolver) items(a *contenttypes.Attribute, v any) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, item := range list {
		if o, isObject := item.(*jsontree.Object); isObject {
			if c := a.ComponentNamed(o.Text("__component")); c != nil {
				r.object(&c.Schema, o)
			}
		}
	}
}

// value returns the value of a relation with documentIds in place of references.
func (r *resolver) value(v any) any {
	if name, ok := Reference(v); ok {
		return r.documentID(name)
	}
	switch v := v.(type) {
	case *jsontree.Object:
		if _, wrong := v.Get(referenceKey); wrong && r.err == nil {
			r.err = apierror.Validation(`a reference has one key, "` + referenceKey +
				`", with the name of an operation`)
		}
		for _, key := range v.Keys {
			v.Set(key, r.value(v.Value(key)))
		}
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	}
	return v
}
