package jsontree

// An Object is a JSON object in the order of its keys. A repeated key keeps its first place and its last value.
//
// Any number of goroutines may read one that nobody changes.
type Object struct {
	Keys   []string       // not to be changed but by Set
	values []any          // by position in Keys
	places map[string]int // in Keys; nil where there are few
}

// fewKeys are looked through faster than a map is asked, let alone made.
const fewKeys = 12

// NewObject returns an empty object.
func NewObject() *Object { return &Object{} }

// NewObjectOf returns an empty object with room for n keys.
func NewObjectOf(n int) *Object {
	return &Object{Keys: make([]string, 0, n), values: make([]any, 0, n)}
}

// Get returns the value of a key and whether there is one.
func (o *Object) Get(key string) (any, bool) {
	if i := o.place(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// Value returns the value of a key, nil where there is none.
func (o *Object) Value(key string) any {
	v, _ := o.Get(key)
	return v
}

// Set adds a key or changes its value.
func (o *Object) Set(key string, v any) {
	if i := o.place(key); i >= 0 {
		o.values[i] = v
		return
	}
	if o.Keys == nil {
		o.Keys, o.values = make([]string, 0, 4), make([]any, 0, 4)
	}
	o.Keys, o.values = append(o.Keys, key), append(o.values, v)
	switch n := len(o.Keys); {
	case o.places != nil:
		o.places[key] = n - 1
	case n > fewKeys:
		o.places = make(map[string]int, 2*n)
		for i, k := range o.Keys {
			o.places[k] = i
		}
	}
}

// place is where in Keys a key stands; negative where it does not.
func (o *Object) place(key string) int {
	if o.places != nil {
		if i, ok := o.places[key]; ok {
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
