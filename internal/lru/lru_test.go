package lru_test

import (
	"fmt"
	"sync"
	"testing"

	"lectern/internal/lru"
)

// kept returns those of keys that the cache has after history. It builds a new cache for each look-up, since a look-up
// marks its key as used.
func kept(t *testing.T, entries, bytes int, history func(*lru.Cache[string, int]), keys ...string) (found []string) {
	t.Helper()
	for _, key := range keys {
		c := lru.New[string, int](entries, bytes)
		history(c)
		if _, ok := c.Get(key); ok {
			found = append(found, key)
		}
	}
	return found
}

func TestBounds(t *testing.T) {
	keys := []string{"a", "b", "c", "d"}
	for _, test := range []struct {
		name           string
		entries, bytes int
		history        func(*lru.Cache[string, int])
		want           string
	}{
		{"as many as there may be", 2, 100,
			func(c *lru.Cache[string, int]) { c.Add("a", 1, 1); c.Add("b", 1, 1); c.Add("c", 1, 1) }, "[b c]"},
		{"a use counts", 2, 100, func(c *lru.Cache[string, int]) {
			c.Add("a", 1, 1)
			c.Add("b", 1, 1)
			c.Get("a")
			c.Add("c", 1, 1)
		}, "[a c]"},
		{"bytes are bounded", 9, 40, func(c *lru.Cache[string, int]) {
			for _, key := range keys {
				c.Add(key, 1, 10)
			}
			c.Add("e", 1, 1)
		}, "[b c d]"},
		{"several go for a large one", 9, 40, func(c *lru.Cache[string, int]) {
			c.Add("a", 1, 1)
			c.Add("b", 1, 1)
			for _, key := range []string{"c", "d", "e", "f"} {
				c.Add(key, 1, 10)
			}
		}, "[c d]"},
		{"a quarter is kept", 9, 40, func(c *lru.Cache[string, int]) { c.Add("a", 1, 10) }, "[a]"},
		{"more than a quarter is not", 9, 40, func(c *lru.Cache[string, int]) { c.Add("a", 1, 10); c.Add("b", 1, 11) },
			"[a]"},
		{"a known key is not counted twice", 9, 40, func(c *lru.Cache[string, int]) {
			c.Add("a", 1, 10)
			for range 9 {
				c.Add("b", 1, 10)
			}
		}, "[a b]"},
		{"nothing may be kept", 0, 100, func(c *lru.Cache[string, int]) { c.Add("a", 1, 1) }, "[]"},
	} {
		if got := fmt.Sprint(kept(t, test.entries, test.bytes, test.history, keys...)); got != test.want {
			t.Errorf("%s: kept %s, want %s", test.name, got, test.want)
		}
	}
}

func TestFirstValueStays(t *testing.T) {
	c := lru.New[string, int](2, 100)
	c.Add("a", 1, 1)
	c.Add("a", 2, 1)
	if v, ok := c.Get("a"); v != 1 || !ok || c.Len() != 1 {
		t.Errorf("a is %d, %t, of %d entries; want 1, true, of 1", v, ok, c.Len())
	}
}

func TestManyGoroutines(t *testing.T) {
	c := lru.New[int, int](10, 1000)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				c.Add(i*g%37, i, 1)
				c.Get(i % 37)
			}
		})
	}
	all.Wait()
	if n := c.Len(); n > 10 {
		t.Errorf("%d entries, where 10 are allowed", n)
	}
}
