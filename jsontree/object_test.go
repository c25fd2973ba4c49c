package jsontree_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lectern/jsontree"
)

// TestObjectOf makes an object of keys and values, and reads texts of it.
func TestObjectOf(t *testing.T) {
	o := jsontree.ObjectOf("b", "text", "a", 1, "b", "last")
	if want := []string{"b", "a"}; !slices.Equal(o.Keys, want) {
		t.Errorf("keys %q, want %q", o.Keys, want)
	}
	for key, want := range map[string]string{"b": "last", "a": "", "missing": ""} {
		if got := o.Text(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestObject checks that an object keeps each key's first position and last value, whether it has few keys or many.
func TestObject(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 4, 12, 13, 14, 40} {
		o := jsontree.NewObject()
		var keys []string
		values := map[string]any{}
		for i := range 3 * size {
			key := fmt.Sprint("key ", rnd.IntN(size))
			if _, known := values[key]; !known {
				keys = append(keys, key)
			}
			values[key] = i
			o.Set(key, i)
			if !slices.Equal(o.Keys, keys) {
				t.Fatalf("keys %q, want %q", o.Keys, keys)
			}
			for k := range size + 1 {
				key := fmt.Sprint("key ", k)
				want, known := values[key]
				if got, ok := o.Get(key); got != want || ok != known || o.Value(key) != want {
					t.Fatalf("of %d keys, %s: %v, %t", len(keys), key, got, ok)
				}
			}
		}
	}
}
