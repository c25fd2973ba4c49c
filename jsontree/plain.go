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
