package extsort

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestEach adds random records and expects the same as slices.SortFunc makes of them, with and without a file.
func TestEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ records, limit int }{{0, 1}, {1, 1}, {100, 100}, {101, 100}, {5000, 7}, {5000, 1000}} {
		dir := t.TempDir()
		s := New(dir, c.limit)
		var want []Record
		for range c.records {
			r := Record{rng.Uint64N(50), rng.Uint64N(3), rng.Uint64(), 0, rng.Uint64N(2)}
			want = append(want, r)
			if err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, Record.compare)
		for range 2 {
			var got []Record
			if err := s.Each(func(r Record) error { got = append(got, r); return nil }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) || s.Len() != len(want) {
				t.Fatalf("%+v: the records are not those that were added, in order", c)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%+v: %v is left in the directory, %v", c, left, err)
		}
		if most := int64(2*c.limit+8) * recordLen; s.Memory() > most {
			t.Errorf("%+v: %d bytes of memory, want at most %d", c, s.Memory(), most)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestErrors checks that errors of the file and of the caller are returned.
func TestErrors(t *testing.T) {
	s := New(t.TempDir()+"/none", 1)
	if err := s.Add(Record{1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(Record{2}); err == nil {
		t.Error("no error where the directory is missing")
	}
	stop := errors.New("stop")
	if err := s.Each(func(Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkSorter(b *testing.B) {
	b.ReportAllocs()
	rng := rand.New(rand.NewPCG(1, 2))
	s := New(b.TempDir(), 50_000)
	defer s.Close()
	for range b.N {
		if err := s.Add(Record{rng.Uint64()}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Each(func(Record) error { return nil }); err != nil {
		b.Fatal(err)
	}
}
