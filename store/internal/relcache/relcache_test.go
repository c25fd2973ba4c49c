package relcache

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestAgreesWithLists puts the first targets of lists in any order and number, and compares what the cache returns with
// the lists.
func TestAgreesWithLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.MapOfN(rapid.Custom(func(t *rapid.T) Key {
			return Key{rapid.Uint64Range(0, 3).Draw(t, "list"), rapid.Uint64Range(0, 50).Draw(t, "owner")}
		}), rapid.SliceOfN(rapid.Uint64Min(1), 0, 9), 1, 60).Draw(t, "lists")
		var keys []Key
		for key := range lists {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, func(x, y Key) int { return slices.Compare(x[:], y[:]) })
		c := New(rapid.IntRange(1, 300).Draw(t, "room"))
		put := map[Key]int{} // how many targets at most, plus one where that was all
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			all := lists[key]
			if rapid.Bool().Draw(t, "put") {
				n := rapid.IntRange(0, len(all)).Draw(t, "known")
				whole := n == len(all) && rapid.Bool().Draw(t, "whole")
				c.Put(key, all[:n], whole)
				if whole {
					n++
				}
				put[key] = max(put[key], n)
			}
			known, whole := c.Get(key)
			if whole && len(known) != len(all) || len(known) > len(all) || !slices.Equal(known, all[:len(known)]) {
				t.Fatalf("list %v is said to lead to %v (whole: %v), and leads to %v", key, known, whole, all)
			}
			if n := len(known); n > put[key] {
				t.Fatalf("%d targets of list %v are known, and %d were put", n, key, put[key])
			}
		}
	})
}

// TestRemembers puts fewer lists than there is room for, and expects to find nearly all of them: a few lose their cell
// to others.
func TestRemembers(t *testing.T) {
	const lists = 1000
	c := New(4 * lists)
	for i := range uint64(lists) {
		c.Put(Key{i, i}, []uint64{i + 1, i + 2}, true)
	}
	found := 0
	for i := range uint64(lists) {
		if locations, whole := c.Get(Key{i, i}); whole && slices.Equal(locations, []uint64{i + 1, i + 2}) {
			found++
		}
	}
	if found < lists*95/100 {
		t.Errorf("%d of %d lists are found", found, lists)
	}
}

// TestKnownTwice puts lists that are known already, to the same target or a later one. That must take no memory.
func TestKnownTwice(t *testing.T) {
	c := New(100)
	key, all := Key{1, 2}, []uint64{7, 8, 9}
	c.Put(key, all[:2], false)
	c.Put(key, all, true)
	used := c.used
	c.Put(key, all[:1], false)
	c.Put(key, all, false)
	c.Put(key, all, true)
	if locations, whole := c.Get(key); !whole || !slices.Equal(locations, all) || c.used != used {
		t.Errorf("%v (whole: %v) are known in %d words, and were in %d", locations, whole, c.used, used)
	}
}

// TestFull puts lists until there is no room, and one list that is too long for any chunk.
func TestFull(t *testing.T) {
	c := New(16)
	c.Put(Key{1}, make([]uint64, chunkWords), true)
	if locations, whole := c.Get(Key{1}); locations != nil || whole || c.Full() {
		t.Errorf("a list that is too long is known by %d locations (full: %v)", len(locations), c.Full())
	}
	n := uint64(0)
	for ; !c.Full(); n++ {
		if n > chunkWords {
			t.Fatal("the cache takes any number of lists")
		}
		c.Put(Key{2, n}, []uint64{n}, true)
	}
	before := c.used
	c.Put(Key{3}, []uint64{1}, true)
	if _, whole := c.Get(Key{3}); whole || c.used != before {
		t.Error("a list was put where there is no room")
	}
}

// TestConcurrent puts and gets the same lists in several goroutines. Each get must return a correct list or none.
func TestConcurrent(t *testing.T) {
	c := New(256)
	var all sync.WaitGroup
	for g := range uint64(4) {
		all.Go(func() {
			for i := range uint64(2000) {
				key := Key{(i*7 + g) % 300, 1}
				if locations, whole := c.Get(key); whole && !slices.Equal(locations, []uint64{key[0], key[0] + 1}) {
					t.Errorf("list %v leads to %v", key, locations)
					return
				}
				c.Put(key, []uint64{key[0], key[0] + 1}, true)
			}
		})
	}
	all.Wait()
}
