package documents

import (
	"strings"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// fromBody is the name of the request's body in the details of an error about a key.
const fromBody = "body"

// ReadData returns the value of the key data in a parsed body. body is nil if the request has none.
func ReadData(body any) (*jsontree.Object, *apierror.Error) {
	var data any
	if o, ok := body.(*jsontree.Object); ok {
		data = o.Value("data")
	}
	switch data := data.(type) {
	case *jsontree.Object:
		return data, nil
	case []any:
		return nil, issues.Error(issues.WrongType(nil, "object", nil, data, true))
	}
	return nil, apierror.Validation(`Missing "data" payload in the request body`)
}

// checkKeys returns an error if a body has a key that t does not have or that must not be written. It checks all
// levels: components, items of zones (by their __component), and objects that name related documents. If there are
// several such keys, it reports id, then documentId, then the first in the body. If there are none, it reports the
// first relation to documents that the caller may not find.
func checkKeys(t *contenttypes.ContentType, data *jsontree.Object, access *permission.Access) *apierror.Error {
	for _, key := range []string{"id", "documentId"} {
		if _, ok := data.Get(key); ok {
			return apierror.InvalidKey(key, "", apierror.NoPath, fromBody, "")
		}
	}
	if err := checkRootKeys(t, data); err != nil {
		return err
	}
	return followedKeys(&t.Schema, data, nil, access)
}

// checkRootKeys checks the keys of a document other than id and documentId.
func checkRootKeys(t *contenttypes.ContentType, data *jsontree.Object) *apierror.Error {
	for _, key := range data.Keys {
		a := t.Attribute(key)
		switch key {
		case "publishedAt", "locale": // allowed but ignored: the query of the request sets them
			if a == nil || a.System {
				continue
			}
		case "createdAt", "updatedAt", "createdBy", "updatedBy", "localizations":
			if a == nil || a.System {
				return apierror.ForbiddenKey(key, key, fromBody, "")
			}
		}
		if a == nil {
			return apierror.UnknownKey(key, "", fromBody, "")
		}
		if err := valueKeys(a, data.Value(key), []string{key}); err != nil {
			return err
		}
	}
	return nil
}

// valueKeys checks the keys in the value of an attribute. path is the path of the value without list positions.
func valueKeys(a *contenttypes.Attribute, v any, path []string) *apierror.Error {
	switch {
	case a.IsRelation():
		return objectsKeys(v, path, func(o *jsontree.Object) *apierror.Error { return relationKeys(a, o, path) })
	case a.Type == contenttypes.ComponentType:
		return objectsKeys(v, path,
			func(o *jsontree.Object) *apierror.Error { return componentKeys(a.Component, o, path, false) })
	case a.Type == contenttypes.DynamicZone:
		return zoneItems(a, v, func(c *contenttypes.Component, o *jsontree.Object) *apierror.Error {
			return componentKeys(c, o, path, true)
		})
	}
	return nil
}

// objectsKeys calls check with v if it is an object, or with each object in v if it is a list. For a list within a list
// it returns the same error as Strapi, which treats list positions as keys: it says that the key 0 is unknown.
func objectsKeys(v any, path []string, check func(*jsontree.Object) *apierror.Error) *apierror.Error {
	switch v := v.(type) {
	case *jsontree.Object:
		return check(v)
	case []any:
		for _, item := range v {
			var err *apierror.Error
			switch item := item.(type) {
			case *jsontree.Object:
				err = check(item)
			case []any:
				if len(item) > 0 {
					err = apierror.UnknownKey("0", strings.Join(path, "."), fromBody, "")
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// zoneItems calls check with each item of a zone that names its component. Other items are reported later, when values
// are checked.
func zoneItems(a *contenttypes.Attribute, v any,
	check func(*contenttypes.Component, *jsontree.Object) *apierror.Error) *apierror.Error {
	items, _ := v.([]any)
	for _, item := range items {
		o, ok := item.(*jsontree.Object)
		if !ok {
			continue
		}
		if c := a.ComponentNamed(o.Text("__component")); c != nil {
			if err := check(c, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func componentKeys(c *contenttypes.Component, o *jsontree.Object, path []string, inZone bool) *apierror.Error {
	for _, key := range o.Keys {
		if key == "id" || key == "documentId" || inZone && key == "__component" {
			continue
		}
		a := c.Attribute(key)
		if a == nil {
			return apierror.UnknownKey(key, strings.Join(path, "."), fromBody, "")
		}
		if err := valueKeys(a, o.Value(key), issues.Below(path, key)); err != nil {
			return err
		}
	}
	return nil
}

// relationKeys checks the keys of an object that names a related document or changes a list of them. It accepts all
// attributes of the target type, so that clients may send back a document that they have read.
func relationKeys(a *contenttypes.Attribute, o *jsontree.Object, path []string) *apierror.Error {
	for _, key := range o.Keys {
		switch key {
		case "id", "documentId", "connect", "disconnect", "set", "options",
			"locale", "localizations", "createdAt", "updatedAt", "publishedAt", "createdBy", "updatedBy":
			continue
		case "__type":
			if a.IsMorph() {
				continue
			}
		}
		if a.Target == nil { // the relation has several types; ignore other keys
			continue
		}
		target := a.Target.Attribute(key)
		if target == nil {
			return apierror.UnknownKey(key, strings.Join(path, "."), fromBody, "")
		}
		if err := valueKeys(target, o.Value(key), issues.Below(path, key)); err != nil {
			return err
		}
	}
	return nil
}

// CheckLinks returns an error if data has relations, at any depth, to documents that the caller may not find. Use it
// for writes with an Access other than the caller's.
func CheckLinks(t *contenttypes.ContentType, data *jsontree.Object, access *permission.Access) error {
	if err := followedKeys(&t.Schema, data, nil, access); err != nil {
		return err
	}
	return nil
}

// WithoutHiddenLinks returns data without the relations, at any depth, to documents that the caller may not find. It is
// for writes that must leave such relations unchanged instead of refusing them.
func WithoutHiddenLinks(s *contenttypes.Schema, data *jsontree.Object, access *permission.Access) *jsontree.Object {
	if access == permission.FullAccess {
		return data
	}
	kept := jsontree.NewObject()
	for _, key := range data.Keys {
		a, v := s.Attribute(key), data.Value(key)
		switch {
		case a == nil:
		case a.Type == contenttypes.RelationType:
			if !mayLink(access, a, v) {
				continue
			}
		case a.Type == contenttypes.ComponentType, a.Type == contenttypes.DynamicZone:
			v = itemsWithoutHiddenLinks(a, v, access)
		}
		kept.Set(key, v)
	}
	return kept
}

func itemsWithoutHiddenLinks(a *contenttypes.Attribute, v any, access *permission.Access) any {
	switch v := v.(type) {
	case *jsontree.Object:
		if c := a.ComponentNamed(v.Text("__component")); c != nil {
			return WithoutHiddenLinks(&c.Schema, v, access)
		}
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = itemsWithoutHiddenLinks(a, item, access)
		}
		return list
	}
	return v
}

// followedKeys returns an error if an object has relations to documents that the caller may not find.
func followedKeys(s *contenttypes.Schema, o *jsontree.Object, path []string,
	access *permission.Access) *apierror.Error {
	for _, key := range o.Keys {
		a := s.Attribute(key)
		if a == nil || a.IsScalar() {
			continue
		}
		at := issues.Below(path, key)
		inner := func(c *contenttypes.Component, o *jsontree.Object) *apierror.Error {
			return followedKeys(&c.Schema, o, at, access)
		}
		var err *apierror.Error
		switch {
		case a.Type == contenttypes.RelationType && !mayLink(access, a, o.Value(key)):
			err = apierror.ForbiddenKey(key, strings.Join(at, "."), fromBody, "")
		case a.Type == contenttypes.ComponentType:
			err = objectsKeys(o.Value(key), at,
				func(o *jsontree.Object) *apierror.Error { return inner(a.Component, o) })
		case a.Type == contenttypes.DynamicZone:
			err = zoneItems(a, o.Value(key), inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mayLink reports whether a caller may write a relation. The caller must be allowed to find documents of its target
// type or, if the relation is polymorphic, of all types that the value names. Private relations may be written, like
// all private attributes.
func mayLink(access *permission.Access, attr *contenttypes.Attribute, v any) bool {
	if attr.Target != nil {
		return attr.System || access.Allows(attr.Target, "find")
	}
	switch v := v.(type) {
	case *jsontree.Object:
		if uid, ok := v.Value("__type").(string); ok && !access.AllowsAction(permission.ActionOn(uid, "find")) {
			return false
		}
		return mayLink(access, attr, v.Value("set")) && mayLink(access, attr, v.Value("connect")) &&
			mayLink(access, attr, v.Value("disconnect"))
	case []any:
		for _, item := range v {
			if !mayLink(access, attr, item) {
				return false
			}
		}
	}
	return true
}
