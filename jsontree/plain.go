package jsontree

// Plain converts a value to the types of encoding/json: float64 for numbers, map[string]any for objects.
func Plain(v any) any {
	switch v := v.(type) {
	case Number:
		return v.Float()
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Plain(item)
		}
		return list
	case *Object:
		m := make(map[string]any, len(v.Keys))
		for _, key := range v.Keys {
			m[key] = Plain(v.Value(key))
		}
		return m
	}
	return v
}

// ListOf returns items as a list.
func ListOf[T any](items []T) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}

// Clone returns a copy of a value, in which leaf(v) stands for each value v that is neither a list nor an object.
func Clone(v any, leaf func(any) any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Clone(item, leaf)
		}
		return list
	case *Object:
		o := NewObjectOf(len(v.Keys))
		for _, key := range v.Keys {
			o.Set(key, Clone(v.Value(key), leaf))
		}
		return o
	}
	return leaf(v)
}
