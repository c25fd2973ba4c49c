package transfer

import (
	"fmt"
	"math"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/issues"
	"lectern/jsontree"
	"lectern/store"
)

// An edge is a link in a line of an import. Its target is identified by documentId.
type edge struct {
	attr   *contenttypes.Attribute
	path   []string
	set    store.LinkSet
	item   *store.Item // the component that has the link, nil for the document
	index  int         // number of the link in its relation and set, from 0
	target *contenttypes.ContentType
	id     string
	locale string
	order  uint64 // position among the links of the target; MaxUint64 if the line does not have it

	position uint64 // position in the list of the target, computed from the order of all links; 0 if the target has no order
	to       uint64 // number of the target; 0 if it does not exist
}

// An edgeWalk adds the links in a line to one of its versions, in order.
type edgeWalk struct {
	im      *importer
	line    *importLine
	sets    []store.LinkSet
	version *importVersion
}

// schema adds the links of a document or component; values are its values in the row, and item is the component.
func (w *edgeWalk) schema(s *contenttypes.Schema, data *jsontree.Object, path []string, values []store.Value,
	item *store.Item) error {
	for _, a := range s.Attributes {
		if a.System || a.IsScalar() {
			continue
		}
		v, given := data.Get(a.Name)
		if !given || v == nil {
			continue
		}
		at := issues.Below(path, a.Name)
		if a.IsRelation() {
			if err := w.relation(a, v, at, item); err != nil {
				return err
			}
			continue
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for i, inside := range values[a.Index].Items {
			path := at
			if isList {
				path = issues.Below(at, strconv.Itoa(i))
			}
			o, _ := list[i].(*jsontree.Object)
			if err := w.schema(&inside.Component.Schema, o, path, inside.Values, inside); err != nil {
				return err
			}
		}
	}
	return nil
}

// relation adds the entries of a relation. Its value v is an object or a documentId, or a list of these.
func (w *edgeWalk) relation(a *contenttypes.Attribute, v any, path []string, item *store.Item) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	type target struct {
		set             store.LinkSet
		uid, id, locale string
	}
	seen := make(map[target]bool, len(list))
	for _, set := range store.LinkSetsUnder(a, w.sets) {
		n, one := 0, target{}
		for _, v := range list {
			e, only, err := w.entry(a, v, path)
			if err != nil {
				return err
			}
			if only != "" && only != set.Name() {
				continue
			}
			to := target{set, e.target.UID, e.id, e.locale}
			if seen[to] {
				return fmt.Errorf("%s: document %s is there twice", issues.PathName(path), e.id)
			}
			seen[to] = true
			e.set, e.item, e.index = set, item, n
			n++
			if to.locale = ""; n > 1 && to != one && !a.ToMany() { // it may hold several localizations of it
				return fmt.Errorf("%s: holds one document", issues.PathName(path))
			}
			one = to
			w.version.edges = append(w.version.edges, e)
		}
	}
	return nil
}

// entry parses one entry of a relation. only is the link set to which the entry is limited, or "" if it is in all.
func (w *edgeWalk) entry(a *contenttypes.Attribute, v any, path []string) (e edge, only string, err error) {
	e = edge{attr: a, path: path, target: a.Target, order: math.MaxUint64}
	wrong := func(format string, args ...any) (edge, string, error) {
		return e, "", fmt.Errorf(issues.PathName(path)+": "+format, args...)
	}
	o, isObject := v.(*jsontree.Object)
	if id, ok := v.(string); ok {
		o = jsontree.NewObject()
		o.Set("documentId", id)
	} else if !isObject {
		return wrong("an entry of a relation is an object with the key documentId")
	}
	for _, key := range o.Keys {
		s, isText := o.Value(key).(string)
		n, isNumber := o.Value(key).(jsontree.Number)
		switch {
		case key == "order" && isNumber:
			if e.order, err = strconv.ParseUint(string(n), 10, 64); err != nil {
				return wrong("order must be a whole number, not %s", n)
			}
		case !isText:
			return wrong("%s must be a text", key)
		case key == "documentId":
			e.id = s
		case key == "locale":
			e.locale = s
		case key == "type" && a.Target == nil:
			if e.target = w.im.s.Model().Type(s); e.target == nil || !Exported(e.target) {
				return wrong("there is no content-type %q", s)
			}
		case key == "plane" && (s == "draft" || s == "published"):
			only = s
		default:
			return wrong("unknown key or value %s; an entry has documentId, locale, plane, order and, "+
				"where it may be of several types, type", key)
		}
	}
	switch {
	case e.target == nil:
		return wrong("type is missing")
	case e.id == "":
		return wrong("documentId is missing")
	case !e.target.Localized:
		e.locale = ""
	case e.locale == "" && w.line.locale != "":
		e.locale = w.line.locale
	case e.locale == "":
		e.locale = w.im.s.DefaultLocale()
	}
	return e, only, nil
}
