package jsontree

// An Object is a JSON object that keeps the order of its keys. A repeated key keeps its first position and its last
// value.
//
// Any number of goroutines may read an Object while none changes it.
type Object struct {
	Keys    []string       // only Set may change it
	values  []any          // parallel to Keys
	indexes map[string]int // from a key to its index in Keys; nil for a small object
}

// usualKeys is for how many keys an object has room at first.
const usualKeys = 4

// fewKeys is the number of keys up to which a linear search is faster than a map.
const fewKeys = 12

// NewObject returns an empty object.
func NewObject() *Object { return &Object{} }

// NewObjectOf returns an empty object with capacity for n keys.
func NewObjectOf(n int) *Object {
	return &Object{Keys: make([]string, 0, n), values: make([]any, 0, n)}
}

// ObjectOf returns an object of keys and values, which are given in turn.
func ObjectOf(pairs ...any) *Object {
	o := NewObjectOf(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Get returns the value of a key and whether there is one.
func (o *Object) Get(key string) (any, bool) {
	if i := o.index(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// Value returns the value of a key, or nil if there is none.
func (o *Object) Value(key string) any {
	v, _ := o.Get(key)
	return v
}

// Text returns the text of a key, or "" if its value is no text.
func (o *Object) Text(key string) string {
	s, _ := o.Value(key).(string)
	return s
}

// Set adds a key or replaces its value.
func (o *Object) Set(key string, v any) {
	if i := o.index(key); i >= 0 {
		o.values[i] = v
		return
	}
	o.add(key, v)
}

// add adds a key that the object does not have.
func (o *Object) add(key string, v any) {
	if n := len(o.Keys); n == cap(o.Keys) {
		n = max(usualKeys, 2*n)
		o.Keys, o.values = append(make([]string, 0, n), o.Keys...), append(make([]any, 0, n), o.values...)
	}
	o.Keys, o.values = append(o.Keys, key), append(o.values, v)
	switch n := len(o.Keys); {
	case o.indexes != nil:
		o.indexes[key] = n - 1
	case n > fewKeys:
		o.indexes = make(map[string]int, 2*n)
		for i, k := range o.Keys {
			o.indexes[k] = i
		}
	}
}

// index returns the index of a key in Keys, or -1.
func (o *Object) index(key string) int {
	if o.indexes != nil {
		if i, ok := o.indexes[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.Keys {
		if k == key {
			return i
		}
	}
	return -1
}
