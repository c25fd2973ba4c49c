package documents

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"lectern/store"
)

func ref(n int) store.Ref { return store.Ref{Type: "t", Doc: uint64(n)} }

func refs(numbers ...int) []store.Ref {
	list := make([]store.Ref, len(numbers))
	for i, n := range numbers {
		list[i] = ref(n)
	}
	return list
}

func at(n int, kind placeKind, next ...int) connection {
	c := connection{ref: ref(n), place: place{kind: kind}}
	if len(next) > 0 {
		c.place.next = ref(next[0])
	}
	return c
}

func TestEdited(t *testing.T) {
	list := refs(1, 2, 3)
	tests := []struct {
		name       string
		connect    []connection
		disconnect []store.Ref
		want       []store.Ref // nil means an error
	}{
		{"nothing", nil, nil, refs(1, 2, 3)},
		{"at the end", []connection{at(4, atEnd), at(5, atEnd)}, nil, refs(1, 2, 3, 4, 5)},
		{"one that is there moves", []connection{at(1, atEnd)}, nil, refs(2, 3, 1)},
		{"at the start, one after the other", []connection{at(4, atStart), at(5, atStart)}, nil, refs(5, 4, 1, 2, 3)},
		{"before the same", []connection{at(4, before, 1), at(5, before, 1)}, nil, refs(4, 5, 1, 2, 3)},
		{"after the same", []connection{at(4, after, 1), at(5, after, 1)}, nil, refs(1, 5, 4, 2, 3)},
		{"moves, in the order of the call", []connection{at(1, after, 2), at(2, after, 3)}, nil, refs(1, 3, 2)},
		{"moves, the other way", []connection{at(2, after, 3), at(1, after, 2)}, nil, refs(3, 2, 1)},
		{"beside a later one of the call", []connection{at(4, after, 5), at(5, atStart)}, nil, refs(5, 4, 1, 2, 3)},
		{"a chain", []connection{at(4, before, 5), at(5, after, 1), at(6, before, 4)}, nil, refs(1, 6, 4, 5, 2, 3)},
		{"mixed", []connection{at(6, before, 5), at(4, before, 2), at(5, atEnd)}, nil, refs(1, 4, 2, 3, 6, 5)},
		{"disconnected", nil, refs(2, 9), refs(1, 3)},
		{"disconnected and connected", []connection{at(5, atEnd), at(1, atEnd)}, refs(1, 2), refs(3, 5, 1)},
		{"beside a disconnected one", []connection{at(5, before, 2)}, refs(2), refs(1, 5, 3)},
		{"twice the same", []connection{at(4, atEnd), at(4, atEnd)}, nil, refs(1, 2, 3, 4)},
		{"at two places", []connection{at(4, atEnd), at(4, atStart)}, nil, nil},
		{"beside itself", []connection{at(4, before, 4)}, nil, nil},
		{"beside itself, there already", []connection{at(1, before, 1)}, nil, nil},
		{"in a circle", []connection{at(4, before, 5), at(5, after, 4)}, nil, nil},
		{"beside one that is not there", []connection{at(4, before, 9)}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edited(list, tt.connect, tt.disconnect, false)
			if (err != nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
	got, err := edited(list, []connection{at(4, before, 9)}, nil, true)
	if err != nil || !slices.Equal(got, refs(1, 2, 3, 4)) {
		t.Errorf("lenient: got %v, %v", got, err)
	}
}

// editedNaively does what edited does in its lenient mode, item by item on the whole list.
func editedNaively(list []store.Ref, connect []connection, disconnect []store.Ref) []store.Ref {
	connect, _ = sequence(list, connect, true)
	list = slices.Clone(list)
	for _, c := range connect {
		disconnect = slices.DeleteFunc(slices.Clone(disconnect), func(r store.Ref) bool { return r == c.ref })
		list = slices.DeleteFunc(list, func(r store.Ref) bool { return r == c.ref })
		i := slices.Index(list, c.place.next)
		switch {
		case c.place.kind == atStart:
			i = 0
		case !c.relative() || i < 0:
			i = len(list)
		case c.place.kind == after:
			i++
		}
		list = slices.Insert(list, i, c.ref)
	}
	return slices.DeleteFunc(list, func(r store.Ref) bool { return slices.Contains(disconnect, r) })
}

// TestEditedAny edits random lists and compares the results with editedNaively. Connected entries are in the list once,
// and the entries that were neither connected nor disconnected keep their order.
func TestEditedAny(t *testing.T) {
	number := rapid.IntRange(1, 12)
	rapid.Check(t, func(t *rapid.T) {
		list := refs(rapid.SliceOfNDistinct(number, 0, 10, rapid.ID[int]).Draw(t, "list")...)
		disconnect := refs(rapid.SliceOfN(number, 0, 4).Draw(t, "disconnect")...)
		connect := make([]connection, rapid.IntRange(0, 5).Draw(t, "connects"))
		for i := range connect {
			connect[i] = at(number.Draw(t, "target"), placeKind(rapid.IntRange(0, 3).Draw(t, "kind")))
			if connect[i].relative() {
				connect[i].place.next = ref(number.Draw(t, "next"))
			}
		}
		got, err := edited(list, connect, disconnect, true)
		if err != nil {
			return
		}
		if want := editedNaively(list, connect, disconnect); !slices.Equal(got, want) {
			t.Fatalf("%v with %v connected and %v disconnected is %v, want %v", list, connect, disconnect, got, want)
		}
		connected := func(r store.Ref) bool {
			return slices.ContainsFunc(connect, func(c connection) bool { return c.ref == r })
		}
		var kept []store.Ref
		for _, r := range list {
			if !connected(r) && !slices.Contains(disconnect, r) {
				kept = append(kept, r)
			}
		}
		seen := map[store.Ref]bool{}
		var rest []store.Ref
		for _, r := range got {
			if seen[r] {
				t.Fatalf("%v is there twice", r)
			}
			seen[r] = true
			if !connected(r) {
				rest = append(rest, r)
			}
		}
		if !slices.Equal(rest, kept) {
			t.Fatalf("the rest is %v, want %v", rest, kept)
		}
		for _, c := range connect {
			if !seen[c.ref] {
				t.Fatalf("%v is missing", c.ref)
			}
		}
		if len(connect) != 1 || connect[0].place.next == connect[0].ref ||
			slices.Contains(disconnect, connect[0].place.next) {
			return
		}
		i, c := slices.Index(got, connect[0].ref), connect[0]
		switch next := slices.Index(got, c.place.next); {
		case c.place.kind == atStart && i != 0,
			c.place.kind == atEnd && i != len(got)-1,
			c.place.kind == before && next >= 0 && next != i+1,
			c.place.kind == after && next >= 0 && next != i-1:
			t.Fatalf("%v stands at %d of %v", c, i, got)
		}
	})
}

// TestPositions checks that positions are in ascending order, and that old positions which are in order already are not
// changed.
func TestPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := rapid.OneOf(rapid.Uint64Range(1, 3), rapid.Just[uint64](store.PosStep))
		var all []uint64
		last := uint64(0)
		for range rapid.IntRange(0, 8).Draw(t, "present") {
			last += gap.Draw(t, "gap")
			all = append(all, last)
		}
		old := rapid.Permutation(append(all, make([]uint64, rapid.IntRange(0, 8).Draw(t, "new"))...)).Draw(t, "order")
		got := positions(slices.Clone(old))
		if len(got) != len(old) {
			t.Fatalf("%d positions for %d", len(got), len(old))
		}
		for i, p := range got {
			if p == 0 || i > 0 && p <= got[i-1] {
				t.Fatalf("%v does not rise", got)
			}
		}
		if slices.IsSorted(old) && !slices.Contains(old, 0) && !slices.Equal(got, old) {
			t.Fatalf("%v became %v without need", old, got)
		}
	})
}

// TestPositionsRunOut inserts 200 entries at the front of a list, so that the positions run out. The list stays in
// order.
func TestPositionsRunOut(t *testing.T) {
	list := []uint64{}
	for range 200 {
		list = positions(append([]uint64{0}, list...))
		if !slices.IsSorted(list) {
			t.Fatal(list)
		}
	}
}
