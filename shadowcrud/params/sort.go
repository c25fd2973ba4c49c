package params

import (
	"fmt"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

const (
	maxSortKeys  = 100 // unless ListSettings set another number
	maxSortDepth = 20  // relations and components in the path of a key
)

// A sortReader reads a sort into sort keys.
type sortReader struct {
	*request
	param *parameter
	root  *contenttypes.Schema
	keys  []store.SortKey
}

// sort reads a sort by attributes of s.
func (r *request) sort(s *contenttypes.Schema, v any, param *parameter) []store.SortKey {
	if v == nil {
		return nil
	}
	c := sortReader{request: r, param: param, root: s}
	switch v := v.(type) {
	case string:
		c.text(v)
	case []any:
		for _, item := range v {
			switch item := item.(type) {
			case string:
				c.text(item)
			case *jsontree.Object:
				c.object(nil, item)
			case []any:
				r.invalid(param.shape, "Invalid sort query")
			}
		}
	case *jsontree.Object:
		c.object(nil, v)
	}
	return c.keys
}

// text reads a list, separated by commas, of keys such as owner.firstName:desc.
func (c *sortReader) text(s string) {
	for item := range strings.SplitSeq(s, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		path, direction, given := strings.Cut(item, ":")
		if given {
			direction, _, _ = strings.Cut(direction, ":")
		}
		var names []string
		for name := range strings.SplitSeq(path, ".") {
			if name != "" {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		direction = strings.TrimSpace(direction)
		if given && direction == "" {
			c.badDirection()
		}
		c.add(names, direction)
	}
}

// object reads {name: direction}. The value of a relation or component is an object of the same form.
func (c *sortReader) object(above []string, o *jsontree.Object) {
	for _, key := range o.Keys {
		names := append(above[:len(above):len(above)], key)
		switch v := o.Value(key).(type) {
		case nil:
			c.add(names, "")
		case string:
			c.add(names, v)
		case *jsontree.Object:
			if c.resolve(names) != nil && !c.leadsOn(names) {
				c.badDirection()
				continue
			}
			c.object(names, v)
		default:
			c.add(names, "")
			c.badDirection()
		}
	}
}

// add adds a key, unless the sort has a key of the same path. An empty direction means asc.
func (c *sortReader) add(names []string, direction string) {
	desc, ok := readDirection(direction)
	if !ok {
		c.badDirection()
	}
	path := c.resolve(names)
	if path == nil {
		return
	}
	switch last := path[len(path)-1]; {
	case last.IsScalar():
	case ok && direction != "": // read as an attribute of the target
		c.unknown(c.param.key, direction, strings.Join(names, "."), c.param.name)
		return
	default:
		c.forbidden(c.param.leaf, last.Name, strings.Join(names, "."), c.param.name)
		return
	}
	if slices.ContainsFunc(c.keys, func(k store.SortKey) bool { return slices.Equal(k.Path, path) }) {
		return
	}
	if most := c.limits.SortKeys; len(c.keys) == most {
		message := fmt.Sprintf("Too many sort keys: at most %d are allowed", most)
		if setting := c.limits.SortKeysSetting; setting != "" {
			message += " (" + setting + ")"
		}
		c.invalid(c.param.shape, message)
		return
	}
	c.keys = append(c.keys, store.SortKey{Path: path, Desc: desc})
}

// leadsOn reports whether a path ends at a relation, media or component, not at a scalar.
func (c *sortReader) leadsOn(names []string) bool {
	path := c.resolve(names)
	return path != nil && !path[len(path)-1].IsScalar()
}

// resolve returns the attributes of a path. If the path cannot be sorted by, it adds an issue and returns nil.
func (c *sortReader) resolve(names []string) []*contenttypes.Attribute {
	if len(names) > maxSortDepth+1 {
		c.invalid(c.param.shape, fmt.Sprintf("Too deep a sort: at most %d levels are allowed", maxSortDepth))
		return nil
	}
	path := make([]*contenttypes.Attribute, 0, len(names))
	s, hidden := c.root, false
	for i, name := range names {
		var a *contenttypes.Attribute
		if s != nil {
			a = s.Attribute(name)
		}
		so := func() string { return strings.Join(names[:i+1], ".") }
		switch {
		case a == nil && s != nil && c.isReserved(s, name):
			c.forbidden(c.param.hidden, name, so(), c.param.name)
			return nil
		case a == nil:
			c.unknown(c.param.key, name, strings.Join(names[:i], "."), c.param.name)
			return nil
		case a.Type == contenttypes.DynamicZone:
			c.forbidden(c.param.zone, name, so(), c.param.name)
			return nil
		case a.Type == contenttypes.Password:
			c.forbidden(c.param.password, name, so(), c.param.name)
			hidden = true
		case a.IsScalar():
			if !c.access.Sees(a) {
				c.forbidden(c.param.hidden, name, so(), c.param.name)
				hidden = true
			}
		case a.TargetSchema() == nil, (a.Private || i+1 < len(names)) && !c.access.Follows(a):
			c.forbidden(c.param.hidden, name, so(), c.param.name)
			hidden = true
		}
		s = a.TargetSchema()
		path = append(path, a)
	}
	if hidden {
		return nil
	}
	return path
}

// readDirection reads asc or desc in any letter case. An empty text means asc.
func readDirection(s string) (desc, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "asc":
		return false, true
	case "desc":
		return true, true
	}
	return false, false
}

func (c *sortReader) badDirection() {
	c.invalid(c.param.shape, "Invalid order. order can only be one of asc|desc|ASC|DESC")
}
