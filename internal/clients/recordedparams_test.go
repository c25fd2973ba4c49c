package clients

import (
	"regexp"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// params returns the parameters of a query string as the client takes them: numbers and booleans instead of texts,
// lists instead of texts with commas. It is not ok if the client has no such parameters.
func (p *program) params(t *contenttypes.ContentType, q *jsontree.Object) (any, bool) {
	o := jsontree.NewObject()
	for _, key := range q.Keys {
		v, ok := p.param(t, key, q.Value(key))
		if !ok {
			return nil, false
		}
		o.Set(key, v)
	}
	return o, true
}

func (p *program) param(t *contenttypes.ContentType, key string, v any) (any, bool) {
	switch key {
	case "filters":
		return filters(&t.Schema, nil, v)
	case "fields":
		return names(v)
	case "sort":
		return sorts(v)
	case "populate":
		return populate(&t.Schema, v)
	case "pagination":
		return each(v, func(key string, v any) (any, bool) {
			if key == "withCount" {
				return boolean(v)
			}
			value, ok := number(v)
			return value, ok && slices.Contains([]string{"page", "pageSize", "start", "limit"}, key)
		})
	case "status":
		return v, v == "draft" || v == "published"
	case "locale":
		code, ok := v.(string)
		return v, ok && p.locales[code]
	case "_q", "publicationFilter":
		_, ok := v.(string)
		return v, ok
	}
	return nil, false
}

// each applies a function to the members of an object.
func each(v any, convert func(key string, v any) (any, bool)) (any, bool) {
	from, ok := v.(*jsontree.Object)
	if !ok {
		return nil, false
	}
	o := jsontree.NewObject()
	for _, key := range from.Keys {
		inner, ok := convert(key, from.Value(key))
		if !ok {
			return nil, false
		}
		o.Set(key, inner)
	}
	return o, true
}

// all applies a function to a value, or to each element of a list.
func all(v any, convert func(any) (any, bool)) (any, bool) {
	from, many := v.([]any)
	if !many {
		return convert(v)
	}
	list := make([]any, len(from))
	for i, item := range from {
		var ok bool
		if list[i], ok = convert(item); !ok {
			return nil, false
		}
	}
	return list, true
}

var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func number(v any) (any, bool) {
	s, _ := v.(string)
	return jsontree.Number(s), plainNumber.MatchString(s)
}

func boolean(v any) (any, bool) { return v == "true", v == "true" || v == "false" }

func text(v any) (any, bool) {
	_, ok := v.(string)
	return v, ok
}

// name is text for names and paths, which the client takes in their plain form.
func name(v any) (any, bool) {
	s, ok := v.(string)
	return v, ok && s != "" && !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "DESC") &&
		!strings.HasSuffix(s, "ASC")
}

// names returns a list of names that a text separates by commas.
func names(v any) (any, bool) {
	s, ok := v.(string)
	if !ok || !strings.Contains(s, ",") {
		return all(v, name)
	}
	var list []any
	for item := range strings.SplitSeq(s, ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return all(list, name)
}

// sorts returns a sort, of which the client knows directions in lower case.
func sorts(v any) (any, bool) {
	switch v := v.(type) {
	case *jsontree.Object:
		return each(v, func(_ string, v any) (any, bool) { return sorts(v) })
	case []any:
		return all(v, sorts)
	}
	return names(v)
}

// populate returns a populate of a schema; of nil, for the variants of a zone or morph relation.
func populate(s *contenttypes.Schema, v any) (any, bool) {
	if _, ok := v.(*jsontree.Object); !ok {
		return names(v)
	}
	return each(v, func(name string, v any) (any, bool) {
		a := s.Attribute(name)
		if a == nil {
			return nil, false
		}
		return options(a, a.TargetSchema(), v)
	})
}

// options returns what a populate says of an attribute, or of one of its variants.
func options(a *contenttypes.Attribute, s *contenttypes.Schema, v any) (any, bool) {
	if _, ok := v.(*jsontree.Object); !ok {
		return boolean(v)
	}
	return each(v, func(key string, v any) (any, bool) {
		switch {
		case key == "count": // without effect on files
			count, ok := boolean(v)
			return count, ok && a.Type != contenttypes.Media
		case key == "on":
			return each(v, func(uid string, v any) (any, bool) {
				i := slices.IndexFunc(a.Components, func(c *contenttypes.Component) bool { return c.UID == uid })
				if i < 0 {
					return nil, false
				}
				return options(a, &a.Components[i].Schema, v)
			})
		case key == "populate" && (s != nil || v == "*"):
			return populate(s, v)
		case s == nil:
			return nil, false
		case key == "fields":
			return names(v)
		case key == "sort":
			return sorts(v)
		case key == "filters":
			return filters(s, nil, v)
		}
		return nil, false
	})
}

// textOperators are the operators that the client has for texts alone.
var textOperators = []string{"$eqi", "$nei", "$contains", "$containsi", "$notContains", "$notContainsi", "$startsWith",
	"$startsWithi", "$endsWith", "$endsWithi"}

// filters returns the filters on a schema, on a value, or on both.
func filters(s *contenttypes.Schema, a *contenttypes.Attribute, v any) (any, bool) {
	inner := func(v any) (any, bool) { return filters(s, a, v) }
	o, ok := v.(*jsontree.Object)
	if !ok {
		return all(v, func(v any) (any, bool) { return operand(a, v) })
	}
	return each(o, func(key string, v any) (any, bool) {
		switch {
		case key == "$and" || key == "$or":
			list, ok := v.([]any)
			if !ok {
				return nil, false
			}
			return all(list, inner)
		case key == "$not":
			return inner(v)
		case key == "$null" || key == "$notNull":
			return boolean(v)
		case slices.Contains(textOperators, key) && a != nil:
			kind := a.Type.Kind()
			isText := kind == contenttypes.TextValue || kind == contenttypes.EnumValue || kind == contenttypes.JSONValue
			value, ok := all(v, text)
			return value, ok && isText
		case strings.HasPrefix(key, "$") && a != nil:
			_, many := v.([]any)
			ordered := key == "$lt" || key == "$lte" || key == "$gt" || key == "$gte" // takes one value
			value, ok := all(v, func(v any) (any, bool) { return operand(a, v) })
			return value, ok && !(many && ordered) && !(v == nil && key != "$eq" && key != "$ne")
		case s == nil || s.Attribute(key) == nil:
			return nil, false
		}
		if a := s.Attribute(key); a.IsScalar() {
			return filters(nil, a, v)
		} else if to := a.TargetSchema(); to != nil {
			return filters(to, to.Attribute("id"), v)
		}
		return nil, false
	})
}

// operand returns an operand of the type that the client takes for an attribute.
func operand(a *contenttypes.Attribute, v any) (any, bool) {
	if a == nil {
		return nil, false
	}
	if v == nil {
		return nil, true
	}
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		return number(v)
	case contenttypes.BooleanValue:
		return boolean(v)
	case contenttypes.EnumValue:
		s, _ := v.(string)
		return v, slices.Contains(a.Enum, s)
	}
	return text(v)
}
