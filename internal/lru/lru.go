// Package lru keeps the values that were used last, as many as two bounds allow: a number of entries, and a number of bytes.
//
//	plans := lru.New[string, *plan](1000, 32<<20)
//	plans.Add(text, p, len(text)+p.size())
//	p, ok := plans.Get(text)
package lru

import (
	"container/list"
	"sync"
)

// A Cache maps keys to values. Any number of goroutines may use it.
type Cache[K comparable, V any] struct {
	maxEntries, maxBytes int

	mu    sync.Mutex
	bytes int
	byKey map[K]*list.Element
	order *list.List // of *entry[K, V], the last used in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New returns an empty cache.
func New[K comparable, V any](maxEntries, maxBytes int) *Cache[K, V] {
	return &Cache[K, V]{maxEntries: maxEntries, maxBytes: maxBytes, byKey: map[K]*list.Element{}, order: list.New()}
}

// Get returns the value of a key, and counts as a use of it.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Add keeps a value that takes size bytes, and lets go of the values that were unused for longest until the bounds hold. It keeps no
// value that takes more than a quarter of all bytes, since a few of them would drive out all others, and it leaves a key that is
// known as it is.
func (c *Cache[K, V]) Add(key K, value V, size int) {
	if size > c.maxBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, size})
	c.bytes += size
	for len(c.byKey) > c.maxEntries || c.bytes > c.maxBytes {
		last := c.order.Remove(c.order.Back()).(*entry[K, V])
		delete(c.byKey, last.key)
		c.bytes -= last.size
	}
}

// Len returns how many entries there are.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey)
}
