// Package lru provides a cache that evicts the least recently used values. It limits the number of entries and of
// bytes.
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
	stats Stats
	bytes int
	byKey map[K]*list.Element
	order *list.List // of *entry[K, V], the most recently used first
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

// Get returns the value of a key and marks it as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		c.stats.Misses++
		return value, false
	}
	c.stats.Hits++
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Add adds a value of size bytes, and evicts the least recently used values until both limits hold. It does not add a
// value larger than a quarter of maxBytes, since a few of those would evict everything else. It does not replace the
// value of a key that is present.
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

// Put adds a value as Add does, and replaces the one that the key has.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	if e := c.byKey[key]; e != nil {
		c.bytes -= c.order.Remove(e).(*entry[K, V]).size
		delete(c.byKey, key)
	}
	c.mu.Unlock()
	c.Add(key, value, size)
}

// Stats are the counters of a Cache.
type Stats struct {
	Entries, Bytes int   // now in the cache
	Hits, Misses   int64 // calls of Get that found a value, and that found none
}

// Stats returns the counters.
func (c *Cache[K, V]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Entries, stats.Bytes = len(c.byKey), c.bytes
	return stats
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey)
}
